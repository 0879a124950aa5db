package chime

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"sync"
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
