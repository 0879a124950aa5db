package chime

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// What has come out of a call: a panic's value, or nil.
func panicOf(call func()) (value any) {
	defer func() { value = recover() }()
	call()
	return nil
}

func same(t *testing.T, what string, found, expected any) {
	t.Helper()
	if found != expected {
		t.Fatalf("%s: %v, not %v", what, found, expected)
	}
}

// A call that functions run in, with a queue for it.
type entered struct {
	name string
	kind Kind
	call func(queue *Queue) // runs what is due
}

func enteredCalls() []entered {
	return []entered{
		{"Advance", Virtual, func(queue *Queue) { must(0, queue.Advance(time.Millisecond)) }},
		{"Process", Host, func(queue *Queue) {
			for must(queue.Process(0)) == 0 {
				time.Sleep(10 * time.Microsecond)
			}
		}},
		{"Run", Host, func(queue *Queue) { must(queue.Run()) }},
		{"RunUntilStopped", Host, func(queue *Queue) { must(queue.RunUntilStopped()) }},
	}
}

// The call ends, the queue works as before, the function has been let go of once.
func TestAPanicComesOutOfTheCallThatTheFunctionRanIn(t *testing.T) {
	for _, entered := range enteredCalls() {
		queue := must(NewQueue(entered.kind, QueueOptions{}))
		gone := 0
		for round := 0; round < 100; round++ {
			must(0, queue.Once(0, func(*Tick) { panic("boom") }, func() { gone++ }))
			same(t, entered.name, panicOf(func() { entered.call(queue) }), "boom")
			expect(t, "gone", gone, round+1)
		}
		// One that ticks for ever does not keep the panic from coming.
		ticks := 0
		timer := must(queue.Every(time.Microsecond, func(*Tick) {
			if ticks++; ticks == 3 {
				panic("third")
			}
		}))
		value := panicOf(func() {
			for {
				entered.call(queue)
			}
		})
		same(t, entered.name, value, "third")
		expect(t, "release", must(timer.Release()), OK)
		// After that all is as before.
		ran := false
		must(0, queue.Once(0, func(*Tick) { ran = true; queue.Stop() }))
		entered.call(queue)
		expect(t, "ran", ran, true)
		expect(t, "close", must(queue.Shutdown(Forever)), OK)
	}
}

func TestEveryFunctionMayPanic(t *testing.T) {
	queue := must(NewQueue(Virtual, QueueOptions{}))
	boom := func(*Tick) { panic("boom") }
	advance := func() { must(0, queue.Advance(1)) }
	timer := must(queue.Start(Schedule{First: 10}, TimerOptions{Armed: true, Cancelled: true}, boom, func() { panic("gone") }))
	same(t, "armed", panicOf(advance), "boom")
	must(timer.Cancel())
	same(t, "cancelled", panicOf(advance), "boom")
	same(t, "gone", panicOf(func() { timer.Release() }), "gone")
	must(0, queue.Async(func() { panic("async") }))
	same(t, "async", panicOf(advance), "async")
	// The other functions of the call are called all the same, and so are those of one timer that are `gone`.
	order := ""
	must(0, queue.Once(1, func(*Tick) { order += "a"; panic("first") }, func() { order += "b"; panic("b") }, func() { order += "c" }))
	must(0, queue.Once(1, func(*Tick) { order += "d"; panic("last") }))
	same(t, "the first of four", panicOf(advance), "first")
	expect(t, "called, by the pass and after it", order, "adbc")
	var missing *Queue
	must(0, queue.Once(1, func(*Tick) { _ = missing.inner }))
	_, is := panicOf(advance).(runtime.Error)
	expect(t, "a fault of the runtime's", is, true)
	timer = must(queue.After(10, func(*Tick) {}, func() { panic("gone") }))
	same(t, "gone, with its queue", panicOf(func() { queue.Close() }), "gone")
	expect(t, "state", timer.State(), CancelledState)
}

func TestAPanicInsideOfACallInsideOfACallComesOutOfTheInnerOne(t *testing.T) {
	outer, inner := must(NewQueue(Virtual, QueueOptions{})), must(NewQueue(Host, QueueOptions{}))
	defer outer.Close()
	defer inner.Close()
	var found any
	must(0, outer.Once(1, func(*Tick) {
		must(0, inner.Once(0, func(*Tick) { panic("inner") }))
		found = panicOf(func() { inner.Run() })
		panic("outer")
	}))
	same(t, "outer", panicOf(func() { outer.Advance(1) }), "outer")
	same(t, "inner", found, "inner")
}

func TestAPanicComesOutOfSync(t *testing.T) {
	for _, kind := range []Kind{Serial, Precise} {
		queue := must(NewQueue(kind, QueueOptions{}))
		for round := 0; round < 100; round++ {
			same(t, "sync", panicOf(func() { queue.Sync(Forever, func() { panic("boom") }) }), "boom")
		}
		expect(t, "sync", must(queue.Sync(Forever, func() {})), OK)
		expect(t, "close", must(queue.Shutdown(Forever)), OK)
	}
}

// Each waits for a thread of C's no longer than it must: else the process has one for each of them, and ends at 10,000.
func TestGoroutinesThatWaitInSyncShareThreads(t *testing.T) {
	queue, other := must(NewQueue(Serial, QueueOptions{})), must(NewQueue(Serial, QueueOptions{}))
	defer queue.Close()
	defer other.Close()
	inside, end, count := make(chan bool), make(chan bool), 12000
	must(0, queue.Async(func() {
		inside <- true
		<-end
		must(queue.Sync(Forever, func() {})) // though all places are taken
		must(other.Sync(Forever, func() {}))
	}))
	<-inside
	ran, ended := 0, make(chan Status, count)
	for number := 0; number < count; number++ {
		go func() { ended <- must(queue.Sync(Forever, func() { ran++ })) }()
	}
	for len(queue.inner.waiting) < syncThreads {
		time.Sleep(time.Millisecond)
	}
	timesOut(t, "no place", func(timeout time.Duration) (Status, error) { return queue.Sync(timeout, func() {}) })
	end <- true
	for number := 0; number < count; number++ {
		select {
		case status := <-ended:
			expect(t, "sync", status, OK)
		case <-time.After(watchdog):
			t.Fatal("no goroutine came back for 30 s")
		}
	}
	expect(t, "ran", ran, count)
	expect(t, "places", len(queue.inner.waiting), 0)
}

// Without a thread of C's, it is the same call.
func TestSyncThatWaitsInGo(t *testing.T) {
	for _, most := range []int32{allSyncThreads, 0} {
		before := allSyncThreads
		allSyncThreads = most
		for _, kind := range []Kind{Serial, Precise} {
			queue, inside, end := must(NewQueue(kind, QueueOptions{})), make(chan bool), make(chan bool)
			same(t, "panic", panicOf(func() { queue.Sync(Forever, func() { panic("boom") }) }), "boom")
			expect(t, "sync", must(queue.Sync(Forever, func() {
				must(queue.Sync(Forever, func() {}))
			})), OK)
			must(0, queue.Async(func() { inside <- true; <-end }))
			<-inside
			timesOut(t, "busy", func(timeout time.Duration) (Status, error) {
				return queue.Sync(timeout, func() { t.Error("it ran") })
			})
			answers := make(chan error)
			go func() { _, err := queue.Sync(Forever, func() {}); answers <- err }()
			end <- true
			same(t, "sync", <-answers, nil)
			must(queue.Suspend())
			go func() { _, err := queue.Sync(Forever, func() { t.Error("it ran") }); answers <- err }()
			time.Sleep(20 * time.Millisecond)
			same(t, "close", queue.Close(), nil)
			expect(t, "shut down", errors.Is(<-answers, ShutDown), true)
			_, err := queue.Sync(Forever, func() {})
			expect(t, "closed", errors.Is(err, InvalidHandle), true)
		}
		allSyncThreads = before
	}
}

func TestAQueueThatRefusesSyncSaysWhatToDo(t *testing.T) {
	for kind, words := range map[Kind]string{Host: "Async", Virtual: "Async", Concurrent: "Serial"} {
		queue := must(NewQueue(kind, QueueOptions{}))
		if _, err := queue.Sync(0, func() {}); !errors.Is(err, Unsupported) || !strings.Contains(err.Error(), words) {
			t.Error(err)
		}
		queue.Close()
	}
}

func TestWhatNobodyHasMadeHasNoEnd(t *testing.T) {
	ctx := context.Background()
	for name, timer := range map[string]*Timer{"nil": nil, "new": new(Timer), "borrowed": Borrow(0)} {
		for call, end := range map[string]func() (Status, error){
			"Release":               timer.Release,
			"ReleaseAndWait":        func() (Status, error) { return timer.ReleaseAndWait(0) },
			"ReleaseAndWaitContext": func() (Status, error) { return timer.ReleaseAndWaitContext(ctx) },
		} {
			if status, err := end(); status != InvalidHandle || !errors.Is(err, InvalidHandle) {
				t.Error(name, call, status, err)
			}
		}
	}
	for name, queue := range map[string]*Queue{"nil": nil, "new": new(Queue)} {
		if status, err := queue.Shutdown(0); status != InvalidHandle || !errors.Is(err, InvalidHandle) {
			t.Error(name, "Shutdown", status, err)
		}
		if err := queue.ShutdownContext(ctx); !errors.Is(err, InvalidHandle) {
			t.Error(name, "ShutdownContext", err)
		}
		same(t, name+" Close", queue.Close(), nil)
	}
}

func TestJitterRepeatsByItsSeed(t *testing.T) {
	run := func(seed uint64) (times []time.Duration) {
		queue := must(NewQueue(Virtual, QueueOptions{Seed: seed}))
		defer queue.Close()
		must(queue.Start(Schedule{First: 100, Interval: 100, Jitter: 50, Limit: 20}, TimerOptions{},
			func(tick *Tick) { times = append(times, tick.Scheduled) }))
		must(0, queue.Advance(3000))
		return times
	}
	first, second, other, differ := run(1), run(1), run(2), false
	expect(t, "ticks", len(first), 20)
	for index := range first {
		expect(t, "again", second[index], first[index])
		differ = differ || other[index] != first[index]
	}
	expect(t, "another seed differs", differ, true)
}

// Each case ends the process that it runs in: with that status, and that in its standard error.
var endings = map[string]struct {
	body   func()
	status int
	says   string
}{
	"a panic on a thread of Chime's": {func() {
		queue := must(NewQueue(Serial, QueueOptions{}))
		must(0, queue.Once(0, func(*Tick) { panic("boom") }))
		select {}
	}, 2, "boom"},
	"a panic on a queue that another thread waits for": {func() {
		queue := must(NewQueue(Serial, QueueOptions{}))
		must(0, queue.Once(0, func(*Tick) { panic("boom") }))
		for {
			panicOf(func() { queue.Sync(Forever, func() {}) })
		}
	}, 2, "boom"},
	"a panic of a function that is gone with a queue that nobody holds": {func() {
		must(must(NewQueue(Host, QueueOptions{})).After(time.Hour, func(*Tick) {}, func() { panic("boom") }))
		for {
			runtime.GC()
		}
	}, 2, "boom"},
	"Goexit in Advance": {func() {
		queue := must(NewQueue(Virtual, QueueOptions{}))
		must(0, queue.Once(0, func(*Tick) { runtime.Goexit() }))
		go queue.Advance(1)
		select {}
	}, 2, "runtime.Goexit in a function that Chime called"},
	"Goexit on a thread of Chime's": {func() {
		queue := must(NewQueue(Concurrent, QueueOptions{}))
		must(0, queue.Async(runtime.Goexit))
		select {}
	}, 2, "runtime.Goexit in a function that Chime called"},
	"Goexit in Sync": {func() {
		queue := must(NewQueue(Serial, QueueOptions{}))
		queue.Sync(Forever, runtime.Goexit)
	}, 2, "runtime.Goexit in a function that Chime called"},
	"waiting in Sync for many queues, such as one for each session": {func() {
		allSyncThreads = 64
		debug.SetMaxThreads(300)
		ended := make(chan bool)
		var queues []*Queue
		for len(queues) < 600 {
			queue := must(NewQueue(Serial, QueueOptions{}))
			must(queue.Suspend())
			queues = append(queues, queue)
			go func() { ended <- must(queue.Sync(Forever, func() {})) == OK }()
		}
		time.Sleep(200 * time.Millisecond)
		for _, queue := range queues {
			must(queue.Resume())
		}
		for range queues {
			if !<-ended {
				os.Exit(1)
			}
		}
		if inSync != 0 {
			os.Exit(1)
		}
	}, 0, ""},
	"sleeping until a time on many goroutines": {func() {
		sleepers = make(chan struct{}, 32)
		debug.SetMaxThreads(100)
		ended := make(chan bool)
		for _, clock := range []Clock{Monotonic, Boottime, Wall} {
			for count := 0; count < 100; count++ {
				go func(clock Clock) {
					until := must(Now(clock)) + 300*time.Millisecond
					must(0, SleepUntil(clock, until))
					ended <- must(Now(clock)) >= until
				}(clock)
			}
		}
		for count := 0; count < 300; count++ {
			if !<-ended {
				os.Exit(1)
			}
		}
	}, 0, ""},
	"collecting many queues at once": {func() {
		debug.SetMaxThreads(150)
		var gone int32
		for round := int32(1); round <= 10; round++ {
			for count := 0; count < 4000; count++ {
				must(must(NewQueue(Virtual, QueueOptions{})).After(time.Hour, func(*Tick) {}, func() { atomic.AddInt32(&gone, 1) }))
			}
			for atomic.LoadInt32(&gone) < 4000*round {
				runtime.GC()
			}
		}
	}, 0, ""},
	"closing many queues at once": {func() {
		shutdowns = crowdOf(32)
		debug.SetMaxThreads(450) // 300 of them for the functions
		ended, inside, goOn := make(chan bool), make(chan bool), make(chan bool)
		for count := 0; count < 300; count++ {
			queue := must(NewQueue(Precise, QueueOptions{}))
			must(0, queue.Async(func() { inside <- true; <-goOn }))
			<-inside
			go func() { ended <- queue.Close() == nil }()
		}
		time.Sleep(200 * time.Millisecond)
		close(goOn)
		for count := 0; count < 300; count++ {
			if !<-ended {
				os.Exit(1)
			}
		}
	}, 0, ""},
	"closing queues whose functions wait for the close of another": {func() {
		shutdowns = crowdOf(4)
		last, closed, ended := must(NewQueue(Serial, QueueOptions{})), make(chan bool), make(chan bool)
		for count := 0; count < 8; count++ {
			queue, inside := must(NewQueue(Serial, QueueOptions{})), make(chan bool)
			must(0, queue.Async(func() { inside <- true; <-closed }))
			<-inside
			go func() { ended <- queue.Close() == nil }()
		}
		time.Sleep(50 * time.Millisecond)
		if status, err := last.Shutdown(20 * time.Millisecond); status < 0 && status != TimedOut {
			panic(err)
		}
		last.Close()
		close(closed)
		for count := 0; count < 8; count++ {
			if !<-ended {
				os.Exit(1)
			}
		}
	}, 0, ""},
	"a panic that nobody recovers": {func() {
		queue := must(NewQueue(Virtual, QueueOptions{}))
		must(0, queue.Once(0, func(*Tick) { panicsHere() }))
		queue.Advance(1)
	}, 2, "panicsHere"},
	"exit in a tick": {func() {
		queue := must(NewQueue(Virtual, QueueOptions{}))
		must(0, queue.Once(0, func(*Tick) { os.Exit(5) }))
		queue.Advance(1)
	}, 5, ""},
	"exit on a thread of Chime's": {func() {
		queue := must(NewQueue(Serial, QueueOptions{}))
		must(0, queue.Once(0, func(*Tick) { os.Exit(5) }))
		select {}
	}, 5, ""},
	"exit in Sync": {func() {
		must(NewQueue(Precise, QueueOptions{})).Sync(Forever, func() { os.Exit(5) })
	}, 5, ""},
	"exit in a function that is gone": {func() {
		timer := must(must(NewQueue(Host, QueueOptions{})).After(0, func(*Tick) {}, func() { os.Exit(5) }))
		timer.Release()
	}, 5, ""},
	"exit in a handler while other threads call, wait and tick": {func() {
		var queues []*Queue
		for _, kind := range []Kind{Serial, Concurrent, Precise, Serial} {
			queue := must(NewQueue(kind, QueueOptions{}))
			queues = append(queues, queue)
			must(queue.Every(time.Microsecond, func(*Tick) {}))
			go func() {
				for {
					if timer, err := queue.After(0, func(*Tick) {}); err == nil {
						timer.ReleaseAndWait(Forever)
					}
					queue.Sync(Forever, func() {})
				}
			}()
		}
		queues[0].Once(10*time.Millisecond, func(*Tick) { os.Exit(5) })
		go queues[1].Close()
		select {}
	}, 5, ""},
}

//go:noinline
func panicsHere() { panic("boom") }

const endingVariable = "CHIME_GO_ENDING"

func TestMain(m *testing.M) {
	if ending, is := endings[os.Getenv(endingVariable)]; is {
		ending.body()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestTheProcessEndsAsItShould(t *testing.T) {
	for name, ending := range endings {
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), endingVariable+"="+name)
		var said strings.Builder
		command.Stderr = &said
		must(0, command.Start())
		late := time.AfterFunc(watchdog, func() { command.Process.Kill() })
		command.Wait()
		late.Stop()
		if status := command.ProcessState.ExitCode(); status != ending.status || !strings.Contains(said.String(), ending.says) {
			t.Errorf("%s: status %d, not %d: %s", name, status, ending.status, said.String())
		}
	}
}

// Calls a function in a loop until the one that is returned is called, which waits for its end.
func repeatedly(call func()) (end func()) {
	stop, ended := make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
				call()
			}
		}
	}()
	return func() { close(stop); <-ended }
}

// Collections in a loop until the test ends.
func collect(t *testing.T) { t.Cleanup(repeatedly(runtime.GC)) }

func TestAQueueLastsAsLongAsTheCallThatIsItsLastUse(t *testing.T) {
	collect(t)
	for round := 0; round < 5; round++ {
		ticks := 0
		host := must(NewQueue(Host, QueueOptions{}))
		must(0, host.Once(5*time.Millisecond, func(*Tick) { ticks++ }))
		expect(t, "run", must(host.Run()), OK)
		expect(t, "ticks", ticks, 1)
		virtual := must(NewQueue(Virtual, QueueOptions{}))
		for at := time.Duration(1); at < 20; at++ {
			must(0, virtual.Once(at, func(*Tick) { ticks++; runtime.GC() }))
		}
		must(0, virtual.Advance(100))
		expect(t, "ticks", ticks, 20)
		serial := must(NewQueue(Serial, QueueOptions{}))
		started, end := make(chan bool), make(chan bool)
		must(0, serial.Async(func() { started <- true; <-end }))
		<-started
		go func() { time.Sleep(2 * time.Millisecond); end <- true }()
		expect(t, "sync", must(serial.Sync(Forever, func() { ticks++ })), OK)
	}
}

// Nobody holds the queue either.
func TestWhatIsPutOnAQueueThatRunsByItselfIsCalled(t *testing.T) {
	collect(t)
	called := make(chan int)
	for round := 0; round < 20; round++ {
		must(0, must(NewQueue(Serial, QueueOptions{})).Once(5*time.Millisecond, func(*Tick) { called <- 1 }))
		queue := must(NewQueue(Serial, QueueOptions{}))
		must(0, queue.Async(func() { time.Sleep(5 * time.Millisecond) }))
		must(0, queue.Async(func() { called <- 2 }))
		for count := 0; count < 2; count++ {
			select {
			case <-called:
			case <-time.After(watchdog):
				t.Fatal("not called for 30 s")
			}
		}
	}
}

// It is finished when its function is called, and running again when that has returned.
func TestATimerThatItsFunctionStartsAgainIsNotCollected(t *testing.T) {
	collect(t)
	queue := must(NewQueue(Serial, QueueOptions{}))
	defer queue.Close()
	ticks := make(chan bool)
	must(queue.After(0, func(tick *Tick) {
		for count := 0; count < 3; count++ {
			runtime.GC()
			time.Sleep(100 * time.Microsecond)
		}
		Borrow(tick.Timer).RestartWith(Schedule{})
		ticks <- true
	}))
	for count := 0; count < 50; count++ {
		select {
		case <-ticks:
		case <-time.After(watchdog):
			t.Fatal("no tick for 30 s")
		}
	}
	go func() {
		for range ticks {
		}
	}()
}

func TestAQueueThatNobodyCanDriveIsCollectedWithItsTimers(t *testing.T) {
	for _, kind := range []Kind{Virtual, Host} {
		gone := make(chan bool, 3)
		func() {
			queue := must(NewQueue(kind, QueueOptions{}))
			must(queue.Every(time.Hour, func(*Tick) {}, func() { gone <- true }))
			must(0, queue.Once(time.Hour, func(*Tick) {}, func() { gone <- true }))
			must(0, queue.Async(func() {}, func() { gone <- true }))
		}()
		late := time.After(watchdog)
		for count := 0; count < 3; {
			runtime.GC()
			select {
			case <-gone:
				count++
			case <-late:
				t.Fatal("still there after 30 s")
			case <-time.After(time.Millisecond):
			}
		}
	}
}

// A finalizer that waits for a function of the program's would hold up all others.
func TestAFunctionThatIsGoneMayWaitForAnotherFinalizer(t *testing.T) {
	done := make(chan bool)
	func() {
		queue := must(NewQueue(Host, QueueOptions{}))
		must(queue.Create(TimerOptions{}, func(*Tick) {}, func() {
			finalized := make(chan bool)
			runtime.SetFinalizer(&struct{ number *int }{new(int)}, func(any) { close(finalized) })
			for {
				runtime.GC()
				select {
				case <-finalized:
					close(done)
					return
				case <-time.After(time.Millisecond):
				}
			}
		}))
	}()
	for late := time.After(watchdog); ; {
		runtime.GC()
		select {
		case <-done:
			return
		case <-late:
			t.Fatal("still there after 30 s")
		case <-time.After(time.Millisecond):
		}
	}
}

func TestNilFunctionsAreRefused(t *testing.T) {
	queue := must(NewQueue(Serial, QueueOptions{}))
	defer queue.Close()
	function := func(*Tick) {}
	for _, make := range []func() error{
		func() error { _, err := queue.After(0, nil); return err },
		func() error { _, err := queue.Every(1, nil); return err },
		func() error { _, err := queue.Start(Schedule{}, TimerOptions{}, nil); return err },
		func() error { _, err := queue.Create(TimerOptions{}, nil); return err },
		func() error { return queue.Once(0, nil) },
		func() error { return queue.Async(nil) },
		func() error { _, err := queue.Sync(0, nil); return err },
		func() error { _, err := queue.After(time.Hour, function, nil); return err },
		func() error { return queue.Once(time.Hour, function, func() {}, nil) },
	} {
		if err := make(); !errors.Is(err, InvalidArgument) || !strings.Contains(err.Error(), "function is nil") {
			t.Error(err)
		}
	}
	expect(t, "timers", must(queue.Stats()).Timers, 0)
}

// C would take the NUL for the end of the text.
func TestTextWithANULIsRefused(t *testing.T) {
	queue := must(NewQueue(Virtual, QueueOptions{}))
	defer queue.Close()
	for _, make := range []func() error{
		func() error { _, err := NewQueue(Virtual, QueueOptions{Label: "a\x00b"}); return err },
		func() error {
			_, err := queue.Create(TimerOptions{Label: "a\x00b"}, func(*Tick) {})
			return err
		},
		func() error { return TraceToFile("a\x00b") },
	} {
		if err := make(); !errors.Is(err, InvalidArgument) || !strings.Contains(err.Error(), "NUL") {
			t.Error(err)
		}
	}
}

// Also in the middle of a structure, where Go's own finalizers may not be set.
func TestCopiesAndWhatNobodyHasMade(t *testing.T) {
	var holder struct {
		number int
		queue  Queue
		timer  Timer
	}
	same(t, "close", holder.queue.Close(), nil) // of no queue: does nothing
	_, err := holder.queue.After(0, func(*Tick) {})
	expect(t, "after", errors.Is(err, InvalidHandle), true)
	_, err = holder.timer.Release()
	expect(t, "release", errors.Is(err, InvalidHandle), true)
	expect(t, "state", holder.timer.State(), CancelledState)
	holder.queue = *must(NewQueue(Virtual, QueueOptions{}))
	ticks := 0
	holder.timer = *must(holder.queue.Every(10, func(*Tick) { ticks++ }))
	for count := 0; count < 5; count++ {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	must(0, holder.queue.Advance(30))
	expect(t, "ticks", ticks, 3)
	expect(t, "release", must(holder.timer.Release()), OK)
	expect(t, "close", must(holder.queue.Shutdown(Forever)), OK)
}

// Functions, calls, panics and collections at the same time.
func TestAStorm(t *testing.T) {
	collect(t)
	var made, gone int64
	ended := make(chan bool)
	for worker := 0; worker < 4; worker++ {
		go func(worker int) {
			defer func() { ended <- true }()
			for round := 0; round < 100; round++ {
				kind := []Kind{Serial, Concurrent, Precise, Host, Virtual}[(worker+round)%5]
				queue := must(NewQueue(kind, QueueOptions{}))
				for count := 0; count < 8; count++ {
					atomic.AddInt64(&made, 1)
					timer := must(queue.Every(time.Duration(1+count)*time.Microsecond, func(tick *Tick) {
						Borrow(tick.Timer).Postpone(time.Microsecond)
						if kind == Host || kind == Virtual {
							panic("boom")
						}
					}, func() { atomic.AddInt64(&gone, 1) }))
					switch count % 4 {
					case 0:
						timer.Release()
					case 1:
						timer.ReleaseAndWait(Forever)
					case 2:
						timer.Suspend()
					}
				}
				switch kind {
				case Host:
					panicOf(func() { queue.Run() })
				case Virtual:
					panicOf(func() { queue.Advance(10 * time.Microsecond) })
				case Serial:
					queue.Sync(Forever, runtime.GC)
				}
				// A queue that runs by itself lasts as long as its timers run.
				if kind != Host && kind != Virtual || round%2 == 0 {
					must(queue.Shutdown(Forever))
				}
			}
		}(worker)
	}
	late := time.After(10 * watchdog)
	for count := 0; count < 4; count++ {
		select {
		case <-ended:
		case <-late:
			t.Fatal("a worker hangs")
		}
	}
	for late := time.After(watchdog); ; {
		runtime.GC()
		if atomic.LoadInt64(&gone) == atomic.LoadInt64(&made) {
			return
		}
		select {
		case <-late:
			t.Fatal(atomic.LoadInt64(&gone), " of ", atomic.LoadInt64(&made), " let go of")
		case <-time.After(time.Millisecond):
		}
	}
}
