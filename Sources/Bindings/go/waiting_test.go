package chime

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestAContextThatHasEndedEndsOnlyTheWait(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, kind := range []Kind{Serial, Concurrent, Precise, Host, Virtual} {
		queue := must(NewQueue(kind, QueueOptions{}))
		timer, other := must(queue.After(Forever, func(*Tick) {})), must(queue.After(Forever, func(*Tick) {}))
		expect(t, "cancel", must(timer.CancelAndWaitContext(ended)), OK)
		expect(t, "state", timer.State(), CancelledState)
		expect(t, "release", must(other.ReleaseAndWaitContext(ended)), OK)
		_, err := other.Info()
		expect(t, "released", errors.Is(err, InvalidHandle), true)
		if err = queue.ShutdownContext(ended); err != nil { // what is left to call may take a moment
			expect(t, "shutdown", errors.Is(err, context.Canceled), true)
		}
		_, err = queue.Now()
		expect(t, "closed", errors.Is(err, InvalidHandle), true)
	}
	for _, kind := range []Kind{Serial, Concurrent, Precise} {
		queue, inside, goOn := must(NewQueue(kind, QueueOptions{})), make(chan bool, 1), make(chan bool)
		function := func(*Tick) { inside <- true; <-goOn }
		timer := must(queue.Every(time.Millisecond, function))
		<-inside
		status, err := timer.CancelAndWaitContext(ended)
		same(t, "context", err, context.Canceled)
		expect(t, "cancel", status, TimedOut)
		expect(t, "state", timer.State(), CancelledState)
		_, err = timer.ReleaseAndWaitContext(ended)
		same(t, "context", err, context.Canceled)
		_, err = timer.Info()
		expect(t, "released", errors.Is(err, InvalidHandle), true)
		same(t, "context", queue.ShutdownContext(ended), context.Canceled)
		_, err = queue.Now()
		expect(t, "closed", errors.Is(err, InvalidHandle), true)
		close(goOn)
		same(t, "close", queue.Close(), nil)
	}
}

func TestAPanicComesOutOfAReleaseWithAContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, kind := range []Kind{Host, Virtual} {
		queue := must(NewQueue(kind, QueueOptions{}))
		timer := must(queue.After(Forever, func(*Tick) {}, func() { panic("gone") }))
		same(t, "panic", panicOf(func() { timer.ReleaseAndWaitContext(ctx) }), "gone")
		same(t, "close", queue.Close(), nil)
	}
}

func TestAFunctionThatSleepsOnItsOwnQueueIsRefused(t *testing.T) {
	for _, kind := range []Kind{Serial, Precise, Host, Virtual, Concurrent} {
		queue, other := must(NewQueue(kind, QueueOptions{})), must(NewQueue(Serial, QueueOptions{}))
		slept := make(chan error, 4)
		sleep := func() {
			slept <- queue.Sleep(context.Background(), 0)
			slept <- other.Sleep(context.Background(), 0)
		}
		must(0, queue.Once(0, func(*Tick) { sleep() }))
		must(0, queue.Async(sleep))
		switch kind {
		case Virtual:
			must(0, queue.Advance(0))
		case Host:
			must(queue.Run())
		}
		for range [2]int{} {
			err := <-slept
			expect(t, "sleep", errors.Is(err, WouldDeadlock), kind != Concurrent)
			if kind != Concurrent {
				same(t, "elsewhere", <-slept, nil)
			}
		}
		same(t, "close", queue.Close(), nil)
		same(t, "close", other.Close(), nil)
	}
}
