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
	fires  int  // accepted calls of Fire whose extra tick has not begun; more than 1: perhaps
	sure   bool // since the last of them neither an extra tick has begun, nor may one have been dropped: it is to come
	doubt  bool // an extra tick that was dropped may be on its way all the same
	ended  int  // Cancelled ticks to come
	going  bool // the timer was started, and its end has not been counted since
	last   bool // a Cancelled tick comes after the timer is at rest
	quiet  bool // which is none of the function's business
	gone   bool
	beside *beside // the queue's
}

// calls counts the calls of one sort that have begun, and those that have ended.
type calls struct{ begun, ended uint32 }

// begin counts a call, and gives what counts its end.
func (c *calls) begin() func() {
	atomic.AddUint32(&c.begun, 1)
	return func() { atomic.AddUint32(&c.ended, 1) }
}

// now reads the end first: where both are equal, there was a moment without such a call.
func (c *calls) now() calls {
	ended := atomic.LoadUint32(&c.ended)
	return calls{atomic.LoadUint32(&c.begun), ended}
}

func (c calls) underWay() bool { return c.begun != c.ended }

// beside are the calls on a queue's timers that whoever drives the queue may meet. The timers do not hold the queue by it.
type beside struct {
	resets   calls // inside one a timer that ran before, and will run behind, does not run for a moment: a Run that ends then goes on
	releases calls // each is inside the queue for as long as its function gone runs: who drives the queue waits for it
}

// unknown are those on timers that nobody holds, such as Once makes: which queue they are on, Go does not know.
var unknown beside

func (q *Queue) beside() *beside {
	if q == nil || q.inner == nil {
		return &unknown
	}
	return q.inner.beside
}

func (r *rest) besides() *beside {
	if r == nil || r.beside == nil {
		return &unknown
	}
	return r.beside
}

// The timers that somebody holds, by their ids, for Borrow.
var held sync.Map

// made is called when C has made the timer.
func (r *rest) made(id C.chime_timer_t) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.named(id)
	r.settle(-1)
}

// named is called with the timer's id when C has made it, or by its first tick, if that is sooner.
func (r *rest) named(id C.chime_timer_t) {
	if r.id == 0 && !r.gone {
		r.id = id
		held.Store(id, r)
		r.going = r.last && r.state() != C.CHIME_STATE_IDLE
	}
}

func (r *rest) state() C.chime_state {
	state := C.chime_state(C.CHIME_STATE_CANCELLED)
	C.chime_timer_state(r.id, &state)
	return state
}

// countEnd is called before whatever starts the timer, and before its Cancelled ticks are asked about: whoever cancels it, its
// target among them, brings one. Several can be to come at once.
func (r *rest) countEnd() {
	if r.going && r.state() == C.CHIME_STATE_CANCELLED {
		r.going = false
		r.ended++
	}
}

func (r *rest) forget() {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.gone, r.call = true, nil
	held.Delete(r.id)
}

func (r *rest) begin(id C.chime_timer_t, kind TickKind) func(*Tick) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.named(id)
	r.inside = true
	r.doubt = false
	if kind == Fired {
		r.sure = false
		if r.fires == 1 {
			r.fires = 0 // of several calls the last may have come when this tick was on its way: settle finds out
		}
	}
	if kind == Cancelled {
		r.countEnd()
		if r.ended > 0 {
			r.ended--
		}
	}
	if kind == Cancelled && r.quiet {
		return nil
	}
	return r.call
}

func (r *rest) end(kind TickKind) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.inside = false
	r.settle(kind)
}

// settle lets go of the function if the timer is at rest. kind: of the tick that has just ended; -1: none. Under the lock.
func (r *rest) settle(kind TickKind) {
	if r.call == nil || r.inside || r.gone {
		return
	}
	if r.fires > 1 && !r.sure && r.isAtRest() {
		r.findExtra(kind == -1)
	}
	info := C.chime_timer_info{size: C.sizeof_chime_timer_info}
	if C.chime_timer_get_info(r.id, &info) != C.CHIME_OK {
		return // it has been released: its finalizer comes
	}
	r.countEnd()
	if info.state == C.CHIME_STATE_FINISHED {
		r.going = false // its end brings no Cancelled tick any more
	}
	switch {
	case info.state == C.CHIME_STATE_RUNNING || info.state == C.CHIME_STATE_SUSPENDED:
	case r.fires > 0 && info.state != C.CHIME_STATE_CANCELLED:
	case r.ended > 0:
	case info.busy != 0 && kind == -1:
		// Its call has been claimed and is about to come, or has just left: only a moment later it is known which.
		time.AfterFunc(time.Millisecond, func() {
			r.lock.Lock()
			defer r.lock.Unlock()
			r.settle(-1)
		})
	default:
		r.call, r.fires = nil, 0
	}
}

func (r *rest) isAtRest() bool {
	state := r.state()
	return state != C.CHIME_STATE_RUNNING && state != C.CHIME_STATE_SUSPENDED
}

// isFired is whether an extra tick may be to come.
func (r *rest) isFired() bool {
	defer r.locked()()
	return r != nil && r.call != nil && r.fires > 0
}

// findExtra finds out whether a timer at rest has an extra tick to come, of which nothing else tells: a suspend drops it and
// says so; then it is requested again. doubt: another may be on its way.
func (r *rest) findExtra(doubt bool) {
	r.fires, r.sure, r.doubt = 0, false, doubt
	if Status(C.chime_timer_suspend(r.id)).tookEffect() && Status(C.chime_timer_fire(r.id)).tookEffect() {
		r.accepted()
	}
}

// accepted: an extra tick is to come.
func (r *rest) accepted() {
	r.fires++
	r.sure = true
	if r.doubt {
		r.fires = 2
	}
}

var errAtRest = &Error{Unsupported, "the timer is at rest, where only those who hold it have its function: start it by their Timer, " +
	"or in its function"}

// change makes a call that changes the timer's state. starts: the function is Chime's from before it on.
func (t *Timer) change(starts bool, call func(id C.chime_timer_t) C.chime_status) (Status, error) {
	r := t.rest()
	defer r.locked()()
	return t.changeIn(r, starts, call)
}

// locked locks, and gives what unlocks. A timer that Go does not know has nothing to lock.
func (r *rest) locked() func() {
	if r == nil {
		return func() {}
	}
	r.lock.Lock()
	return r.lock.Unlock
}

// changeIn is change, under the lock.
func (t *Timer) changeIn(r *rest, starts bool, call func(id C.chime_timer_t) C.chime_status) (Status, error) {
	if r == nil {
		return t.call(call)
	}
	if starts && r.call == nil && !r.gone {
		if t.function == nil {
			return Unsupported, errAtRest
		}
		r.call = *t.function
	}
	r.countEnd()
	status, err := t.call(call)
	if status.tookEffect() {
		r.fires, r.sure, r.doubt = 0, false, r.doubt || r.fires > 0 // the call has dropped the extra tick
		r.going = r.last && (starts || r.going)
	}
	r.countEnd()
	return status, err
}

// start makes a call that starts the timer.
func (t *Timer) start(call func(id C.chime_timer_t) C.chime_status) (Status, error) {
	status, err := t.change(true, call)
	if !status.tookEffect() {
		t.settle(false)
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
		r.accepted()
	} else {
		r.call = before
	}
	return status, err
}

// settle is called after a call that may have stopped the timer, or has failed to start it. mayDrop: it was made without the
// lock, and may have dropped the extra tick.
func (t *Timer) settle(mayDrop bool) {
	if r := t.rest(); r != nil {
		r.lock.Lock()
		defer r.lock.Unlock()
		if mayDrop && r.fires > 0 {
			r.fires, r.sure = 2, false
		}
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

// How many releases of garbage, each on a goroutine of its own, have begun and have ended.
var garbage calls

// collections are these goroutines: few at a time in C, since Go keeps each thread that it has made.
var collections = crowdOf(waitThreads)

// drive is enter, of a call that one thread at a time may make. A release, on another goroutine or of garbage, may be inside the
// queue: it is waited for; a second at most, since its function `gone` may wait for the caller.
func (q *Queue) drive(call func(id C.chime_queue_t) C.chime_go_answer) (C.chime_go_answer, Status, error) {
	known, others := &q.beside().releases, &unknown.releases
	for late := time.Now().Add(time.Second); ; time.Sleep(20 * time.Microsecond) {
		ended, othersEnded := known.now().ended, others.now().ended
		answer, status, err := q.enter(call)
		released := known.now().begun != ended || others.now().begun != othersEnded
		if status != Busy || !released || time.Now().After(late) {
			return answer, status, err
		}
	}
}

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
	for garbage.now().underWay() && time.Now().Before(late) {
		time.Sleep(20 * time.Microsecond)
	}
}
