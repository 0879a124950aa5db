package chime_test

import (
	"errors"
	"fmt"
	"time"

	"chime"
)

func Example() {
	queue, err := chime.NewQueue(chime.Serial, chime.QueueOptions{Label: "sessions"})
	if err != nil {
		panic(err)
	}
	defer queue.Close()
	expired := make(chan uint64, 1) // so that the function never waits for a reader
	idle, err := queue.After(50*time.Millisecond, func(tick *chime.Tick) { expired <- tick.Sequence })
	if err != nil {
		panic(err)
	}
	defer idle.Release()
	idle.Postpone(100 * time.Millisecond) // at each sign of life
	fmt.Println("idle, tick", <-expired)
	// Output: idle, tick 1
}

// On virtual time a test takes none.
func ExampleQueue_Advance() {
	queue, err := chime.NewQueue(chime.Virtual, chime.QueueOptions{})
	if err != nil {
		panic(err)
	}
	defer queue.Close()
	queue.Every(time.Minute, func(tick *chime.Tick) { fmt.Println(tick.Sequence, "at", tick.Scheduled) })
	queue.Advance(3 * time.Minute)
	// Output:
	// 1 at 1m0s
	// 2 at 2m0s
	// 3 at 3m0s
}

// A function reaches its own timer by the tick.
func ExampleBorrow() {
	queue, err := chime.NewQueue(chime.Virtual, chime.QueueOptions{})
	if err != nil {
		panic(err)
	}
	defer queue.Close()
	delay := time.Second
	queue.Once(delay, func(tick *chime.Tick) {
		fmt.Println("attempt at", tick.Scheduled)
		if delay *= 2; delay < 10*time.Second {
			chime.Borrow(tick.Timer).RestartAfter(delay)
		}
	})
	queue.Advance(time.Minute)
	// Output:
	// attempt at 1s
	// attempt at 3s
	// attempt at 7s
	// attempt at 15s
}

// A queue is a mutex: the function and the queue's other functions exclude each other.
func ExampleQueue_Sync() {
	queue, err := chime.NewQueue(chime.Serial, chime.QueueOptions{})
	if err != nil {
		panic(err)
	}
	defer queue.Close()
	count := 0
	for range [3]int{} {
		queue.Async(func() { count++ })
	}
	queue.Sync(chime.Forever, func() { fmt.Println(count) })
	// Output: 3
}

// A failure says what was wrong, and can be told from others.
func ExampleError() {
	queue, err := chime.NewQueue(chime.Virtual, chime.QueueOptions{})
	if err != nil {
		panic(err)
	}
	defer queue.Close()
	_, err = queue.Every(0, func(*chime.Tick) {})
	fmt.Println(errors.Is(err, chime.InvalidArgument))
	fmt.Println(err)
	// Output:
	// true
	// CHIME_ERROR_INVALID_ARGUMENT: interval_ns (0 ns) is not above 0
}
