// Package chime is Chime for Go: queues and timers with closures. Copy this directory into a module of yours.
//
// Chime owns a function from the call that takes it, and lets go of it once, after the last call; a function `gone` given
// behind it is called then. Functions run on the queue, on threads that Go did not make, one call of a timer at a time.
//
// Close queues, and Stop timers, like other resources. A timer that runs goes on if nobody holds it, as Go's own do, and
// holds its queue; what is garbage otherwise is released.
//
// Calls that make something return an error. Others return a Status, which says in one word what became of the call.
// What is missing here (targets, records, information) is called by its C names, with ID.
//
// A context is a cgo.Handle, a number that stands for a Go value: C must not keep Go pointers. In Go such a number is
// always a uintptr: as an unsafe.Pointer on a stack it ends the program ("invalid pointer found on stack") on the day that
// stack grows. So the C functions below cast, both ways, and no structure with a context in it lives in Go.
//
// A goroutine that makes a bound queue (CHIME_QUEUE_BOUND) must lock its thread first; these queues are not bound.
package chime

/*
#include <chime.h>
#include <stdlib.h>

extern void chimeGoTick(chime_tick *tick, uintptr_t context, uintptr_t target);
extern void chimeGoFunction(uintptr_t context);
extern void chimeGoGone(uintptr_t context);

static void on_tick(const chime_tick *tick, void *context) {
  chimeGoTick((chime_tick *)tick, (uintptr_t)context, (uintptr_t)tick->target);
}
static void on_function(void *context) { chimeGoFunction((uintptr_t)context); }
static void on_gone(void *context) { chimeGoGone((uintptr_t)context); }

static chime_status start(chime_queue_t queue, const char *label, chime_target_t target, int armed, int cancelled,
                          uintptr_t context, const chime_schedule *schedule, chime_timer_t *timer) {
  chime_timer_options options = CHIME_TIMER_OPTIONS_INIT;
  options.handler = on_tick;
  options.registration_handler = armed ? on_tick : NULL;
  options.cancel_handler = cancelled ? on_tick : NULL;
  options.context = (void *)context;
  options.finalizer = on_gone;
  options.label = label;
  options.target = target;
  return chime_timer_start(queue, &options, schedule, timer);
}
static chime_status after(chime_queue_t queue, int64_t delay_ns, uintptr_t context, chime_timer_t *timer) {
  return chime_timer_after(queue, delay_ns, on_tick, (void *)context, on_gone, timer);
}
static chime_status every(chime_queue_t queue, int64_t interval_ns, uintptr_t context, chime_timer_t *timer) {
  return chime_timer_every(queue, interval_ns, on_tick, (void *)context, on_gone, timer);
}
static chime_status async(chime_queue_t queue, uintptr_t context) {
  return chime_queue_async(queue, on_function, (void *)context, on_gone);
}
*/
import "C"

import (
	"runtime"
	"runtime/cgo"
	"time"
	"unsafe"
)

// Status is what a call answered.
type Status int32

// What is no failure.
const (
	OK       Status = C.CHIME_OK
	Ignored  Status = C.CHIME_IGNORED
	Running  Status = C.CHIME_RUNNING
	Stopped  Status = C.CHIME_STOPPED
	TimedOut Status = C.CHIME_TIMED_OUT
)

func (s Status) String() string { return C.GoString(C.chime_status_name(C.chime_status(s))) }

// Error is a call that failed, with Chime's sentence on the argument, if it has one for that status.
type Error struct {
	Status Status
	Detail string
}

func (e Error) Error() string {
	if e.Detail == "" {
		return e.Status.String()
	}
	return e.Status.String() + ": " + e.Detail
}

// Kind says where a queue's functions run.
type Kind int32

// Kinds of queues.
const (
	Serial     Kind = C.CHIME_QUEUE_SERIAL
	Concurrent Kind = C.CHIME_QUEUE_CONCURRENT
	Host       Kind = C.CHIME_QUEUE_HOST
	Precise    Kind = C.CHIME_QUEUE_PRECISE
	Virtual    Kind = C.CHIME_QUEUE_VIRTUAL
)

// Forever is a delay that does not end, and a timeout without limit.
const Forever time.Duration = 1<<63 - 1

// Tick is one call of a timer's function.
type Tick struct {
	Kind              int // CHIME_TICK_DUE and so on
	Sequence, Missed  uint64
	Scheduled, Actual time.Duration // since the zero of the queue's clock
	Target            uintptr       // the target's object; 0 without one
}

// Schedule says when a timer ticks. Zero is each member's default.
type Schedule struct {
	First           time.Duration // the delay of the first tick
	Interval        time.Duration // from then on; 0: only once
	Leeway          time.Duration
	Limit           uint64 // ticks; 0: no limit
	MissedDelay     bool   // CHIME_MISSED_DELAY
	ResumeRemaining bool   // CHIME_RESUME_REMAINING
}

// Options of a timer that Start makes.
type Options struct {
	Label     string // for Dump and Explain
	Target    uint64 // a target's id
	Armed     bool   // call the function for CHIME_TICK_ARMED,
	Cancelled bool   // and for CHIME_TICK_CANCELLED
}

// checked makes a call, and an Error of its failure. The sentence is kept for the thread, which a goroutine may leave
// between two calls.
func checked(call func() C.chime_status) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	status := call()
	switch status {
	case C.CHIME_ERROR_INVALID_ARGUMENT, C.CHIME_ERROR_UNSUPPORTED, C.CHIME_ERROR_RESOURCE, C.CHIME_ERROR_LIMIT:
		return Error{Status(status), C.GoString(C.chime_last_error_detail())}
	}
	if status < 0 {
		return Error{Status: Status(status)}
	}
	return nil
}

// The value behind a context. The function gets nil when it was put on a queue.
type callback struct {
	call func(*Tick)
	gone []func()
}

//export chimeGoTick
func chimeGoTick(tick *C.chime_tick, context, target C.uintptr_t) {
	cgo.Handle(context).Value().(callback).call(&Tick{Kind: int(tick.kind), Sequence: uint64(tick.sequence),
		Missed: uint64(tick.missed), Scheduled: time.Duration(tick.scheduled_ns), Actual: time.Duration(tick.actual_ns),
		Target: uintptr(target)})
}

//export chimeGoFunction
func chimeGoFunction(context C.uintptr_t) { cgo.Handle(context).Value().(callback).call(nil) }

//export chimeGoGone
func chimeGoGone(context C.uintptr_t) {
	gone := cgo.Handle(context).Value().(callback).gone
	cgo.Handle(context).Delete()
	for _, function := range gone {
		function()
	}
}

// pass gives a function to Chime, which has it from then on if the call succeeds.
func pass(function func(*Tick), gone []func(), call func(context C.uintptr_t) C.chime_status) error {
	context := cgo.NewHandle(callback{function, gone})
	err := checked(func() C.chime_status { return call(C.uintptr_t(context)) })
	if err != nil {
		context.Delete()
	}
	return err
}

// Has a C function write its text.
func text(write func(text *C.char, capacity C.uint64_t, length *C.uint64_t) C.chime_status) string {
	var length C.uint64_t
	if write(nil, 0, &length) != C.CHIME_OK {
		return ""
	}
	memory := (*C.char)(C.malloc(C.size_t(length) + 1))
	defer C.free(unsafe.Pointer(memory))
	if write(memory, length+1, nil) != C.CHIME_OK {
		return ""
	}
	return C.GoString(memory)
}

// Queue is a queue of one's own. Close it: what its functions use may go after that.
type Queue struct{ id C.chime_queue_t }

// Timer is a timer of one's own. Stop it when it is not wanted any more.
type Timer struct {
	id    C.chime_timer_t
	queue *Queue
}

// NewQueue makes a queue. The label, for Dump, may be empty.
func NewQueue(kind Kind, label string) (*Queue, error) {
	options := C.chime_queue_options{size: C.sizeof_chime_queue_options, label: C.CString(label)}
	defer C.free(unsafe.Pointer(options.label))
	queue := new(Queue)
	err := checked(func() C.chime_status {
		return C.chime_queue_create(C.chime_queue_kind(kind), &options, &queue.id)
	})
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(queue, func(q *Queue) { C.chime_queue_release(q.id) })
	return queue, nil
}

func (q *Queue) timer(function func(*Tick), gone []func(),
	call func(C.uintptr_t, *C.chime_timer_t) C.chime_status) (*Timer, error) {
	timer := &Timer{queue: q}
	err := pass(function, gone, func(context C.uintptr_t) C.chime_status { return call(context, &timer.id) })
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(timer, (*Timer).collect)
	return timer, nil
}

// Nobody holds the timer: if it runs, the next collection asks again.
func (t *Timer) collect() {
	if t.State() == C.CHIME_STATE_RUNNING {
		runtime.SetFinalizer(t, (*Timer).collect)
	} else {
		C.chime_timer_release(t.id)
	}
}

func (s Schedule) inC() C.chime_schedule {
	made := C.chime_schedule{size: C.sizeof_chime_schedule, first_ns: C.int64_t(s.First), interval_ns: C.int64_t(s.Interval),
		leeway_ns: C.int64_t(s.Leeway), tick_limit: C.uint64_t(s.Limit)}
	if s.MissedDelay {
		made.missed_policy = C.CHIME_MISSED_DELAY
	}
	if s.ResumeRemaining {
		made.resume_policy = C.CHIME_RESUME_REMAINING
	}
	return made
}

// Start makes a timer that runs.
func (q *Queue) Start(schedule Schedule, options Options, function func(*Tick), gone ...func()) (*Timer, error) {
	label, inC := C.CString(options.Label), schedule.inC()
	defer C.free(unsafe.Pointer(label))
	number := func(flag bool) C.int {
		if flag {
			return 1
		}
		return 0
	}
	return q.timer(function, gone, func(context C.uintptr_t, timer *C.chime_timer_t) C.chime_status {
		return C.start(q.id, label, C.chime_target_t(options.Target), number(options.Armed), number(options.Cancelled),
			context, &inC, timer)
	})
}

// After calls the function once.
func (q *Queue) After(delay time.Duration, function func(*Tick), gone ...func()) (*Timer, error) {
	return q.timer(function, gone, func(context C.uintptr_t, timer *C.chime_timer_t) C.chime_status {
		return C.after(q.id, C.int64_t(delay), context, timer)
	})
}

// Every calls the function again and again, for the first time one interval from now.
func (q *Queue) Every(interval time.Duration, function func(*Tick), gone ...func()) (*Timer, error) {
	return q.timer(function, gone, func(context C.uintptr_t, timer *C.chime_timer_t) C.chime_status {
		return C.every(q.id, C.int64_t(interval), context, timer)
	})
}

// Once calls the function once. Nobody holds the timer.
func (q *Queue) Once(delay time.Duration, function func(*Tick), gone ...func()) error {
	return pass(function, gone, func(context C.uintptr_t) C.chime_status {
		return C.after(q.id, C.int64_t(delay), context, nil)
	})
}

// Async runs the function on the queue as soon as possible.
func (q *Queue) Async(function func(), gone ...func()) error {
	return pass(func(*Tick) { function() }, gone, func(context C.uintptr_t) C.chime_status { return C.async(q.id, context) })
}

// Advance moves a virtual queue's time. The functions that are due run inside this call.
func (q *Queue) Advance(duration time.Duration) error {
	return checked(func() C.chime_status { return C.chime_queue_advance(q.id, C.int64_t(duration)) })
}

// Run drives a host-driven queue on this thread, until no timer is running.
func (q *Queue) Run() error {
	return checked(func() C.chime_status { return C.chime_queue_run(q.id, 0) })
}

// Process runs what is due on a host-driven queue, on this thread.
func (q *Queue) Process() error {
	return checked(func() C.chime_status { return C.chime_queue_process(q.id, 0, nil) })
}

// Dump is a line of text for the queue, and one for each timer.
func (q *Queue) Dump() string {
	return text(func(to *C.char, capacity C.uint64_t, length *C.uint64_t) C.chime_status {
		return C.chime_queue_dump(q.id, to, capacity, length)
	})
}

// ID is the queue's id, for C.
func (q *Queue) ID() uint64 { return uint64(q.id) }

// Close ends the queue and waits until none of its functions runs or will run.
func (q *Queue) Close() Status {
	runtime.SetFinalizer(q, nil)
	return Status(C.chime_queue_shutdown(q.id, C.CHIME_FOREVER))
}

// Activate starts a timer that is at rest, with the schedule that it had.
func (t *Timer) Activate() Status { return Status(C.chime_timer_activate(t.id, nil)) }

// Restart makes the timer run from now on, whatever its state.
func (t *Timer) Restart(schedule Schedule) Status {
	inC := schedule.inC()
	return Status(C.chime_timer_restart(t.id, &inC))
}

// Reschedule gives the timer another schedule.
func (t *Timer) Reschedule(schedule Schedule) Status {
	inC := schedule.inC()
	return Status(C.chime_timer_reschedule(t.id, &inC))
}

// Suspend holds ticks back until Resume.
func (t *Timer) Suspend() Status { return Status(C.chime_timer_suspend(t.id)) }

// Resume lets them through again.
func (t *Timer) Resume() Status { return Status(C.chime_timer_resume(t.id)) }

// Postpone moves the next tick to now + delay, if that is later. Ignored: the tick has started already.
func (t *Timer) Postpone(delay time.Duration) Status {
	return Status(C.chime_timer_postpone(t.id, C.int64_t(delay)))
}

// Fire requests an extra tick.
func (t *Timer) Fire() Status { return Status(C.chime_timer_fire(t.id)) }

// Cancel stops the timer; it may be activated again.
func (t *Timer) Cancel() Status { return Status(C.chime_timer_cancel(t.id)) }

// CancelAndWait cancels, and waits until the function has returned.
func (t *Timer) CancelAndWait(timeout time.Duration) Status {
	return Status(C.chime_timer_cancel_and_wait(t.id, C.int64_t(timeout)))
}

// Stop releases the timer: it is gone. (Cancel stops one that is to run again.)
func (t *Timer) Stop() Status {
	runtime.SetFinalizer(t, nil)
	return Status(C.chime_timer_release(t.id))
}

// State is CHIME_STATE_IDLE and so on; that of a released timer is cancelled.
func (t *Timer) State() int {
	state := C.chime_state(C.CHIME_STATE_CANCELLED)
	C.chime_timer_state(t.id, &state)
	return int(state)
}

// Explain says in a sentence why the timer does not fire.
func (t *Timer) Explain() string {
	return text(func(to *C.char, capacity C.uint64_t, length *C.uint64_t) C.chime_status {
		return C.chime_timer_explain(t.id, to, capacity, length)
	})
}

// ID is the timer's id, for C.
func (t *Timer) ID() uint64 { return uint64(t.id) }
