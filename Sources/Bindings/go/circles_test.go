package chime

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// session holds its own timer, whose function it is.
type session struct {
	timer *Timer
	count int
	large [1024]byte
}

func (s *session) expire(*Tick) { s.count++ }

// awaitCollection drives the queue and collects until the counter has that value.
func awaitCollection(t *testing.T, what string, queue *Queue, kind Kind, collected *int64, all int64) {
	t.Helper()
	for late := time.Now().Add(watchdog); atomic.LoadInt64(collected) < all; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("%s: %d of %d collected", what, atomic.LoadInt64(collected), all)
		}
		switch kind {
		case Virtual:
			must(0, queue.Advance(time.Second))
		case Host:
			must(queue.Process(0))
		}
		runtime.GC()
	}
}

func TestAnObjectThatHoldsItsOwnTimerIsCollectedWhenThatIsAtRest(t *testing.T) {
	made := func(timer *Timer, err error) *Timer { return must(timer, err) }
	rests := map[string]func(queue *Queue, s *session){
		"fired": func(queue *Queue, s *session) { s.timer = made(queue.After(time.Millisecond, s.expire)) },
		"limit": func(queue *Queue, s *session) {
			s.timer = made(queue.Start(Schedule{Interval: time.Millisecond, Limit: 2}, TimerOptions{}, s.expire))
		},
		"idle": func(queue *Queue, s *session) { s.timer = made(queue.Create(TimerOptions{}, s.expire)) },
		"extra": func(queue *Queue, s *session) {
			s.timer = made(queue.Create(TimerOptions{}, s.expire))
			must(s.timer.Fire())
		},
		"cancelled": func(queue *Queue, s *session) {
			s.timer = made(queue.Every(time.Hour, s.expire))
			must(s.timer.Cancel())
		},
		"told": func(queue *Queue, s *session) {
			s.timer = made(queue.Start(Schedule{First: time.Hour}, TimerOptions{Cancelled: true}, s.expire))
			must(s.timer.CancelAndWait(Forever))
		},
		"again": func(queue *Queue, s *session) {
			s.timer = made(queue.After(time.Hour, s.expire))
			must(s.timer.Cancel())
			must(s.timer.RestartAfter(0))
		},
	}
	for _, kind := range []Kind{Serial, Concurrent, Host, Precise, Virtual} {
		for name, rest := range rests {
			queue := must(NewQueue(kind, QueueOptions{}))
			var collected int64
			const all = 50
			for count := 0; count < all; count++ {
				// The finalizer is on what the circle refers to, since one in a circle would keep it.
				mark := new([16]byte)
				runtime.SetFinalizer(mark, func(*[16]byte) { atomic.AddInt64(&collected, 1) })
				s := &marked{mark: mark}
				rest(queue, &s.session)
			}
			awaitCollection(t, name, queue, kind, &collected, all)
			for late := time.Now().Add(watchdog); must(queue.Stats()).Timers > 0; runtime.GC() {
				if time.Now().After(late) {
					t.Fatal(name, must(queue.Stats()).Timers, " timers left")
				}
			}
			same(t, "close", queue.Close(), nil)
		}
	}
}

type marked struct {
	session
	mark *[16]byte
}

// Those who keep it, as a closed connection keeps its timeout, hold no function that nothing can call any more.
func TestAReleasedTimerThatIsKeptHoldsNoFunction(t *testing.T) {
	releases := map[string]func(*Timer) (Status, error){
		"Release":        (*Timer).Release,
		"ReleaseAndWait": func(timer *Timer) (Status, error) { return timer.ReleaseAndWait(Forever) },
		"ReleaseAndWaitContext": func(timer *Timer) (Status, error) {
			return timer.ReleaseAndWaitContext(context.Background())
		},
		"of a copy": func(timer *Timer) (Status, error) { other := *timer; return other.Release() },
	}
	for _, kind := range []Kind{Serial, Virtual} {
		for name, release := range releases {
			queue := must(NewQueue(kind, QueueOptions{}))
			var collected int64
			const all = 50
			var kept []*Timer
			for count := 0; count < all; count++ {
				mark := new([16]byte)
				runtime.SetFinalizer(mark, func(*[16]byte) { atomic.AddInt64(&collected, 1) })
				s := &marked{mark: mark}
				timer := must(queue.After(time.Hour, func(*Tick) { s.count++ }))
				if count%2 == 0 {
					must(timer.Cancel())
				}
				must(release(timer))
				kept = append(kept, timer)
			}
			awaitCollection(t, name, queue, kind, &collected, all)
			for _, timer := range kept {
				for _, start := range []func() (Status, error){timer.Restart, timer.Fire, timer.Release} {
					status, err := start()
					same(t, name, status, InvalidHandle)
					expect(t, "an error", err != nil, true)
				}
				expect(t, "taken back", timer.Reset(0) || timer.Stop(), false)
			}
			same(t, "close", queue.Close(), nil)
		}
	}
}

func TestWhatStartsATimerGivesItsFunctionBack(t *testing.T) {
	queue := must(NewQueue(Virtual, QueueOptions{}))
	defer queue.Close()
	s := &session{}
	s.timer = must(queue.After(1, s.expire))
	starts := []func(){
		func() { must(s.timer.Activate()) }, func() { must(s.timer.Restart()) }, func() { must(s.timer.RestartAfter(1)) },
		func() { must(s.timer.RestartUntil(must(queue.Now()) + 1)) }, func() { must(s.timer.Fire()) },
		func() { must(s.timer.ActivateWith(Schedule{First: 1})) }, func() { s.timer.Reset(1) },
	}
	must(0, queue.Advance(1))
	for number, start := range starts {
		runtime.GC()
		start()
		must(0, queue.Advance(1))
		expect(t, "ticks", s.count, number+2)
	}
}

func TestATimerAtRestIsStartedByItsOwnersOrInItsFunction(t *testing.T) {
	queue := must(NewQueue(Virtual, QueueOptions{}))
	defer queue.Close()
	ticks := 0
	timer := must(queue.After(1, func(tick *Tick) {
		if ticks++; ticks == 1 {
			must(Borrow(tick.Timer).RestartAfter(1))
			must(Borrow(tick.Timer).Fire())
		}
	}))
	must(0, queue.Advance(5))
	expect(t, "ticks", ticks, 3)
	for _, start := range []func(*Timer) (Status, error){
		(*Timer).Activate, (*Timer).Restart, (*Timer).Fire, func(t *Timer) (Status, error) { return t.RestartAfter(1) }} {
		_, err := start(Borrow(timer.ID()))
		expect(t, "borrowed", errors.Is(err, Unsupported), true)
	}
	must(timer.RestartAfter(10))
	must(Borrow(timer.ID()).RestartAfter(1)) // it runs
	must(0, queue.Advance(1))
	expect(t, "ticks", ticks, 4)
}

// A target that goes cancels the timer, of which a function that has not asked for it is not told. (A test has no C to make
// a target with.)
func TestATimerWithATargetHearsOfItsEndAndItsFunctionDoesNot(t *testing.T) {
	function := func(*Tick) {}
	quiet, told := &rest{call: function, last: true, quiet: true}, &rest{call: function, last: true}
	expect(t, "quiet", quiet.begin(1, Cancelled) == nil, true)
	expect(t, "due", quiet.begin(1, Due) != nil, true)
	expect(t, "told", told.begin(1, Cancelled) != nil, true)
}

// Every start that was accepted last is followed by its tick, though others stop the timer, and its function comes and goes.
func TestNoTickIsWithoutItsFunction(t *testing.T) {
	for _, kind := range []Kind{Serial, Concurrent, Precise} {
		queue := must(NewQueue(kind, QueueOptions{}))
		ticked, calls := make(chan bool, 1), uint64(0)
		timer := must(queue.Create(TimerOptions{}, func(*Tick) {
			atomic.AddUint64(&calls, 1)
			select {
			case ticked <- true:
			default:
			}
		}))
		verbs := []func(){
			func() { timer.Cancel() }, func() { timer.RestartAfter(0) }, func() { timer.Fire() }, func() { timer.Activate() },
			func() { timer.Suspend() },
		}
		for round := 0; round < 200; round++ {
			var all sync.WaitGroup
			for _, verb := range verbs {
				all.Add(1)
				go func(verb func()) {
					defer all.Done()
					for count := 0; count < 10; count++ {
						verb()
					}
				}(verb)
			}
			all.Wait()
			must(timer.CancelAndWait(Forever))
			select {
			case <-ticked:
			default:
			}
			if round%2 == 0 {
				must(timer.RestartAfter(0))
			} else {
				must(timer.RestartAfter(time.Hour))
				must(timer.Fire())
			}
			select {
			case <-ticked:
			case <-time.After(watchdog):
				t.Fatal("no tick for 30 s")
			}
		}
		must(timer.CancelAndWait(Forever))
		expect(t, "calls", atomic.LoadUint64(&calls), must(queue.Stats()).Ticks)
		same(t, "close", queue.Close(), nil)
	}
}

// A tick can have been on its way when the next was requested: then another comes behind it.
func TestNoExtraTickIsWithoutItsFunction(t *testing.T) {
	for _, kind := range []Kind{Serial, Concurrent, Precise} {
		queue := must(NewQueue(kind, QueueOptions{}))
		var calls uint64
		timer := must(queue.Create(TimerOptions{}, func(*Tick) { atomic.AddUint64(&calls, 1) }))
		for ticks := uint64(0); ticks < 1000; ticks = must(queue.Stats()).Ticks {
			must(timer.Fire())
		}
		must(timer.CancelAndWait(Forever))
		expect(t, "calls", atomic.LoadUint64(&calls), must(queue.Stats()).Ticks)
		same(t, "close", queue.Close(), nil)
	}
}

func TestAnExtraTickComesThoughNobodyHoldsTheTimer(t *testing.T) {
	queue := must(NewQueue(Virtual, QueueOptions{}))
	defer queue.Close()
	count := 0
	func() {
		must(must(queue.Create(TimerOptions{}, func(*Tick) { count++ })).Fire())
		finished := must(queue.After(0, func(*Tick) { count++ }))
		must(0, queue.Advance(0))
		must(finished.Fire())
	}()
	for round := 0; round < 3; round++ {
		collectNow()
	}
	must(0, queue.Advance(0))
	expect(t, "ticks", count, 3)
	for late := time.Now().Add(watchdog); must(queue.Stats()).Timers > 0; collectNow() {
		if time.Now().After(late) {
			t.Fatal("a timer at rest that nobody holds is not collected")
		}
	}
}

func TestAnExtraTickIsScheduledForTheFirstCallOfFire(t *testing.T) {
	queue, seen, function := virtual(t)
	timer := must(queue.After(5, function))
	must(queue.Suspend())
	must(0, queue.Advance(10))
	must(timer.Fire())
	must(0, queue.Advance(10))
	must(timer.Fire())
	must(timer.Activate()) // which is ignored
	must(0, queue.Advance(10))
	must(queue.Resume())
	must(0, queue.Advance(0))
	expect(t, "ticks", len(*seen), 2)
	for _, tick := range *seen {
		expect(t, "scheduled", tick.Scheduled, map[TickKind]time.Duration{Due: 5, Fired: 10}[tick.Kind])
	}
}

// The release of a timer that nobody holds is inside the queue for as long as its function gone runs.
func TestACollectionIsInNobodysWay(t *testing.T) {
	for kind, drive := range map[Kind]func(*Queue) error{
		Virtual: func(queue *Queue) error { return queue.Advance(1) },
		Host:    func(queue *Queue) error { _, err := queue.Run(); return err },
	} {
		queue := must(NewQueue(kind, QueueOptions{}))
		inside := make(chan struct{})
		func() {
			must(queue.After(0, func(*Tick) {}, func() {
				close(inside)
				time.Sleep(20 * time.Millisecond)
			}))
		}()
		same(t, "to rest", drive(queue), nil)
		for late, is := time.After(watchdog), true; is; {
			runtime.GC()
			select {
			case <-inside:
				is = false
			case <-late:
				t.Fatal("not collected")
			case <-time.After(time.Millisecond):
			}
		}
		same(t, fmt.Sprint("driven meanwhile, kind ", kind), drive(queue), nil)
		must(0, queue.Close())
	}
}

func TestNoCancelledTickIsWithoutItsFunction(t *testing.T) {
	queue, seen, _ := virtual(t)
	again := 1
	told := must(queue.Start(Schedule{First: time.Hour}, TimerOptions{Cancelled: true}, func(tick *Tick) {
		*seen = append(*seen, *tick)
		if again > 0 {
			again--
			must(Borrow(tick.Timer).RestartAfter(time.Hour))
			must(Borrow(tick.Timer).Cancel())
		}
	}))
	must(told.Cancel())
	must(0, queue.Advance(1))
	expect(t, "cancelled in its tick", len(*seen), 2)
	for count := 0; count < 3; count++ {
		must(told.RestartAfter(time.Hour))
		must(told.Cancel())
	}
	must(0, queue.Advance(1))
	expect(t, "cancelled before a tick", len(*seen), 5)
	must(told.RestartAfter(1))
	must(0, queue.Advance(1))
	must(told.Cancel())
	must(0, queue.Advance(1))
	expect(t, "finished", len(*seen), 6)
	expect(t, "kept", told.inner.rest.call == nil, true)
}

func TestAContextEndsWhatWaits(t *testing.T) {
	queue, started, end := must(NewQueue(Serial, QueueOptions{})), make(chan bool, 1), make(chan bool)
	timer := must(queue.After(0, func(*Tick) { started <- true; <-end }))
	<-started
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(time.Millisecond, cancel)
	ran := false
	expect(t, "sync", errors.Is(queue.SyncContext(ctx, func() { ran = true }), context.Canceled), true)
	ctx, cancel = context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err := timer.CancelAndWaitContext(ctx)
	expect(t, "cancel and wait", errors.Is(err, context.DeadlineExceeded), true)
	close(end)
	same(t, "sync", queue.SyncContext(context.Background(), func() {}), nil)
	expect(t, "ran", ran, false)
	same(t, "panic", panicOf(func() { queue.SyncContext(context.Background(), func() { panic("boom") }) }), "boom")
	same(t, "inside", queue.SyncContext(context.Background(), func() {
		same(t, "nested", queue.SyncContext(context.Background(), func() { ran = true }), nil)
	}), nil)
	expect(t, "ran", ran, true)
	must(timer.CancelAndWaitContext(context.Background()))

	end = make(chan bool)
	must(0, queue.Async(func() { started <- true; <-end }))
	<-started
	ctx, cancel = context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	expect(t, "shutdown", errors.Is(queue.ShutdownContext(ctx), context.DeadlineExceeded), true)
	close(end)

	host := must(NewQueue(Host, QueueOptions{}))
	ctx, cancel = context.WithCancel(context.Background())
	must(0, host.Once(time.Millisecond, func(*Tick) { cancel() }))
	expect(t, "run", errors.Is(host.RunContext(ctx), context.Canceled), true)
	for count := 0; count < 100; count++ { // a stop that comes too late stops nothing else
		ctx, cancel := context.WithCancel(context.Background())
		must(0, host.Once(0, func(*Tick) { host.Stop(); go cancel() }))
		host.RunContext(ctx)
		ticks := 0
		must(0, host.Once(0, func(*Tick) { ticks++ }))
		expect(t, "run", must(host.Run()), OK)
		expect(t, "ticks", ticks, 1)
	}
	same(t, "shutdown", host.ShutdownContext(context.Background()), nil)
}

func TestALimitCountsWhatCanStillTick(t *testing.T) {
	for _, kind := range []Kind{Serial, Concurrent, Host, Precise, Virtual} {
		queue := must(NewQueue(kind, QueueOptions{TimerLimit: 10}))
		const all = 100
		ticks, refused := make(chan int, all), make(chan error, all)
		var next func(count int) func(*Tick)
		next = func(count int) func(*Tick) {
			return func(*Tick) {
				if count < all {
					if _, err := queue.After(0, next(count+1)); err != nil {
						refused <- err
					}
				}
				ticks <- count
			}
		}
		must(queue.After(0, next(1)))
		for seen, late := 0, time.After(watchdog); seen < all; {
			switch kind {
			case Virtual:
				must(0, queue.Advance(0))
			case Host:
				must(queue.Process(0))
			}
			select {
			case <-ticks:
				seen++
			case err := <-refused:
				t.Fatal(kind, seen, err)
			case <-late:
				t.Fatal(kind, seen)
			case <-time.After(time.Millisecond):
			}
		}
		same(t, "close", queue.Close(), nil)
	}
}

func TestALimitThatRunningTimersHaveReachedCostsNoCollection(t *testing.T) {
	queue := must(NewQueue(Virtual, QueueOptions{TimerLimit: 3}))
	defer queue.Close()
	held := []*Timer{}
	for count := 0; count < 3; count++ {
		held = append(held, must(queue.After(time.Hour, func(*Tick) {})))
	}
	refuse := func(each time.Duration) { // between two attempts, of three collections each; 0: none
		t.Helper()
		begin, most := time.Now(), uint32(0)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for count := 0; count < 100; count++ {
			if _, err := queue.After(0, func(*Tick) {}); !errors.Is(err, Limit) {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		if each > 0 {
			most = 3 * uint32(time.Since(begin)/each+1)
		}
		if forced := after.NumForcedGC - before.NumForcedGC; forced > most {
			t.Fatal(forced, "collections")
		}
	}
	refuse(0)
	must(held[0].Cancel()) // at rest, and held
	refuse(100 * time.Millisecond)
	runtime.KeepAlive(held)
}
