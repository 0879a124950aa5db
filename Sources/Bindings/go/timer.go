package chime

// #include "glue.h"
import "C"

import (
	"context"
	"runtime"
	"time"
)

// Timer is a timer of one's own. Release it when it is not wanted any more. Any goroutine may call its methods, and its own
// function. Copies are the same timer; a Timer that no queue has made answers InvalidHandle.
//
// Once the timer is at rest (idle, finished, cancelled) only its Timers hold its function, so an object that holds its own
// timer is collected then like any other circle; what starts the timer gives the function to Chime again.
//
// A function that names the variable of its own timer may run before the variable is assigned. In the function, write
// Borrow(tick.Timer).
type Timer struct {
	inner    *timer
	function *func(*Tick) // nil: borrowed
}

// The finalizer is of this one, which nobody outside can copy. It refers to nothing that may refer to it: see rest.
type timer struct {
	id    C.chime_timer_t
	queue *queue
	rest  *rest
}

// Borrow has the methods of a timer that somebody else owns: of tick.Timer, in its function. Release does nothing on it that
// the owner's would not do. A timer at rest has its function only with its owners: outside the function what would start it is
// Unsupported.
func Borrow(id uint64) *Timer { return &Timer{inner: &timer{id: C.chime_timer_t(id)}} }

var errNoTimer = &Error{InvalidHandle, "no queue has made this timer"}

// ID is the timer's id, for C. It is stale once the timer is released or collected: see runtime.KeepAlive. A timer at rest that
// C starts has no function to call.
func (t *Timer) ID() uint64 {
	if t == nil || t.inner == nil {
		return 0
	}
	return uint64(t.inner.id)
}

// collect: nobody holds the timer. If it runs, or an extra tick is to come, or its function runs, which may start it again, the
// next collection asks again.
func (t *timer) collect() {
	info := C.chime_timer_info{size: C.sizeof_chime_timer_info}
	unlock := t.rest.locked() // not within a Reset, which suspends
	status := C.chime_timer_get_info(t.id, &info)
	unlock()
	if status == C.CHIME_OK && (info.state == C.CHIME_STATE_RUNNING || info.busy != 0 || t.rest.isFired()) {
		if t.queue != nil && t.queue.driven {
			t.queue = nil // to run, the timer needs a program that drives its queue, and so holds it
		}
		runtime.SetFinalizer(t, (*timer).collect)
		return
	}
	// Functions may run inside the call: they must not hold up other finalizers.
	collected := garbage.begin()
	go func() {
		_, leave := collections.enter(Forever)
		ended := t.rest.besides().releases.begin()
		answer := C.chime_go_release(t.id)
		ended()
		leave()
		collected()
		raise(answer.raised)
	}()
}

// call makes a call with the timer, which is not collected until it has returned.
func (t *Timer) call(call func(id C.chime_timer_t) C.chime_status) (Status, error) {
	defer runtime.KeepAlive(t)
	return checked(func() C.chime_status { return call(C.chime_timer_t(t.ID())) })
}

// end makes a call that releases the timer, and raises the panic of a function that has run in it.
func (t *Timer) end(call func(id C.chime_timer_t) C.chime_go_answer) (Status, error) {
	if t.ID() == 0 { // with which C does nothing
		return InvalidHandle, errNoTimer
	}
	var answer C.chime_go_answer
	ended := t.rest().besides().releases.begin()
	status, err := t.call(func(id C.chime_timer_t) C.chime_status {
		answer = call(id)
		return answer.status
	})
	ended()
	if status != InvalidArgument {
		runtime.SetFinalizer(t.inner, nil)
		t.letGo()
	}
	raise(answer.raised)
	if status == InvalidHandle && t.queueHasEnded() {
		return Ignored, nil
	}
	return status, err
}

// letGo: nothing starts a released timer, so those who keep it keep no function. A call to come has it by rest.
func (t *Timer) letGo() {
	if t.function != nil {
		defer t.rest().locked()()
		*t.function = nil
	}
}

// queueHasEnded is asked where another timer may have taken the place of this one: then C knows no longer that it ended
// with its queue.
func (t *Timer) queueHasEnded() bool {
	if t == nil || t.inner == nil || t.inner.queue == nil {
		return false
	}
	var now C.int64_t
	return C.chime_queue_now(t.inner.queue.id, &now) == C.CHIME_ERROR_INVALID_HANDLE
}

// Activate starts a timer that is at rest, with the schedule that it has.
func (t *Timer) Activate() (Status, error) {
	return t.start(func(id C.chime_timer_t) C.chime_status { return C.chime_timer_activate(id, nil) })
}

// ActivateWith starts a timer that is at rest.
func (t *Timer) ActivateWith(schedule Schedule) (Status, error) {
	return t.start(func(id C.chime_timer_t) C.chime_status { return C.chime_timer_activate(id, schedule.inC()) })
}

// Restart makes the timer run from now on, whatever its state, with the schedule that it has.
func (t *Timer) Restart() (Status, error) {
	return t.start(func(id C.chime_timer_t) C.chime_status { return C.chime_timer_restart(id, nil) })
}

// RestartWith makes the timer run from now on, whatever its state.
func (t *Timer) RestartWith(schedule Schedule) (Status, error) {
	return t.start(func(id C.chime_timer_t) C.chime_status { return C.chime_timer_restart(id, schedule.inC()) })
}

// RestartAfter makes the timer run from now on, whatever its state, with its first tick after that delay; all else is as in
// the schedule that it has. This is the call to set a timer again.
func (t *Timer) RestartAfter(delay time.Duration) (Status, error) {
	return t.start(func(id C.chime_timer_t) C.chime_status { return C.chime_timer_restart_after(id, C.int64_t(delay)) })
}

// RestartUntil is RestartAfter, with the first tick at a point on the queue's clock. With Schedule.ResumeRemaining it is
// InvalidArgument.
func (t *Timer) RestartUntil(deadline time.Duration) (Status, error) {
	return t.start(func(id C.chime_timer_t) C.chime_status { return C.chime_timer_restart_until(id, C.int64_t(deadline)) })
}

// Reschedule gives the timer another schedule. The state stays.
func (t *Timer) Reschedule(schedule Schedule) (Status, error) {
	return t.change(false, func(id C.chime_timer_t) C.chime_status { return C.chime_timer_reschedule(id, schedule.inC()) })
}

// SetInterval changes the interval and nothing else: the next tick is due when it was. Leeway and Jitter are cut to what the new
// interval allows. Ignored: the timer ticks once.
func (t *Timer) SetInterval(interval time.Duration) (Status, error) {
	return t.call(func(id C.chime_timer_t) C.chime_status { return C.chime_timer_set_interval(id, C.int64_t(interval)) })
}

// SetBackground says whether Run returns although the timer is running.
func (t *Timer) SetBackground(background bool) error {
	on := C.int32_t(0)
	if background {
		on = 1
	}
	_, err := t.call(func(id C.chime_timer_t) C.chime_status { return C.chime_timer_set_background(id, on) })
	return err
}

// Suspend holds ticks back until Resume. Once it has returned, none starts.
func (t *Timer) Suspend() (Status, error) {
	return t.change(false, func(id C.chime_timer_t) C.chime_status { return C.chime_timer_suspend(id) })
}

// Resume lets them through again, as the schedule says.
func (t *Timer) Resume() (Status, error) {
	defer t.rest().locked()() // not within a Reset, which suspends
	return t.resume()
}

func (t *Timer) resume() (Status, error) {
	return t.call(func(id C.chime_timer_t) C.chime_status { return C.chime_timer_resume(id) })
}

// Postpone moves the next tick to now + delay, if that is later. Running: a call of the function has not returned. Ignored:
// the timer is not waiting for a tick, as when that of a one-shot has started.
func (t *Timer) Postpone(delay time.Duration) (Status, error) {
	return t.call(func(id C.chime_timer_t) C.chime_status { return C.chime_timer_postpone(id, C.int64_t(delay)) })
}

// PostponeUntil is Postpone, to a point on the queue's clock.
func (t *Timer) PostponeUntil(deadline time.Duration) (Status, error) {
	return t.call(func(id C.chime_timer_t) C.chime_status { return C.chime_timer_postpone_until(id, C.int64_t(deadline)) })
}

// Fire requests an extra tick, of kind Fired. It never runs inside this call.
func (t *Timer) Fire() (Status, error) {
	return t.fire()
}

// Cancel stops the timer. It may be activated again. Running: a function that had started has not returned, whatever the
// timer's state. Ignored: there was nothing to stop, because the last tick has started already.
func (t *Timer) Cancel() (Status, error) {
	defer t.settle(false)
	return t.change(false, func(id C.chime_timer_t) C.chime_status { return C.chime_timer_cancel(id) })
}

// Stop is Cancel for those who come from time.Timer: whether the call has stopped the timer, so that a tick will not come,
// whether or not an earlier call of the function still runs.
func (t *Timer) Stop() bool {
	status, _ := t.Cancel()
	return status.tookEffect()
}

// Reset is RestartAfter for those who come from time.Timer: whether it has taken back a tick, as Stop. A delay below 0 is 0, as
// there.
func (t *Timer) Reset(delay time.Duration) bool {
	delay = orNow(delay)
	status, was := t.reset(delay)
	if !status.tookEffect() {
		t.settle(false)
	}
	return was
}

// reset is one step for other goroutines: of two that Stop or Reset, only one takes a tick back.
func (t *Timer) reset(delay time.Duration) (Status, bool) {
	r := t.rest()
	defer r.besides().resets.begin()()
	defer r.locked()()
	// Suspending says in one step whether a tick was still to come. After a restart that would not be known.
	suspended, _ := t.changeIn(r, false, func(id C.chime_timer_t) C.chime_status { return C.chime_timer_suspend(id) })
	took := suspended.tookEffect()
	was := took || t.state() == SuspendedState
	status, err := t.changeIn(r, true, func(id C.chime_timer_t) C.chime_status {
		return C.chime_timer_restart_after(id, C.int64_t(delay))
	})
	if err != nil {
		if took {
			t.resume()
		}
		return status, false
	}
	return status, was
}

// orNow is a delay as package time takes it: that of a time.Until may be over.
func orNow(delay time.Duration) time.Duration {
	if delay < 0 {
		return 0
	}
	return delay
}

// CancelAndWait cancels, then waits until the function has returned. If that has started the timer again meanwhile, it is
// cancelled again. TimedOut, which is an error: it is cancelled, and its function runs.
func (t *Timer) CancelAndWait(timeout time.Duration) (Status, error) {
	return t.cancelAndWait(context.Background(), timeout)
}

func (t *Timer) cancelAndWait(ctx context.Context, timeout time.Duration) (Status, error) {
	defer t.settle(true)
	call := func(timeout time.Duration) (Status, error) {
		return t.call(func(id C.chime_timer_t) C.chime_status { return C.chime_timer_cancel_and_wait(id, C.int64_t(timeout)) })
	}
	if t.driven() {
		if err := ctx.Err(); err != nil {
			return over(err, call)
		}
		return call(timeout)
	}
	if timeout <= 0 || C.chime_go_is_inside() != 0 {
		return await(ctx, t.ID(), timeout, call)
	}
	// At once, whoever waits already; and mostly there is nothing to wait for.
	first, err := t.change(false, func(id C.chime_timer_t) C.chime_status { return C.chime_timer_cancel(id) })
	if err != nil || first&Running == 0 {
		return first, err
	}
	status, err := await(ctx, t.ID(), timeout, call)
	if status >= 0 && first&Ignored == 0 {
		status &^= Ignored
	}
	return status, err
}

// Release cancels the timer and lets go of it, and of its function after the last call. Ignored: its queue is closed, and
// the timer ended with it.
func (t *Timer) Release() (Status, error) {
	return t.end(func(id C.chime_timer_t) C.chime_go_answer { return C.chime_go_release(id) })
}

// ReleaseAndWait releases, then waits until the function has returned. TimedOut, which is an error: it is released, and its
// function runs.
func (t *Timer) ReleaseAndWait(timeout time.Duration) (Status, error) {
	if t.driven() {
		return t.releaseAndWait(timeout)
	}
	return await(context.Background(), t.ID(), timeout, t.releaseAndWait)
}

func (t *Timer) releaseAndWait(timeout time.Duration) (Status, error) {
	return t.end(func(id C.chime_timer_t) C.chime_go_answer {
		return C.chime_go_release_and_wait(id, C.int64_t(timeout))
	})
}

// State is the timer's state; that of a released timer is CancelledState.
func (t *Timer) State() State {
	defer t.rest().locked()() // not within a Reset, which suspends
	return t.state()
}

func (t *Timer) state() State {
	state := C.chime_state(C.CHIME_STATE_CANCELLED)
	C.chime_timer_state(C.chime_timer_t(t.ID()), &state)
	runtime.KeepAlive(t)
	return State(state)
}

// Generation changes with every accepted activate, restart, reschedule, suspend and cancel: compare Tick.Generation.
func (t *Timer) Generation() (uint64, error) {
	var generation C.uint64_t
	_, err := t.call(func(id C.chime_timer_t) C.chime_status { return C.chime_timer_generation(id, &generation) })
	return uint64(generation), err
}

// NextDeadline is on the queue's clock; Forever: the timer is not running.
func (t *Timer) NextDeadline() (time.Duration, error) {
	defer t.rest().locked()()
	var deadline C.int64_t
	_, err := t.call(func(id C.chime_timer_t) C.chime_status { return C.chime_timer_next_deadline(id, &deadline) })
	return time.Duration(deadline), err
}

// Remaining is the time until the next tick is due, 0 if it is due already; Forever: the timer is not running. Suspended with
// Schedule.ResumeRemaining: the time that was kept.
func (t *Timer) Remaining() (time.Duration, error) {
	defer t.rest().locked()()
	var remaining C.int64_t
	_, err := t.call(func(id C.chime_timer_t) C.chime_status { return C.chime_timer_remaining(id, &remaining) })
	return time.Duration(remaining), err
}

// Info is what the timer does, at one instant.
func (t *Timer) Info() (TimerInfo, error) {
	defer t.rest().locked()()
	inC := C.chime_timer_info{size: C.sizeof_chime_timer_info}
	_, err := t.call(func(id C.chime_timer_t) C.chime_status { return C.chime_timer_get_info(id, &inC) })
	return TimerInfo{
		State: State(inC.state), Generation: uint64(inC.generation), Sequence: uint64(inC.sequence),
		NextDeadline: time.Duration(inC.next_deadline_ns), Remaining: time.Duration(inC.remaining_ns),
		Interval: time.Duration(inC.interval_ns), Leeway: time.Duration(inC.leeway_ns), Limit: uint64(inC.tick_limit),
		DueCount: uint64(inC.due_count), Busy: inC.busy != 0, Missed: uint64(inC.missed),
		Jitter: time.Duration(inC.jitter_ns), Background: inC.background != 0, HasSchedule: inC.has_schedule != 0,
	}, err
}

// Schedule is the one it was given last, with what RestartAfter, RestartUntil and SetInterval have changed; nil: none yet. Where the
// timer is in it, and what Postpone did, is no part of it. A long Leeway may come back a little shorter, and the Limit of a timer
// that ticks once is 0.
func (t *Timer) Schedule() (*Schedule, error) {
	inC := C.chime_schedule{size: C.sizeof_chime_schedule}
	status, err := t.call(func(id C.chime_timer_t) C.chime_status { return C.chime_timer_get_schedule(id, &inC) })
	if err != nil || status&Ignored != 0 {
		return nil, err
	}
	schedule := scheduleOf(&inC)
	return &schedule, nil
}

// Explain says in a sentence why the timer does not fire.
func (t *Timer) Explain() (string, error) {
	defer runtime.KeepAlive(t)
	return text(func(to *C.char, capacity C.size_t, length *C.size_t) C.chime_status {
		return C.chime_timer_explain(C.chime_timer_t(t.ID()), to, capacity, length)
	})
}
