package chime

import (
	"context"
	"sync"
	"time"
)

// Channel is a timer whose ticks come on a channel, as those of time.Timer and time.Ticker: for a select. The channel holds one
// tick. One that comes before the last was received takes its place and counts it in Missed. What was not received is stale after
// Stop and Reset, and does not come any more, as from Go 1.23 on: `if !t.Stop() { <-t.C }` is not needed, and does no harm.
//
// Release it when it is not wanted any more. The channel is not closed, as that of time.Timer.
type Channel struct {
	C     <-chan *Tick
	timer *Timer
	inner *channel
}

type channel struct {
	changes sync.Mutex // one Stop or Reset at a time
	ticks   chan *Tick
}

// NewTimer makes a timer that ticks once, after the delay; one below 0 is 0, as in package time.
func (q *Queue) NewTimer(delay time.Duration) (*Channel, error) {
	return q.NewChannel(Schedule{First: orNow(delay)})
}

// NewTicker makes a timer that ticks again and again, for the first time one interval from now.
func (q *Queue) NewTicker(interval time.Duration) (*Channel, error) {
	if interval <= 0 {
		return nil, &Error{InvalidArgument, "the interval is not above 0"}
	}
	return q.NewChannel(Schedule{First: interval, Interval: interval})
}

// NewChannel makes a timer with that schedule.
func (q *Queue) NewChannel(schedule Schedule) (*Channel, error) {
	made := &channel{ticks: make(chan *Tick, 1)}
	timer, err := q.Start(schedule, TimerOptions{}, made.put)
	if err != nil {
		return nil, err
	}
	return &Channel{made.ticks, timer, made}, nil
}

// put is the timer's function. Only it puts ticks there, one at a time.
func (c *channel) put(tick *Tick) {
	if before := c.take(); before != nil {
		tick.Missed += before.Missed + 1
	}
	c.ticks <- tick
}

func (c *channel) take() *Tick {
	select {
	case tick := <-c.ticks:
		return tick
	default:
		return nil
	}
}

// Stop stops the timer: whether a tick will not come that would have come, or that was there to be received.
func (c *Channel) Stop() bool { return c.stopAnd(func() {}) }

// Reset makes the timer tick after that delay, and then by its interval if it has one, which Timer().SetInterval changes. A delay
// below 0 is 0. Its answer is Stop's.
func (c *Channel) Reset(delay time.Duration) bool {
	defer c.Timer().rest().besides().resets.begin()()
	return c.stopAnd(func() { c.timer.RestartAfter(orNow(delay)) })
}

// stopAnd waits for a put that is under way, which never waits, so that its tick is not stale later.
func (c *Channel) stopAnd(then func()) bool {
	if c == nil || c.inner == nil {
		return false
	}
	c.inner.changes.Lock()
	defer c.inner.changes.Unlock()
	status, _ := c.timer.Cancel()
	if status >= 0 && status&Running != 0 {
		c.timer.CancelAndWait(Forever)
	}
	had := c.inner.take() != nil
	then()
	return had || status.tookEffect()
}

// Timer has the other calls. What it changes leaves a tick on the channel that came before.
func (c *Channel) Timer() *Timer {
	if c == nil {
		return nil
	}
	return c.timer
}

// Release stops the timer and lets go of it. Nothing comes on the channel any more.
func (c *Channel) Release() (status Status, err error) {
	if c == nil || c.inner == nil {
		return InvalidHandle, errNoTimer
	}
	c.stopAnd(func() { status, err = c.timer.Release() }) // in one step, with no Reset in between
	return status, err
}

var errSleepInside = &Error{WouldDeadlock, "a function of the queue holds up the tick that it would wait for: start a timer, or sleep on " +
	"another queue"}

// Sleep waits for a time on the queue (none, if it is below 0), or for the end of the context, whose error it gives then; ShutDown: the queue has ended
// first. A virtual queue needs another goroutine that advances it. WouldDeadlock: a function of the queue itself has called it, which
// would hold up the tick that it waits for; on a Concurrent queue it may.
func (q *Queue) Sleep(ctx context.Context, delay time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if q != nil && q.inner != nil && q.inner.kind != Concurrent && q.isInside() {
		return errSleepInside
	}
	begin, err := q.Now()
	if err != nil {
		return err
	}
	until := sum(begin, orNow(delay))
	ticked, gone := make(chan struct{}), make(chan struct{})
	var once sync.Once // whoever lists the queue's timers may fire this one, or set it again
	timer, err := q.Start(Schedule{First: orNow(delay)}, TimerOptions{}, func(tick *Tick) {
		if tick.Kind == Due {
			once.Do(func() { close(ticked) })
		}
	}, func() { close(gone) })
	if err != nil {
		return err
	}
	defer timer.Release()
	alarm := q.alarm(delay)
	if alarm != nil {
		defer alarm.Stop()
	} else {
		alarm = new(time.Timer) // whose channel is nil
	}
	for {
		select {
		case <-ticked:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-alarm.C:
			now, err := q.Now()
			if err != nil {
				return &Error{ShutDown, ShutDown.Message()}
			}
			if now >= until {
				return nil
			}
			alarm.Reset(sum(until, -now)) // the Wall clock was set back
		case <-gone:
			select {
			case <-ticked:
				return nil
			default:
				return &Error{ShutDown, ShutDown.Message()}
			}
		}
	}
}

// alarm is a timer of Go's for a sleep in a function, on a queue of the pool: where so many functions sleep that all its threads are
// taken, none is left for the ticks that they wait for. Nil for other sleeps.
func (q *Queue) alarm(delay time.Duration) *time.Timer {
	if q.inner.kind != Serial && q.inner.kind != Concurrent || !insideFunction() {
		return nil
	}
	return time.NewTimer(orNow(delay))
}

// Deadline is a time as a point on the queue's clock: of a Wall clock that time of day, which follows its steps; of a virtual queue,
// whose clock begins at 1970, that date; of others now and the time until then. What is 292 years away is Forever, or the distant past.
func (q *Queue) Deadline(when time.Time) (time.Duration, error) {
	left := time.Until(when) // before the queue's clock is read: so the deadline is late by the time in between, and never early
	now, err := q.Now()
	switch {
	case err != nil:
		return 0, err
	case q.inner.kind == Virtual || q.inner.clock == Wall:
		return when.Sub(time.Unix(0, 0)), nil // which saturates, as UnixNano does not
	default:
		return sum(now, left), nil
	}
}

// sum saturates.
func sum(one, other time.Duration) time.Duration {
	switch all := one + other; {
	case one > 0 && other > 0 && all < 0:
		return Forever
	case one < 0 && other < 0 && all >= 0:
		return -Forever
	default:
		return all
	}
}

// Time is a point on the queue's clock, such as Tick.Scheduled and what NextDeadline gives, as a time; the zero Time for Forever.
func (q *Queue) Time(deadline time.Duration) (time.Time, error) {
	now, err := q.Now()
	switch {
	case err != nil || deadline == Forever:
		return time.Time{}, err
	case q.inner.kind == Virtual || q.inner.clock == Wall:
		return time.Unix(0, int64(deadline)), nil
	default:
		return time.Now().Add(sum(deadline, -now)), nil
	}
}

// At calls the function once, at that time.
func (q *Queue) At(when time.Time, function func(*Tick), gone ...func()) (*Timer, error) {
	deadline, err := q.Deadline(when)
	if err != nil {
		return nil, err
	}
	return q.Start(Schedule{First: deadline, Deadline: true}, TimerOptions{}, function, gone...)
}
