package chime

import (
	"context"
	"errors"
	"runtime"
	"runtime/pprof"
	"sync"
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

// A function that hangs, and one attempt after the other to end its timer or its queue: a server that tries again.
func TestWaitsWhoseContextHasEndedLeaveNoGoroutineEach(t *testing.T) {
	before := runtime.NumGoroutine()
	for name, end := range map[string]func(*Queue, *Timer, context.Context) error{
		"cancel": func(_ *Queue, timer *Timer, ctx context.Context) error {
			return failure(timer.CancelAndWaitContext(ctx))
		},
		"shutdown": func(queue *Queue, _ *Timer, ctx context.Context) error { return queue.ShutdownContext(ctx) },
	} {
		queue, inside, goOn := must(NewQueue(Serial, QueueOptions{})), make(chan bool), make(chan bool)
		timer := must(queue.After(0, func(*Tick) { inside <- true; <-goOn }))
		<-inside
		for round := 0; round < 200; round++ {
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			same(t, name, end(queue, timer, ctx), context.DeadlineExceeded)
			cancel()
		}
		if after := runtime.NumGoroutine(); after > before+2*waitThreads+20 {
			t.Errorf("%s: 200 waits that have ended left %d goroutines, each with a thread", name, after-before)
		}
		// The next one is not held up by those.
		goOn <- true
		same(t, name, end(queue, timer, context.Background()), nil)
		same(t, "close", queue.Close(), nil)
	}
}

// A timer that has ended with its queue may be released by each of them, and its function may still run.
func TestGoroutinesThatReleaseATimerOfAClosedQueueShareThreads(t *testing.T) {
	threads := pprof.Lookup("threadcreate").Count
	queue, inside, goOn, count := must(NewQueue(Serial, QueueOptions{})), make(chan bool), make(chan bool), threads()+200
	timer := must(queue.After(0, func(*Tick) { inside <- true; <-goOn }))
	<-inside
	status, _ := queue.Shutdown(0)
	same(t, "shutdown", status, TimedOut)
	before, ended := threads(), make(chan error, count)
	for number := 0; number < count; number++ {
		go func() {
			_, err := timer.ReleaseAndWait(Forever)
			ended <- err
		}()
	}
	wait := func() (users int) {
		places.Lock()
		defer places.Unlock()
		if place := places.of[timer.ID()]; place != nil {
			users = place.users
		}
		return users
	}
	for late := time.Now().Add(watchdog); wait() < count && threads() <= before+100 && time.Now().Before(late); {
		time.Sleep(time.Millisecond)
	}
	if made := threads() - before; made > 100 {
		t.Errorf("%d goroutines that wait took %d threads", count, made)
	}
	close(goOn)
	within(t, "ReleaseAndWait", func() {
		for number := 0; number < count; number++ {
			same(t, "error", <-ended, nil)
		}
	})
	same(t, "close", queue.Close(), nil)
}

// Few of them wait in C, where each holds a thread; and each has what it would have had alone.
func TestGoroutinesThatWaitForOneFunctionShareThreads(t *testing.T) {
	ctx, end := context.WithCancel(context.Background())
	defer end()
	threads := pprof.Lookup("threadcreate").Count
	for name, wait := range map[string]func(*Queue, *Timer) (Status, error){
		"cancel":         func(_ *Queue, timer *Timer) (Status, error) { return timer.CancelAndWait(Forever) },
		"cancel context": func(_ *Queue, timer *Timer) (Status, error) { return timer.CancelAndWaitContext(ctx) },
		"cancel timeout": func(_ *Queue, timer *Timer) (Status, error) { return timer.CancelAndWait(time.Hour) },
		"shutdown":       func(queue *Queue, _ *Timer) (Status, error) { return queue.Shutdown(Forever) },
		"close":          func(queue *Queue, _ *Timer) (Status, error) { return OK, queue.Close() },
	} {
		// Go keeps the threads that it has made, so that fewer goroutines would need none.
		queue, inside, goOn, count := must(NewQueue(Serial, QueueOptions{})), make(chan bool), make(chan bool), threads()+200
		timer := must(queue.Every(time.Millisecond, func(*Tick) { inside <- true; <-goOn }))
		<-inside
		type answer struct {
			status Status
			err    error
		}
		ended, id := make(chan answer, count), timer.ID()
		if name == "shutdown" || name == "close" {
			id = queue.ID()
		}
		before := threads()
		for number := 0; number < count; number++ {
			go func() {
				status, err := wait(queue, timer)
				ended <- answer{status, err}
			}()
		}
		waiting := func() int {
			places.Lock()
			defer places.Unlock()
			if place := places.of[id]; place != nil {
				return place.users
			}
			return 0
		}
		for begin := time.Now(); waiting() < count; time.Sleep(time.Millisecond) {
			if time.Since(begin) > watchdog {
				t.Fatal(name, "only so many wait:", waiting())
			}
		}
		timesOut(t, name, func(timeout time.Duration) (Status, error) {
			if id == timer.ID() {
				return timer.CancelAndWait(timeout)
			}
			return queue.Shutdown(timeout)
		})
		if made := threads() - before; made > 100 {
			t.Errorf("%s: %d goroutines that wait took %d threads", name, count, made)
		}
		goOn <- true
		took := 0
		for number := 0; number < count; number++ {
			select {
			case one := <-ended:
				same(t, name, one.err, nil)
				if one.status == OK {
					took++
				} else {
					expect(t, name, one.status, Ignored)
				}
			case <-time.After(watchdog):
				t.Fatal(name, "no goroutine came back for 30 s")
			}
		}
		if id == timer.ID() {
			expect(t, name+", who has stopped it", took, 1)
		}
		expect(t, name+", places", waiting(), 0)
		same(t, "close", queue.Close(), nil)
	}
}

func failure(_ Status, err error) error { return err }

// So many functions that no thread is left for the ticks that end their sleeps.
func TestFunctionsThatSleepOnAConcurrentQueueAllAwake(t *testing.T) {
	const functions = 100
	queue, other := must(NewQueue(Concurrent, QueueOptions{})), must(NewQueue(Concurrent, QueueOptions{}))
	var asleep sync.WaitGroup
	asleep.Add(functions)
	for range [functions]int{} {
		must(0, queue.Once(0, func(*Tick) {
			defer asleep.Done()
			const delay = 2 * time.Millisecond
			for _, on := range []*Queue{queue, other} {
				begin := time.Now()
				err := on.Sleep(context.Background(), delay)
				if slept := time.Since(begin); err != nil || slept < delay {
					t.Error("slept", slept, err)
				}
			}
		}))
	}
	within(t, "the sleeps", asleep.Wait)
	must(0, queue.Close())
	must(0, other.Close())
}
