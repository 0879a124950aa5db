package chime

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// within fails the test if the function has not returned after the watchdog's time.
func within(t *testing.T, what string, function func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		function()
	}()
	select {
	case <-done:
	case <-time.After(watchdog):
		t.Fatal(what, "has not returned")
	}
}

// A Reset of another goroutine leaves the timer running.
func TestARunGoesOnBesideResets(t *testing.T) {
	for name, run := range map[string]func(*Queue) (Status, error){"Run": (*Queue).Run, "RunOnce": (*Queue).RunOnce} {
		for _, isChannel := range []bool{false, true} {
			queue := must(NewQueue(Host, QueueOptions{}))
			defer queue.Close()
			reset, end := func(time.Duration) bool { return false }, func() (Status, error) { return OK, nil }
			if isChannel {
				channel := must(queue.NewTimer(time.Hour))
				reset, end = channel.Reset, channel.Release
			} else {
				timer := must(queue.After(time.Hour, func(*Tick) {}))
				reset, end = timer.Reset, timer.Release
			}
			var ended int32
			var status Status
			done := make(chan error)
			go func() {
				var err error
				status, err = run(queue)
				atomic.StoreInt32(&ended, 1)
				done <- err
			}()
			for count := 0; count < 100_000; count++ {
				expect(t, "reset", reset(time.Hour), true)
				if atomic.LoadInt32(&ended) != 0 {
					t.Fatalf("%s ended beside Reset %d of a timer that runs (a channel: %v)", name, count, isChannel)
				}
			}
			must(end())
			within(t, name, func() { same(t, "error", <-done, nil) })
			expect(t, name, status, map[string]Status{"Run": OK, "RunOnce": Ignored}[name])
		}
	}
}

// Reset stops the timer for a moment. Nobody sees that.
func TestATimerIsNotSeenWithinAReset(t *testing.T) {
	queue := must(NewQueue(Serial, QueueOptions{}))
	defer queue.Close()
	timer := must(queue.After(time.Hour, func(*Tick) {}))
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			default:
				timer.Reset(time.Hour)
			}
		}
	}()
	for count := 0; count < 50_000; count++ {
		expect(t, "state", timer.State(), RunningState)
		expect(t, "state of Info", must(timer.Info()).State, RunningState)
		expect(t, "no deadline", must(timer.NextDeadline()) == Forever, false)
		expect(t, "no end", must(timer.Remaining()) == Forever, false)
	}
	close(end)
	<-ended
}

// Nobody holds the timer, and somebody sets it again by its id.
func TestATimerIsNotCollectedWithinAReset(t *testing.T) {
	queue := must(NewQueue(Serial, QueueOptions{}))
	defer queue.Close()
	end := make(chan struct{})
	go func() {
		for {
			select {
			case <-end:
				return
			default:
				runtime.GC()
			}
		}
	}()
	defer close(end)
	id := must(queue.After(time.Hour, func(*Tick) {})).ID()
	for late := time.Now().Add(time.Second); time.Now().Before(late); {
		expect(t, "reset", Borrow(id).Reset(time.Hour), true)
	}
}

// What a function `gone` waits for on its own queue would wait for it.
func TestAFunctionThatIsGoneIsInsideItsQueue(t *testing.T) {
	for _, kind := range []Kind{Serial, Precise} {
		queue := must(NewQueue(kind, QueueOptions{}))
		slept, synced := make(chan error, 1), make(chan error, 1)
		must(queue.Create(TimerOptions{}, func(*Tick) {}, func() {
			slept <- queue.Sleep(context.Background(), time.Millisecond)
			synced <- queue.SyncContext(context.Background(), func() {})
		})).Release()
		within(t, "Sleep", func() { expect(t, "sleep", errors.Is(<-slept, WouldDeadlock), true) })
		within(t, "SyncContext", func() { same(t, "sync", <-synced, nil) })

		began, goOn, closed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		must(0, queue.Async(func() {}, func() {
			close(began)
			<-goOn
			closed <- queue.Close()
		}))
		<-began
		var others sync.WaitGroup
		for count := 0; count < 2*waitThreads; count++ {
			others.Add(1)
			go func() {
				defer others.Done()
				queue.Close()
			}()
		}
		place := placeOf(queue.ID())
		for late := time.Now().Add(watchdog); len(place.taken) < waitThreads && time.Now().Before(late); {
			time.Sleep(time.Millisecond)
		}
		place.done(queue.ID())
		close(goOn)
		within(t, "Close", func() { expect(t, "close", errors.Is(<-closed, WouldDeadlock), true) })
		within(t, "Close", others.Wait)
	}
}

// A sleep's timer is one of the queue's: what others do to all of them neither ends it early nor ends it twice.
func TestASleepIsNotEndedByAnExtraTick(t *testing.T) {
	queue := must(NewQueue(Serial, QueueOptions{}))
	defer queue.Close()
	const delay = 2 * time.Millisecond
	for round := 0; round < 30; round++ {
		done, begin := make(chan error, 1), time.Now()
		go func() { done <- queue.Sleep(context.Background(), delay) }()
		for over := false; !over; {
			select {
			case err := <-done:
				over = true
				same(t, "sleep", err, nil)
				if slept := time.Since(begin); slept < delay {
					t.Fatal("slept for", slept)
				}
			default:
				for _, timer := range must(queue.Timers()) {
					timer.Fire()
				}
			}
		}
	}
}

// Chime's threads block signals. What a function starts there does not.
func TestAProgramThatAFunctionStartsGetsItsSignals(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	started := func() string {
		out, err := exec.Command("sh", "-c", "trap 'echo USR1' USR1; kill -USR1 $$; trap 'echo ALRM' ALRM; kill -ALRM $$").CombinedOutput()
		if err != nil {
			return err.Error()
		}
		return string(out)
	}
	for _, kind := range []Kind{Serial, Concurrent, Precise} {
		queue := must(NewQueue(kind, QueueOptions{}))
		outputs := make(chan string, 3)
		must(0, queue.Once(0, func(*Tick) { outputs <- started() }, func() { outputs <- started() }))
		must(0, queue.Async(func() { outputs <- started() }))
		for count := 0; count < 3; count++ {
			expect(t, "output", <-outputs, "USR1\nALRM\n")
		}
		must(0, queue.Close())
	}
}

// The release of another goroutine's timer is inside the queue for as long as its function gone runs.
func TestAReleaseIsInNobodysWay(t *testing.T) {
	drives := map[Kind]func(*Queue) error{
		Virtual: func(queue *Queue) error { return queue.Advance(1) },
		Host:    func(queue *Queue) error { _, err := queue.Run(); return err },
	}
	releases := map[string]func(queue *Queue, gone func()){
		"a timer's own": func(queue *Queue, gone func()) {
			must(must(queue.After(time.Hour, func(*Tick) {}, gone)).Release())
		},
		"one that waits": func(queue *Queue, gone func()) {
			must(must(queue.After(time.Hour, func(*Tick) {}, gone)).ReleaseAndWait(Forever))
		},
		"of one that nobody holds": func(queue *Queue, gone func()) {
			must(0, queue.Once(time.Hour, func(*Tick) {}, gone))
			must(must(queue.Timers())[0].Release())
		},
	}
	for kind, drive := range drives {
		for name, release := range releases {
			queue := must(NewQueue(kind, QueueOptions{}))
			inside, end := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(end)
				release(queue, func() { close(inside); time.Sleep(20 * time.Millisecond) })
			}()
			<-inside
			same(t, fmt.Sprint(name, ", kind ", kind), drive(queue), nil)
			<-end
			must(0, queue.Close())
		}
	}
}

// A goroutine that awakes releases the timer that it slept with.
func TestAnAdvanceGoesOnBesideSleepers(t *testing.T) {
	queue, _, _ := virtual(t)
	const sleepers = 200
	var asleep sync.WaitGroup
	asleep.Add(sleepers)
	for second := 1; second <= sleepers; second++ {
		delay := time.Duration(second) * time.Second
		go func() {
			defer asleep.Done()
			must(0, queue.Sleep(context.Background(), delay))
		}()
	}
	for must(queue.Stats()).Running < sleepers {
		time.Sleep(time.Millisecond)
	}
	for second := 1; second <= sleepers; second++ {
		must(0, queue.Advance(time.Second))
	}
	within(t, "the sleepers", asleep.Wait)
}
