package chime

// #include "glue.h"
import "C"

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// rest is the function of a timer that somebody holds, as the table of contexts has it: while the timer runs or is suspended,
// while a call of it is under way, and while an extra or a Cancelled tick is to come. Of a timer at rest only its Timers have
// the function. So an object that holds its own timer, whose function it is, is garbage like any other circle. No part of such
// a circle has a finalizer, which would keep Go from collecting it: that is the inner timer's, which refers to none of it.
//
// The lock makes one step of a change of the timer's state and of what follows from it. No function is called under it.
type rest struct {
	lock   sync.Mutex
	call   func(*Tick) // nil: at rest
	id     C.chime_timer_t
	inside bool // a call of the function is under way
	fired  bool // an extra tick is to come
	last   bool // a Cancelled tick comes after the timer is at rest
	quiet  bool // which is none of the function's business
	gone   bool
}

// The timers that somebody holds, by their ids, for Borrow.
var held sync.Map

// made is called when C has made the timer.
func (r *rest) made(id C.chime_timer_t) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.gone {
		return
	}
	r.id = id
	held.Store(id, r)
	r.settle(-1)
}

func (r *rest) forget() {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.gone, r.call = true, nil
	held.Delete(r.id)
}

func (r *rest) begin(kind TickKind) func(*Tick) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.inside = true
	if kind == Fired {
		r.fired = false
	}
	if kind == Cancelled && r.quiet {
		return nil
	}
	return r.call
}

func (r *rest) end(id C.chime_timer_t, kind TickKind) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.inside = false
	if r.id == id {
		r.settle(kind)
	}
}

// settle lets go of the function if the timer is at rest. kind: of the tick that has just ended; -1: none. Under the lock.
func (r *rest) settle(kind TickKind) {
	if r.call == nil || r.inside || r.gone {
		return
	}
	info := C.chime_timer_info{size: C.sizeof_chime_timer_info}
	if C.chime_timer_get_info(r.id, &info) != C.CHIME_OK {
		return // it has been released: its finalizer comes
	}
	if info.state == C.CHIME_STATE_CANCELLED {
		r.fired = false
	}
	switch {
	case r.fired:
	case info.state == C.CHIME_STATE_RUNNING || info.state == C.CHIME_STATE_SUSPENDED:
	case info.state == C.CHIME_STATE_CANCELLED && r.last && kind != Cancelled:
	case info.busy != 0 && kind == -1:
		// Its call has been claimed and is about to come, or has just left: only a moment later it is known which.
		time.AfterFunc(time.Millisecond, func() {
			r.lock.Lock()
			defer r.lock.Unlock()
			r.settle(-1)
		})
	default:
		r.call = nil
	}
}

var errAtRest = &Error{Unsupported, "the timer is at rest, where only those who hold it have its function: start it by their Timer, " +
	"or in its function"}

// change makes a call that changes the timer's state. starts: the function is Chime's from before it on.
func (t *Timer) change(starts bool, call func(id C.chime_timer_t) C.chime_status) (Status, error) {
	r := t.rest()
	if r == nil {
		return t.call(call)
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	if starts && r.call == nil && !r.gone {
		if t.function == nil {
			return Unsupported, errAtRest
		}
		r.call = *t.function
	}
	status, err := t.call(call)
	if status.tookEffect() {
		r.fired = false // the call has dropped it
	}
	return status, err
}

// start makes a call that starts the timer.
func (t *Timer) start(call func(id C.chime_timer_t) C.chime_status) (Status, error) {
	status, err := t.change(true, call)
	if !status.tookEffect() {
		t.settle()
	}
	return status, err
}

func (t *Timer) fire() (Status, error) {
	call := func(id C.chime_timer_t) C.chime_status { return C.chime_timer_fire(id) }
	r := t.rest()
	if r == nil {
		return t.call(call)
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	before := r.call
	if r.call == nil && !r.gone {
		if t.function == nil {
			return Unsupported, errAtRest
		}
		r.call = *t.function
	}
	status, err := t.call(call)
	if status.tookEffect() {
		r.fired = true
	} else {
		r.call = before
	}
	return status, err
}

// settle is called after a call that may have stopped the timer, or has failed to start it.
func (t *Timer) settle() {
	if r := t.rest(); r != nil {
		r.lock.Lock()
		defer r.lock.Unlock()
		r.settle(-1)
	}
}

func (t *Timer) rest() *rest {
	if t == nil || t.inner == nil {
		return nil
	}
	if t.inner.rest == nil {
		if found, ok := held.Load(t.inner.id); ok {
			return found.(*rest)
		}
	}
	return t.inner.rest
}

// A queue's limit is there to count what can still tick. But only a collection finds the timers at rest that nobody holds.
var collecting sync.Mutex

// makesRoom is called at a queue's limit: whether a collection has found such timers of the queue. A program whose limit refuses
// what is too much, because that many run, must not pay for a collection each time.
func (q *Queue) makesRoom() bool {
	before, err := q.Stats()
	if err != nil || before.Timers == before.Running {
		return false
	}
	collecting.Lock()
	defer collecting.Unlock()
	if time.Now().Before(q.inner.nextCollection) {
		return false
	}
	for round := 0; round < 3; round++ {
		collectNow()
		if now, err := q.Stats(); err != nil || now.Timers < before.Timers {
			return err == nil
		}
	}
	q.inner.nextCollection = time.Now().Add(100 * time.Millisecond)
	return false
}

// How many releases of garbage are under way, each on a goroutine of its own.
var releasing int32

// collectNow returns when finalizers of what was garbage before have run, and their releases; or after a second, since a function
// `gone` may wait for the caller.
func collectNow() {
	ran := make(chan struct{})
	runtime.SetFinalizer(new([16]byte), func(*[16]byte) { close(ran) })
	runtime.GC()
	late := time.Now().Add(time.Second)
	select {
	case <-ran:
	case <-time.After(time.Second):
	}
	for atomic.LoadInt32(&releasing) > 0 && time.Now().Before(late) {
		time.Sleep(20 * time.Microsecond)
	}
}
