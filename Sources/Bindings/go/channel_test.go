package chime

import (
	"context"
	"errors"
	"testing"
	"time"
)

// received is the tick that is there, or nil.
func received(c *Channel) *Tick {
	select {
	case tick := <-c.C:
		return tick
	default:
		return nil
	}
}

func TestAChannelHasOneTickAndCountsTheOthers(t *testing.T) {
	queue := must(NewQueue(Virtual, QueueOptions{}))
	defer queue.Close()
	once, again := must(queue.NewTimer(10)), must(queue.NewTicker(10))
	expect(t, "early", received(once) == nil && received(again) == nil, true)
	must(0, queue.Advance(35))
	expect(t, "once", received(once).Scheduled, time.Duration(10))
	tick := received(again)
	expect(t, "again", tick.Scheduled == 30 && tick.Missed == 2 && tick.Sequence == 3, true)
	expect(t, "empty", received(once) == nil && received(again) == nil, true)
	must(0, queue.Advance(5))
	expect(t, "missed", received(again).Missed, uint64(0))
	if _, err := queue.NewTicker(0); !errors.Is(err, InvalidArgument) {
		t.Error(err)
	}
	limited := must(queue.NewChannel(Schedule{Interval: 1, Limit: 2}))
	must(0, queue.Advance(5))
	expect(t, "limit", received(limited).Sequence, uint64(2))
	expect(t, "state", limited.Timer().State(), FinishedState)
	must(limited.Release())
	var none *Channel
	expect(t, "none", none.Stop() || none.Reset(1) || (&Channel{}).Stop() || none.Timer() != nil, false)
}

func TestNothingThatIsStaleIsReceived(t *testing.T) {
	queue := must(NewQueue(Virtual, QueueOptions{}))
	defer queue.Close()
	timer := must(queue.NewTimer(10))
	steps := []struct {
		advance time.Duration // before
		call    func() bool
		was     bool
		then    time.Duration // when a tick comes within 100; -1: none does
	}{
		{5, timer.Stop, true, -1}, {0, timer.Stop, false, -1},
		{0, func() bool { return timer.Reset(10) }, false, 215}, {0, timer.Stop, false, -1},
		{0, func() bool { return timer.Reset(10) }, false, 415},
		{0, func() bool { timer.Timer().RestartAfter(10); queue.Advance(20); return timer.Stop() }, true, -1}, // was there to be received
		{0, func() bool { timer.Timer().RestartAfter(10); queue.Advance(20); return timer.Reset(3) }, true, 648},
		{0, func() bool { timer.Timer().RestartAfter(50); return timer.Reset(7) }, true, 752},
	}
	for number, step := range steps {
		must(0, queue.Advance(step.advance))
		expect(t, "was", step.call(), step.was)
		must(0, queue.Advance(100))
		then := time.Duration(-1)
		if tick := received(timer); tick != nil {
			then = tick.Scheduled
		}
		if then != step.then {
			t.Error(number, then)
		}
	}
}

// On queues that tick by themselves: after Stop nothing comes, however close it was, and Stop's answer says whether it had.
func TestStopAndTheTickDecideOnce(t *testing.T) {
	for _, kind := range []Kind{Serial, Concurrent, Precise} {
		queue := must(NewQueue(kind, QueueOptions{}))
		timer := must(queue.NewTimer(Forever))
		for round := 0; round < 2000; round++ {
			timer.Reset(time.Duration(round%50) * time.Microsecond)
			ticked := false
			for spin := 0; spin < round%40; spin++ {
				ticked = ticked || received(timer) != nil
			}
			stopped := timer.Stop()
			if stopped == ticked {
				t.Fatal(kind, round, stopped, ticked)
			}
			if received(timer) != nil {
				t.Fatal(kind, round, "stale")
			}
		}
		must(timer.Release())
		same(t, "close", queue.Close(), nil)
	}
}

func TestASleepEndsWithItsTimeItsContextOrItsQueue(t *testing.T) {
	for _, kind := range []Kind{Serial, Concurrent, Precise} {
		queue := must(NewQueue(kind, QueueOptions{}))
		begin := time.Now()
		same(t, "sleep", queue.Sleep(context.Background(), 2*time.Millisecond), nil)
		expect(t, "early", time.Since(begin) < 2*time.Millisecond, false)
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		expect(t, "context", errors.Is(queue.Sleep(ctx, Forever), context.DeadlineExceeded), true)
		expect(t, "context", errors.Is(queue.Sleep(ctx, 0), context.DeadlineExceeded), true)
		cancel()
		slept := make(chan error)
		go func() { slept <- queue.Sleep(context.Background(), Forever) }()
		for must(queue.Stats()).Running == 0 {
			time.Sleep(time.Millisecond)
		}
		same(t, "close", queue.Close(), nil)
		expect(t, "queue", errors.Is(<-slept, ShutDown), true)
		expect(t, "closed", errors.Is(queue.Sleep(context.Background(), 0), InvalidHandle), true)
	}
}

func TestATimerIsReleasedThoughTheContextEndsFirst(t *testing.T) {
	queue := must(NewQueue(Serial, QueueOptions{}))
	inside, goOn := make(chan struct{}), make(chan struct{})
	timer := must(queue.After(0, func(*Tick) { close(inside); <-goOn }))
	<-inside
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err := timer.ReleaseAndWaitContext(ctx)
	expect(t, "context", errors.Is(err, context.DeadlineExceeded), true)
	close(goOn)
	same(t, "close", queue.Close(), nil)
}

func TestTimesAreThoseOfTheQueuesClock(t *testing.T) {
	date := time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC)
	virtual := must(NewQueue(Virtual, QueueOptions{Start: time.Duration(date.UnixNano())}))
	defer virtual.Close()
	var seen time.Time
	must(virtual.At(date.Add(time.Hour), func(tick *Tick) { seen = must(virtual.Time(tick.Scheduled)) }))
	must(0, virtual.Advance(time.Hour))
	expect(t, "virtual", seen.Equal(date.Add(time.Hour)), true)
	expect(t, "never", must(virtual.Time(Forever)).IsZero(), true)
	for _, clock := range []Clock{Monotonic, Boottime, Wall} {
		queue := must(NewQueue(Serial, QueueOptions{Clock: clock}))
		when, ticks := time.Now().Add(5*time.Millisecond), make(chan time.Time, 1)
		must(queue.At(when, func(tick *Tick) { ticks <- must(queue.Time(tick.Scheduled)) }))
		scheduled := <-ticks
		expect(t, "early", time.Now().Before(when), false)
		if off := scheduled.Sub(when); off < -time.Second || off > time.Second {
			t.Error(clock, off)
		}
		same(t, "close", queue.Close(), nil)
	}
}

// The queue's clock and Go's are read one after the other, and the system may take the thread's processor in between.
func TestADeadlineIsNotBeforeItsTime(t *testing.T) {
	for _, clock := range []Clock{Monotonic, Boottime} {
		queue := must(NewQueue(Serial, QueueOptions{Clock: clock}))
		when := time.Now().Add(time.Hour)
		earliest, bound := Forever, -Forever
		for round := 0; round < 1000; round++ {
			if found := must(queue.Deadline(when)); found < earliest {
				earliest = found
			}
			now := must(queue.Now())
			if found := now + time.Until(when); found > bound { // before the point that it stands for
				bound = found
			}
		}
		if earliest < bound {
			t.Error("early by", bound-earliest)
		}
		expect(t, "the distant past", must(queue.Time(-Forever)).Before(time.Now()), true)
		same(t, "close", queue.Close(), nil)
	}
}

// A program that comes from package time waits for what a time.Until says.
func TestADelayThatIsOverIsNow(t *testing.T) {
	queue, seen, push := virtual(t)
	timer := must(queue.After(time.Hour, push))
	expect(t, "Reset", timer.Reset(-time.Hour), true)
	channel := must(queue.NewTimer(-1))
	slept := make(chan error)
	go func() { slept <- queue.Sleep(context.Background(), -1) }()
	for must(queue.Stats()).Timers < 3 {
		time.Sleep(time.Millisecond)
	}
	must(0, queue.Advance(0))
	times(t, *seen, 0)
	expect(t, "NewTimer", received(channel) != nil, true)
	must(0, <-slept)
	expect(t, "Reset of a channel", channel.Reset(-time.Hour), false)
	must(0, queue.Advance(0))
	expect(t, "its tick", received(channel) != nil, true)
	_, err := queue.After(-1, push)
	expect(t, "After, which can say so", errors.Is(err, InvalidArgument), true)
}

func TestATimeThatIsCenturiesAwayIsNeverOrNow(t *testing.T) {
	far, distant := time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC), time.Time{}
	for _, clock := range []Clock{Monotonic, Boottime, Wall} {
		queue := must(NewQueue(Serial, QueueOptions{Clock: clock}))
		for _, when := range []time.Time{far, far.AddDate(5000, 0, 0)} {
			timer := must(queue.At(when, func(*Tick) { t.Error("it has ticked", clock, when) }))
			expect(t, "deadline", must(timer.NextDeadline()), Forever)
		}
		ticked := make(chan struct{})
		must(queue.At(distant, func(*Tick) { close(ticked) }))
		<-ticked
		same(t, "close", queue.Close(), nil)
	}
	queue, seen, push := virtual(t)
	must(queue.At(distant, push))
	expect(t, "a virtual clock", must(queue.Deadline(far)), Forever)
	must(0, queue.Advance(0))
	expect(t, "ticks", len(*seen), 1)
}
