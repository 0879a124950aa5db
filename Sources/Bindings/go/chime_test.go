package chime

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const watchdog = 30 * time.Second

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func expect[T comparable](t *testing.T, what string, found, expected T) {
	t.Helper()
	if found != expected {
		t.Fatalf("%s: %v, not %v", what, found, expected)
	}
}

// A queue on virtual time, and the ticks of its timers.
func virtual(t *testing.T) (*Queue, *[]Tick, func(*Tick)) {
	queue := must(NewQueue(Virtual, QueueOptions{Label: "virtual"}))
	t.Cleanup(func() { queue.Close() })
	seen := new([]Tick)
	return queue, seen, func(tick *Tick) { *seen = append(*seen, *tick) }
}

func times(t *testing.T, seen []Tick, expected ...time.Duration) {
	t.Helper()
	expect(t, "ticks", len(seen), len(expected))
	for index, tick := range seen {
		expect(t, "scheduled", tick.Scheduled, expected[index])
	}
}

func TestARepeatingTimerHasItsGridAndCountsWhatItMissed(t *testing.T) {
	queue, seen, function := virtual(t)
	timer := must(queue.Every(10, function))
	must(0, queue.Advance(25))
	must(0, queue.Jump(30))
	must(0, queue.Advance(0))
	times(t, *seen, 10, 20, 50)
	expect(t, "missed", (*seen)[2].Missed, 2)
	expect(t, "now", must(queue.Now()), 55)
	expect(t, "next", must(timer.NextDeadline()), 60)
	expect(t, "left", must(timer.Remaining()), 5)
	expect(t, "the queue's next", must(queue.NextDeadline()), 60)
	info := must(timer.Info())
	expect(t, "info", info, TimerInfo{State: RunningState, Generation: (*seen)[0].Generation, Sequence: 3, NextDeadline: 60,
		Remaining: 5, Interval: 10, Missed: 2, HasSchedule: true})
	stats := must(queue.Stats())
	expect(t, "stats", [3]uint64{stats.Timers, stats.Ticks, stats.Missed}, [3]uint64{1, 3, 2})
}

func TestAnAdvanceWithoutEndIsRefused(t *testing.T) {
	queue, _, _ := virtual(t)
	ticks := 0
	must(queue.Every(time.Second, func(tick *Tick) {
		if ticks++; tick.Sequence == 5 {
			must(Borrow(tick.Timer).Cancel())
		}
	}))
	err := queue.Advance(Forever)
	expect(t, "refused", errors.Is(err, InvalidArgument) && strings.Contains(err.Error(), "an advance needs an end"), true)
	expect(t, "ticks", ticks, 0)
	for next := must(queue.NextDeadline()); next != Forever; next = must(queue.NextDeadline()) {
		must(0, queue.Advance(next-must(queue.Now())))
	}
	expect(t, "ticks to the end", ticks, 5)
}

func TestAnIdleTimeoutIsPostponed(t *testing.T) {
	queue, seen, function := virtual(t)
	timer := must(queue.After(100, function))
	must(0, queue.Advance(60))
	expect(t, "postpone", must(timer.Postpone(100)), OK)
	expect(t, "postpone until", must(timer.PostponeUntil(200)), OK)
	must(0, queue.Advance(139))
	times(t, *seen)
	must(0, queue.Advance(1))
	times(t, *seen, 200)
	expect(t, "too late", must(timer.Postpone(100)), Ignored)
}

func TestATimerIsSetAgainInAnyState(t *testing.T) {
	queue, seen, function := virtual(t)
	timer := must(queue.Create(TimerOptions{}, function))
	expect(t, "idle", must(timer.RestartAfter(10)), OK)
	expect(t, "running", must(timer.RestartAfter(5)), OK)
	must(0, queue.Advance(20))
	expect(t, "finished", must(timer.RestartUntil(30)), OK)
	must(timer.Suspend())
	expect(t, "suspended", must(timer.RestartUntil(25)), OK)
	must(0, queue.Advance(20))
	times(t, *seen, 5, 25)
	repeating := must(queue.Every(10, func(tick *Tick) {
		if function(tick); len(*seen) == 3 {
			expect(t, "in its function", must(Borrow(tick.Timer).RestartAfter(3)), Running)
		}
	}))
	must(0, queue.Advance(25))
	times(t, *seen, 5, 25, 50, 53, 63)
	remaining := must(queue.Start(Schedule{First: 5, ResumeRemaining: true}, TimerOptions{}, function))
	_, err := remaining.RestartUntil(100)
	expect(t, "a deadline, with what remains", errors.Is(err, InvalidArgument), true)
	expect(t, "release", must(repeating.Release()), OK)
	_, err = repeating.RestartAfter(1)
	expect(t, "released", errors.Is(err, InvalidHandle), true)
}

func TestSuspendAndResumeByEitherPolicy(t *testing.T) {
	for _, remaining := range []bool{false, true} {
		queue, seen, function := virtual(t)
		schedule := Schedule{First: 50, Interval: 50, ResumeRemaining: remaining}
		timer := must(queue.Start(schedule, TimerOptions{}, function))
		must(0, queue.Advance(20))
		expect(t, "suspend", must(timer.Suspend()), OK)
		expect(t, "again", must(timer.Suspend()), Ignored)
		expect(t, "state", timer.State(), SuspendedState)
		must(0, queue.Advance(100))
		expect(t, "resume", must(timer.Resume()), OK)
		must(0, queue.Advance(30))
		if remaining {
			expect(t, "actual", (*seen)[0].Actual, 150)
		} else {
			expect(t, "actual", (*seen)[0].Actual, 120)
		}
	}
}

func TestATimerIsCreatedIdleActivatedRestartedAndRescheduled(t *testing.T) {
	queue, seen, function := virtual(t)
	timer := must(queue.Create(TimerOptions{Label: "idle", Armed: true, Cancelled: true}, function))
	expect(t, "state", timer.State(), IdleState)
	if dump := must(queue.Dump()); !strings.Contains(dump, "idle") || must(timer.Explain()) == "" {
		t.Fatal(dump)
	}
	expect(t, "activate", must(timer.ActivateWith(Schedule{First: 10, Deadline: true})), OK)
	expect(t, "again", must(timer.Activate()), Ignored)
	must(0, queue.Advance(10))
	expect(t, "state", timer.State(), FinishedState)
	generation := must(timer.Generation())
	expect(t, "restart", must(timer.RestartWith(Schedule{First: 5})), OK)
	if must(timer.Generation()) == generation {
		t.Fatal("a restart without another generation")
	}
	expect(t, "reschedule", must(timer.Reschedule(Schedule{First: 7, Interval: 7, Limit: 2})), OK)
	must(0, queue.Advance(7))
	expect(t, "fire", must(timer.Fire()), OK)
	must(0, queue.Advance(0))
	expect(t, "cancel", must(timer.Cancel()), OK)
	must(0, queue.Advance(100))
	expected := []TickKind{Armed, Due, Armed, Due, Fired, Cancelled}
	expect(t, "ticks", len(*seen), len(expected))
	for index, kind := range expected {
		expect(t, "kind", (*seen)[index].Kind, kind)
	}
	expect(t, "restart", must(timer.Restart()), OK)
	expect(t, "cancel and wait", must(timer.CancelAndWait(Forever)), OK)
	expect(t, "release", must(timer.Release()), OK)
}

func TestAFunctionReachesItsOwnTimerAndSpacingIsNoGrid(t *testing.T) {
	queue, seen, function := virtual(t)
	schedule := Schedule{First: 10, Interval: 10, MissedDelay: true}
	must(queue.Start(schedule, TimerOptions{}, func(tick *Tick) {
		function(tick)
		must(0, queue.Jump(25)) // a slow function
		if tick.Sequence == 2 {
			expect(t, "cancel", must(Borrow(tick.Timer).Cancel()), Running)
		}
	}))
	must(0, queue.Advance(200))
	times(t, *seen, 10, 45)
}

// A timer that nobody holds ticks all the same, and is released behind its tick; so is its queue.
func TestATimerThatNobodyHolds(t *testing.T) {
	var ticks int32
	gone := make(chan int32, 1)
	func() {
		queue := must(NewQueue(Serial, QueueOptions{Label: "garbage"}))
		must(queue.After(200*time.Millisecond, func(*Tick) { atomic.AddInt32(&ticks, 1) },
			func() { gone <- atomic.LoadInt32(&ticks) }))
	}()
	for late := time.After(watchdog); ; {
		runtime.GC()
		select {
		case before := <-gone:
			expect(t, "ticks before it was released", before, 1)
			return
		case <-late:
			t.Fatal("still there after 30 s")
		case <-time.After(time.Millisecond):
		}
	}
}

func TestAnErrorSaysWhatWasWrong(t *testing.T) {
	queue, _, function := virtual(t)
	gone := 0
	_, err := queue.Every(0, function, func() { gone++ })
	if err == nil || !strings.Contains(err.Error(), "CHIME_ERROR_INVALID_ARGUMENT: interval_ns (0 ns)") {
		t.Fatal(err)
	}
	expect(t, "is", errors.Is(err, InvalidArgument), true)
	expect(t, "is not", errors.Is(err, InvalidHandle), false)
	expect(t, "what Chime has refused stays the caller's: gone", gone, 0)
	_, err = queue.Sync(0, func() {})
	expect(t, "sync on virtual time", errors.Is(err, Unsupported), true)
	_, err = NewQueue(Virtual, QueueOptions{RealtimePriority: 5})
	expect(t, "an option of another kind", errors.Is(err, InvalidArgument), true)
	_, err = queue.Start(Schedule{First: 10}, TimerOptions{Target: uint64(queue.ID())}, function)
	expect(t, "a target that is none", errors.Is(err, InvalidHandle), true)
	timer := must(queue.After(10, function, func() { gone++ }))
	expect(t, "close", must(queue.Shutdown(Forever)), OK)
	expect(t, "gone", gone, 1)
	_, err = timer.Suspend()
	expect(t, "suspend", errors.Is(err, InvalidHandle), true)
	if !strings.HasSuffix(err.Error(), "was released") {
		t.Error(err)
	}
	expect(t, "state", timer.State(), CancelledState)
}

// In whatever order: also where other timers have taken the places of those that ended with their queue.
func TestAProgramEndsInAnyOrder(t *testing.T) {
	queue, _, function := virtual(t)
	var timers []*Timer
	for count := 0; count < 1000; count++ {
		timers = append(timers, must(queue.After(10, function)))
	}
	released := timers[0]
	expect(t, "release", must(released.Release()), OK)
	_, err := released.Release()
	expect(t, "again", errors.Is(err, InvalidHandle), true)
	expect(t, "close", must(queue.Shutdown(Forever)), OK)
	expect(t, "again", must(queue.Shutdown(Forever)), Ignored)
	expect(t, "ended with its queue", must(timers[1].Release()), Ignored)
	expect(t, "the same", must(timers[2].ReleaseAndWait(Forever)), Ignored)
	for count := 0; count < 10; count++ {
		other, _, function := virtual(t)
		for count := 0; count < 1000; count++ {
			must(other.After(10, function))
		}
		other.Close()
	}
	for _, timer := range timers[3:] {
		expect(t, "still", must(timer.Release()), Ignored)
	}
}

func TestFunctionsRunOnTheQueueAndNeverEarly(t *testing.T) {
	queue := must(NewQueue(Serial, QueueOptions{}))
	defer queue.Close()
	ticks := make(chan Tick, 100)
	timer := must(queue.Start(Schedule{Interval: time.Millisecond}, TimerOptions{}, func(tick *Tick) {
		select {
		case ticks <- *tick:
		default:
		}
	}))
	for count := 0; count < 3; count++ {
		select {
		case tick := <-ticks:
			if tick.Actual < tick.Scheduled {
				t.Fatal(tick)
			}
		case <-time.After(watchdog):
			t.Fatal("no tick for 30 s")
		}
	}
	expect(t, "release and wait", must(timer.ReleaseAndWait(Forever)), OK)
	ran := 0
	expect(t, "sync", must(queue.Sync(Forever, func() { ran++ })), OK)
	inside, end := make(chan bool), make(chan bool)
	busy := must(queue.After(0, func(*Tick) { inside <- true; <-end }))
	<-inside
	timesOut(t, "sync", func(timeout time.Duration) (Status, error) { return queue.Sync(timeout, func() { ran++ }) })
	timesOut(t, "cancel and wait", busy.CancelAndWait)
	timesOut(t, "release and wait", busy.ReleaseAndWait)
	timesOut(t, "shutdown", queue.Shutdown)
	expect(t, "ran", ran, 1)
	end <- true
}

func timesOut(t *testing.T, what string, wait func(time.Duration) (Status, error)) {
	t.Helper()
	status, err := wait(time.Millisecond)
	expect(t, what, status, TimedOut)
	var timeout interface{ Timeout() bool }
	if !errors.Is(err, TimedOut) || !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Fatal(what, err)
	}
}

func TestAHostDrivenQueueRunsUntilItsTimersHaveFinishedOrItIsStopped(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	queue := must(NewQueue(Host, QueueOptions{Bound: true}))
	defer queue.Close()
	var due uint64
	schedule := Schedule{First: time.Millisecond, Interval: time.Millisecond, Limit: 3}
	must(queue.Start(schedule, TimerOptions{}, func(tick *Tick) { due += 1 + tick.Missed }))
	expect(t, "run", must(queue.Run()), OK)
	expect(t, "due", due, 3)
	must(0, queue.Once(0, func(*Tick) { must(queue.Stop()) }))
	expect(t, "run", must(queue.RunUntilStopped()), Stopped)
	expect(t, "process", must(queue.Process(0)), 0)
	expect(t, "run", must(queue.Run()), OK) // no stop is left over
	if must(queue.FD()) < 0 || must(Now(Monotonic)) <= 0 {
		t.Fatal("no descriptor, or no time")
	}
}

// On every kind of queue, in the function itself: an earlier call runs then, and the timer has been set again or not.
func TestStopAndResetSayWhetherTheyTookBackATickThoughTheFunctionRuns(t *testing.T) {
	for _, kind := range []Kind{Serial, Concurrent, Host, Precise, Virtual} {
		queue := must(NewQueue(kind, QueueOptions{}))
		type answers struct {
			stopped, reset bool
			status         [2]Status
		}
		seen := make(chan answers, 1)
		timer := must(queue.Create(TimerOptions{}, func(tick *Tick) {
			timer := Borrow(tick.Timer)
			var got answers
			got.status[0] = must(timer.Cancel())
			must(timer.RestartAfter(time.Hour))
			got.reset = timer.Reset(2*time.Hour) && !Borrow(0).Reset(1)
			got.stopped = timer.Stop() && !timer.Stop() && !timer.Reset(time.Hour) && timer.Stop()
			got.status[1] = must(timer.Suspend())
			seen <- got
		}))
		must(timer.RestartAfter(0))
		switch kind {
		case Host:
			must(queue.Run())
		case Virtual:
			must(0, queue.Advance(0))
		}
		select {
		case got := <-seen:
			expect(t, "answers", got, answers{true, true, [2]Status{Ignored | Running, Ignored | Running}})
		case <-time.After(watchdog):
			t.Fatal("no tick for 30 s")
		}
		must(0, queue.Close())
	}
}

// Near its deadline a timer is set again: its old tick comes, or Reset says that it took it back.
func TestResetSaysTrueOrTheOldTickComes(t *testing.T) {
	queue := must(NewQueue(Precise, QueueOptions{}))
	defer queue.Close()
	for round := 0; round < 5000; round++ {
		var ticks int32
		timer := must(queue.After(20*time.Microsecond, func(*Tick) { atomic.AddInt32(&ticks, 1) }))
		for begin := time.Now(); time.Since(begin) < time.Duration(round%500)*100*time.Nanosecond; {
		}
		reset := timer.Reset(time.Hour)
		must(timer.CancelAndWait(watchdog))
		expect(t, "ticks", atomic.LoadInt32(&ticks) == 0, reset)
		must(timer.Release())
	}
}

// A program that counts what is to come by these answers (a WaitGroup, say) must not count one tick twice.
func TestOfGoroutinesThatStopAndResetOneTakesATickBack(t *testing.T) {
	queue := must(NewQueue(Serial, QueueOptions{}))
	defer queue.Close()
	timer := must(queue.After(time.Hour, func(*Tick) {}))
	defer timer.Release()
	started, taken := int64(1), int64(0)
	var all sync.WaitGroup
	for index := 0; index < 4; index++ {
		again := index%2 == 0
		all.Add(1)
		go func() {
			defer all.Done()
			for round := 0; round < 20000; round++ {
				took := false
				if again {
					took = timer.Reset(time.Hour)
					atomic.AddInt64(&started, 1)
				} else if round%2 == 0 {
					took = timer.Stop()
				} else {
					status, err := timer.CancelAndWait(Forever)
					took = must(status, err)&Ignored == 0
				}
				if took {
					atomic.AddInt64(&taken, 1)
				}
			}
		}()
	}
	all.Wait()
	if timer.Stop() {
		taken++
	}
	expect(t, "taken back", taken, started)
}

// A Resume of another goroutine does not let the tick through that a Reset has taken back.
func TestAResumeComesBeforeAResetOrBehindIt(t *testing.T) {
	queue := must(NewQueue(Precise, QueueOptions{}))
	defer queue.Close()
	for round := 0; round < 2000; round++ {
		var ticks int32
		timer := must(queue.After(0, func(*Tick) { atomic.AddInt32(&ticks, 1) }))
		end := repeatedly(func() { timer.Resume() })
		reset := timer.Reset(time.Hour)
		must(timer.CancelAndWait(watchdog))
		end()
		expect(t, "ticks", atomic.LoadInt32(&ticks) == 0, reset)
		must(timer.Release())
	}
}

func TestATimerIsStoppedAndResetAsThoseOfTimeAre(t *testing.T) {
	queue := must(NewQueue(Virtual, QueueOptions{}))
	ticks := 0
	timer := must(queue.After(time.Second, func(*Tick) { ticks++ }))
	expect(t, "stop", timer.Stop(), true)
	expect(t, "stop again", timer.Stop(), false)
	expect(t, "reset", timer.Reset(time.Second), false)
	expect(t, "reset again", timer.Reset(2*time.Second), true)
	queue.Advance(time.Second)
	expect(t, "ticks", ticks, 0)
	queue.Advance(time.Second)
	expect(t, "ticks", ticks, 1)
	expect(t, "stop behind the tick", timer.Stop(), false)
	var closer io.Closer = queue
	same(t, "close", closer.Close(), nil)
	same(t, "close again", closer.Close(), nil)
	expect(t, "reset behind the end", timer.Reset(time.Second), false)
}

func TestATimerGivesItsSchedule(t *testing.T) {
	queue := must(NewQueue(Virtual, QueueOptions{}))
	defer queue.Close()
	timer := must(queue.Create(TimerOptions{Background: true}, func(*Tick) {}))
	expect(t, "none", must(timer.Schedule()) == nil, true)
	info := must(timer.Info())
	expect(t, "info", info.Background && !info.HasSchedule, true)
	same(t, "background", timer.SetBackground(false), nil)
	given := Schedule{First: 25, Interval: 25, Leeway: 5, Limit: 7, Jitter: 10}
	moved, faster, at := given, given, given
	moved.First, faster.First, at.First = 40, 40, 3
	faster.Interval, at.Interval, at.Deadline = 10, 10, true
	never := Schedule{First: Forever, ResumeRemaining: true, Interval: 1, MissedDelay: true}
	steps := []struct {
		call     func() (Status, error)
		schedule Schedule
	}{
		{func() (Status, error) { return timer.Reschedule(given) }, given},
		{func() (Status, error) { return timer.RestartAfter(40) }, moved},
		{func() (Status, error) { return timer.Postpone(100) }, moved},
		{func() (Status, error) { return timer.SetInterval(10) }, faster},
		{func() (Status, error) { return timer.RestartUntil(3) }, at},
		{func() (Status, error) { return timer.RestartWith(never) }, never},
		{timer.Cancel, never},
	}
	for number, step := range steps {
		expect(t, "status", must(step.call()), OK)
		if now := must(timer.Schedule()); *now != step.schedule {
			t.Error(number, *now)
		}
		info := must(timer.Info())
		expect(t, "info", !info.Background && info.HasSchedule && info.Jitter == step.schedule.Jitter, true)
	}
}

func TestAQueueListsItsTimersAndRunsUntilItHasCalledSomething(t *testing.T) {
	queue := must(NewQueue(Host, QueueOptions{}))
	defer queue.Close()
	expect(t, "run", must(queue.RunOnce()), Ignored)
	ticks, ids := 0, map[uint64]bool{}
	count := func(*Tick) { ticks++ }
	held := []*Timer{must(queue.After(0, count)), must(queue.After(Forever, count))}
	held = append(held, must(queue.Start(Schedule{First: time.Hour}, TimerOptions{Background: true}, count)))
	for more := 0; more < 20; more++ {
		same(t, "once", queue.Once(Forever, count), nil)
	}
	for _, timer := range must(queue.Timers()) {
		ids[timer.ID()] = true
	}
	expect(t, "timers", len(ids), 23)
	for _, timer := range held {
		expect(t, "held", ids[timer.ID()], true)
	}
	for all := 1; all <= 2; all++ {
		expect(t, "run", must(queue.RunOnce()), OK)
		expect(t, "ticks", ticks, all)
		if all == 1 {
			must(held[1].RestartAfter(5 * time.Millisecond)) // not before: on a slow machine both would be due at once
		}
	}
	expect(t, "run", must(queue.RunOnce()), Ignored)
}
