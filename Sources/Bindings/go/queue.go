package chime

/*
#include "glue.h"
#include <stdlib.h>
*/
import "C"

import (
	"context"
	"errors"
	"io"
	"runtime"
	"runtime/cgo"
	"sync/atomic"
	"time"
	"unsafe"
)

// Queue is a queue of one's own. Close it: what its functions use may go after that. Copies are the same queue; a Queue
// that NewQueue has not made answers InvalidHandle, except to Close, which does nothing.
type Queue struct{ inner *queue }

// The finalizer is of this one, which nobody outside can copy.
type queue struct {
	id     C.chime_queue_t
	driven bool // its functions run only inside calls of the program's
	kind   Kind
	clock  Clock
	// One for each goroutine that waits in C for this queue: each of them holds a thread of the process.
	waiting chan struct{}
	beside  *beside
	// At the limit: until then none is asked for, since the last one has found nothing. Under `collecting`.
	nextCollection time.Time
}

// syncThreads is how many threads may wait in C for one queue. Other goroutines wait in Go, which costs no thread.
const syncThreads = 32

// allSyncThreads is how many threads may wait in C for the turns of all queues together, because Go ends a process that has 10,000.
// Other goroutines wait in Go, as SyncContext does.
var allSyncThreads int32 = 1024

// inSync is how many goroutines wait in C for a queue's turn.
var inSync int32

// waitThreads is how many threads may wait in C for the function of one timer, or for a queue's end.
const waitThreads = 32

// NewQueue makes a queue.
func NewQueue(kind Kind, options QueueOptions) (*Queue, error) {
	label, err := cString(options.Label)
	if err != nil {
		return nil, err
	}
	defer C.free(unsafe.Pointer(label))
	inC := C.chime_queue_options{
		size: C.sizeof_chime_queue_options,
		flags: flag(options.HonourLeeway, C.CHIME_QUEUE_FLAG_HONOUR_LEEWAY) |
			flag(options.Bound, C.CHIME_QUEUE_FLAG_BOUND),
		label: label, clock: C.chime_clock(options.Clock), timer_limit: C.uint64_t(options.TimerLimit),
		start_ns: C.int64_t(options.Start), realtime_priority: C.int32_t(options.RealtimePriority),
		qos: C.chime_qos(options.Class), seed: C.uint64_t(options.Seed),
	}
	made := &queue{driven: kind == Host || kind == Virtual, kind: kind, clock: options.Clock, waiting: make(chan struct{}, syncThreads),
		beside: new(beside)}
	_, err = checked(func() C.chime_status {
		return C.chime_queue_create(C.chime_queue_kind(kind), &inC, &made.id)
	})
	if err != nil {
		return nil, err
	}
	// Functions may run inside the call: they must not hold up other finalizers.
	runtime.SetFinalizer(made, func(q *queue) {
		go func() {
			_, leave := collections.enter(Forever)
			answer := C.chime_go_queue_release(q.id)
			leave()
			raise(answer.raised)
		}()
	})
	return &Queue{made}, nil
}

// ID is the queue's id, for C. It is stale once the queue is closed or collected: see runtime.KeepAlive.
func (q *Queue) ID() uint64 {
	if q == nil || q.inner == nil {
		return 0
	}
	return uint64(q.inner.id)
}

// call makes a call with the queue, which is not collected until it has returned.
func (q *Queue) call(call func(id C.chime_queue_t) C.chime_status) (Status, error) {
	defer runtime.KeepAlive(q)
	return checked(func() C.chime_status { return call(C.chime_queue_t(q.ID())) })
}

// enter does so with a call that may run functions, and raises their panic.
func (q *Queue) enter(call func(id C.chime_queue_t) C.chime_go_answer) (C.chime_go_answer, Status, error) {
	var answer C.chime_go_answer
	status, err := q.call(func(id C.chime_queue_t) C.chime_status {
		answer = call(id)
		return answer.status
	})
	raise(answer.raised)
	return answer, status, err
}

// pass gives a function to Chime for this queue.
func (q *Queue) pass(function func(*Tick), gone []func(), call func(id C.chime_queue_t, context C.uintptr_t) C.chime_status) error {
	defer runtime.KeepAlive(q)
	return q.passCallback(&callback{call: function, gone: gone}, call)
}

func (q *Queue) passCallback(made *callback, call func(id C.chime_queue_t, context C.uintptr_t) C.chime_status) error {
	made.on = C.chime_queue_t(q.ID())
	if q != nil && q.inner != nil && !q.inner.driven {
		made.queue = q.inner
	}
	return pass(made, func(context C.uintptr_t) C.chime_status { return call(C.chime_queue_t(q.ID()), context) })
}

func (q *Queue) timer(function func(*Tick), gone []func(), options TimerOptions,
	call func(C.chime_queue_t, C.uintptr_t, *C.chime_timer_t) C.chime_status) (*Timer, error) {
	defer runtime.KeepAlive(q)
	if function == nil {
		return nil, errNil
	}
	told := options.Cancelled || options.Target != 0 // a target that goes cancels its timers
	made := &timer{rest: &rest{call: function, last: told, quiet: told && !options.Cancelled}}
	if q != nil && q.inner != nil {
		made.rest.beside = q.inner.beside
	}
	create := func() error {
		return q.passCallback(&callback{gone: gone, rest: made.rest}, func(id C.chime_queue_t, context C.uintptr_t) C.chime_status {
			return call(id, context, &made.id)
		})
	}
	err := create()
	for errors.Is(err, Limit) && q.makesRoom() {
		err = create()
	}
	if err != nil {
		return nil, err
	}
	made.queue = q.inner
	made.rest.made(made.id)
	runtime.SetFinalizer(made, (*timer).collect)
	return &Timer{made, &function}, nil
}

func (q *Queue) make(schedule *Schedule, options TimerOptions, function func(*Tick), gone []func()) (*Timer, error) {
	label, err := cString(options.Label)
	if err != nil {
		return nil, err
	}
	inC := schedule.inC()
	defer C.free(unsafe.Pointer(label))
	told := flag(options.Cancelled || options.Target != 0, 1)
	return q.timer(function, gone, options, func(id C.chime_queue_t, context C.uintptr_t, timer *C.chime_timer_t) C.chime_status {
		return C.chime_go_start(id, label, flag(options.Background, C.CHIME_TIMER_BACKGROUND),
			C.chime_target_t(options.Target), C.int(flag(options.Armed, 1)), C.int(told), context, inC, timer)
	})
}

// Start makes a timer that runs.
func (q *Queue) Start(schedule Schedule, options TimerOptions, function func(*Tick), gone ...func()) (*Timer, error) {
	return q.make(&schedule, options, function, gone)
}

// Create makes an idle timer: Activate or Restart gives it its schedule.
func (q *Queue) Create(options TimerOptions, function func(*Tick), gone ...func()) (*Timer, error) {
	return q.make(nil, options, function, gone)
}

// After calls the function once. A delay below 0 is InvalidArgument; At takes a time that is over.
func (q *Queue) After(delay time.Duration, function func(*Tick), gone ...func()) (*Timer, error) {
	return q.timer(function, gone, TimerOptions{}, func(id C.chime_queue_t, context C.uintptr_t, timer *C.chime_timer_t) C.chime_status {
		return C.chime_go_after(id, C.int64_t(delay), context, timer)
	})
}

// Every calls the function again and again, for the first time one interval from now.
func (q *Queue) Every(interval time.Duration, function func(*Tick), gone ...func()) (*Timer, error) {
	return q.timer(function, gone, TimerOptions{}, func(id C.chime_queue_t, context C.uintptr_t, timer *C.chime_timer_t) C.chime_status {
		return C.chime_go_every(id, C.int64_t(interval), context, timer)
	})
}

// Once calls the function once. Nobody holds the timer.
func (q *Queue) Once(delay time.Duration, function func(*Tick), gone ...func()) error {
	return q.pass(function, gone, func(id C.chime_queue_t, context C.uintptr_t) C.chime_status {
		return C.chime_go_after(id, C.int64_t(delay), context, nil)
	})
}

// Async runs the function on the queue as soon as possible.
func (q *Queue) Async(function func(), gone ...func()) error {
	if function == nil {
		return errNil
	}
	return q.pass(func(*Tick) { function() }, gone,
		func(id C.chime_queue_t, context C.uintptr_t) C.chime_status { return C.chime_go_async(id, context) })
}

// Sync runs the function in mutual exclusion with the queue's functions, and waits for it: the queue as a mutex. TimedOut, which
// is an error: it could not start in time, and will not run. Its panic comes out of Sync. Unsupported: the queue is Concurrent, or
// one that the program drives, and the caller is no function of it. Of the goroutines that wait for one queue, 32 wait
// in C (of those for all queues, 1,024), where each holds a thread; the others wait in Go.
func (q *Queue) Sync(timeout time.Duration, function func()) (Status, error) {
	if function == nil {
		return InvalidArgument, errNil
	}
	left, ok := q.enterSync(timeout)
	if !ok {
		return TimedOut, errNoTurn
	}
	defer left.leave()
	timeout = left.timeout
	if left.waiting != nil && timeout > 0 && (q.inner.kind == Serial || q.inner.kind == Precise) {
		if atomic.AddInt32(&inSync, 1) > allSyncThreads {
			atomic.AddInt32(&inSync, -1)
			return q.syncInGo(timeout, function)
		}
		defer atomic.AddInt32(&inSync, -1)
	}
	var panicked bool
	var value any
	context := cgo.NewHandle(&callback{on: C.chime_queue_t(q.ID()), call: func(*Tick) {
		var stack []byte
		if panicked, value, stack = attempt(function); panicked {
			trace(value, stack)
		}
	}})
	defer context.Delete()
	status, err := q.call(func(id C.chime_queue_t) C.chime_status {
		return C.chime_go_sync(id, C.uintptr_t(context), C.int64_t(timeout))
	})
	if panicked {
		panic(value)
	}
	if status == Unsupported && q.inner != nil {
		switch q.inner.kind {
		case Concurrent:
			err = &Error{status, "the functions of a Concurrent queue may overlap, so it is no lock: use a Serial queue, or a sync.Mutex"}
		case Host, Virtual:
			err = &Error{status, "this queue has no thread that could run the function: the goroutine that calls Run, Process or " +
				"Advance calls the function itself, between two of those calls; other goroutines give it to Async"}
		}
	}
	return status, err
}

// A crowd is goroutines of which so many at a time may be in C, where each holds a thread; the others wait in Go.
type crowd struct {
	inC   chan struct{}
	ended int64 // how many have come back
}

func crowdOf(most int32) *crowd { return &crowd{inC: make(chan struct{}, most)} }

// shutdowns wait for the ends of queues, of all together as many as of those in Sync.
var shutdowns = crowdOf(allSyncThreads)

func enterShutdown(timeout time.Duration) (left time.Duration, leave func()) {
	if timeout <= 0 || C.chime_go_is_inside() != 0 {
		return timeout, func() {}
	}
	return shutdowns.enter(timeout)
}

// enter waits in Go as long as there are so many in C, and gives what is left of the timeout. If none comes back for a
// second, those may be waiting for a function that waits for one of these, of which one goes on.
func (c *crowd) enter(timeout time.Duration) (left time.Duration, leave func()) {
	leave = func() { atomic.AddInt64(&c.ended, 1); <-c.inC }
	select {
	case c.inC <- struct{}{}:
		return timeout, leave
	default:
	}
	for begin := time.Now(); ; {
		ended, patience := atomic.LoadInt64(&c.ended), time.Second
		left = timeout
		if timeout != Forever {
			if left -= time.Since(begin); left <= 0 {
				return 0, func() {}
			}
			if left < patience {
				patience = left
			}
		}
		wake := time.NewTimer(patience)
		select {
		case c.inC <- struct{}{}:
			wake.Stop()
			if timeout != Forever {
				if left = timeout - time.Since(begin); left < 0 {
					left = 0
				}
			}
			return left, leave
		case <-wake.C:
			if patience == time.Second && atomic.CompareAndSwapInt64(&c.ended, ended, ended+1) {
				if timeout != Forever {
					left -= patience
				}
				return left, func() {}
			}
		}
	}
}

var errNoTurn = &Error{TimedOut, "the function will not run: it had no turn on the queue before the timeout ended"}

// syncTurn is a place among the goroutines that wait in C, and what is left of the timeout.
type syncTurn struct {
	waiting chan struct{}
	timeout time.Duration
}

func (turn syncTurn) leave() {
	if turn.waiting != nil {
		<-turn.waiting
	}
}

// enterSync waits for such a place. A function that Chime has called needs none: it holds its thread already, and those who
// have a place may be waiting for it.
func (q *Queue) enterSync(timeout time.Duration) (turn syncTurn, ok bool) {
	if q == nil || q.inner == nil || timeout < 0 || C.chime_go_is_inside() != 0 {
		return syncTurn{nil, timeout}, true
	}
	turn = syncTurn{q.inner.waiting, timeout}
	select {
	case turn.waiting <- struct{}{}:
		return turn, true
	default:
	}
	if timeout == Forever {
		turn.waiting <- struct{}{}
		return turn, true
	}
	begin, late := time.Now(), time.NewTimer(timeout)
	defer late.Stop()
	select {
	case turn.waiting <- struct{}{}:
		if turn.timeout -= time.Since(begin); turn.timeout < 0 {
			turn.timeout = 0
		}
		return turn, true
	case <-late.C:
		return syncTurn{}, false
	}
}

// Now is the time on the queue's clock.
func (q *Queue) Now() (time.Duration, error) {
	var now C.int64_t
	_, err := q.call(func(id C.chime_queue_t) C.chime_status { return C.chime_queue_now(id, &now) })
	return time.Duration(now), err
}

// Advance moves a virtual queue's time from deadline to deadline. The functions that are due run inside this call; if one
// of them panics, the others still run, and then the first panic comes out of Advance. Forever is refused, because a timer that
// repeats would tick for 292 years: to run until no timer is left, advance to NextDeadline as long as that is not Forever.
// Busy: another goroutine is advancing the queue.
func (q *Queue) Advance(duration time.Duration) error {
	_, _, err := q.drive(func(id C.chime_queue_t) C.chime_go_answer { return C.chime_go_advance(id, C.int64_t(duration)) })
	return err
}

// Jump moves a virtual queue's time and runs nothing, as a sleeping machine would.
func (q *Queue) Jump(duration time.Duration) error {
	_, err := q.call(func(id C.chime_queue_t) C.chime_status { return C.chime_queue_jump(id, C.int64_t(duration)) })
	return err
}

// FD is the descriptor of a host-driven queue, to poll: readable when Process has something to do.
func (q *Queue) FD() (int, error) {
	var fd C.chime_waitable
	_, err := q.call(func(id C.chime_queue_t) C.chime_status { return C.chime_queue_fd(id, &fd) })
	return int(fd), err
}

// Process runs what is due on a host-driven queue, on this thread (at most so many; 0: all); how many that were. 0, too,
// while another thread is inside the queue for a moment: the descriptor stays readable. If a function panics, the others still run, and then the first panic comes out of Process.
func (q *Queue) Process(most uint32) (int, error) {
	answer, status, err := q.enter(func(id C.chime_queue_t) C.chime_go_answer {
		return C.chime_go_process(id, C.uint32_t(most))
	})
	if status == Busy {
		return 0, nil
	}
	return int(answer.count), err
}

// Run drives a host-driven queue on this thread, until no timer is running. If a function panics, Run ends as by Stop, and
// the panic comes out of it.
func (q *Queue) Run() (Status, error) {
	return q.run(0, OK)
}

// run is a run that has this status when no timer is running. It goes on if that was so inside a Reset.
func (q *Queue) run(flags C.uint32_t, none Status) (Status, error) {
	for ; ; time.Sleep(20 * time.Microsecond) {
		before := q.beside().resets.now()
		_, status, err := q.drive(func(id C.chime_queue_t) C.chime_go_answer { return C.chime_go_run(id, flags) })
		if status != none || before == q.beside().resets.now() && !before.underWay() {
			return status, err
		}
	}
}

// RunUntilStopped drives a host-driven queue on this thread, until Stop, or until a function panics, as in Run.
func (q *Queue) RunUntilStopped() (Status, error) {
	_, status, err := q.drive(func(id C.chime_queue_t) C.chime_go_answer { return C.chime_go_run(id, C.CHIME_QUEUE_RUN_UNTIL_STOPPED) })
	return status, err
}

// RunOnce drives a host-driven queue on this thread, until something has been called: all that was due then. Ignored: nothing was,
// and no timer runs but background ones.
func (q *Queue) RunOnce() (Status, error) {
	return q.run(C.CHIME_QUEUE_RUN_ONCE, Ignored)
}

// Suspend holds all functions of the queue back until as many calls of Resume; time goes on. Running: one has not returned.
func (q *Queue) Suspend() (Status, error) {
	return q.call(func(id C.chime_queue_t) C.chime_status { return C.chime_queue_suspend(id) })
}

// Resume takes one Suspend back. Ignored: the queue is not suspended.
func (q *Queue) Resume() (Status, error) {
	return q.call(func(id C.chime_queue_t) C.chime_status { return C.chime_queue_resume(id) })
}

// Stop makes Run return.
func (q *Queue) Stop() (Status, error) {
	return q.call(func(id C.chime_queue_t) C.chime_status { return C.chime_queue_stop(id) })
}

// NextDeadline is when a host-driven or virtual queue next has something to do; Forever: never.
func (q *Queue) NextDeadline() (time.Duration, error) {
	var deadline C.int64_t
	_, err := q.call(func(id C.chime_queue_t) C.chime_status { return C.chime_queue_next_deadline(id, &deadline) })
	return time.Duration(deadline), err
}

// Stats is what the queue has done since it was made.
func (q *Queue) Stats() (QueueStats, error) {
	inC := C.chime_queue_stats{size: C.sizeof_chime_queue_stats}
	_, err := q.call(func(id C.chime_queue_t) C.chime_status { return C.chime_queue_get_stats(id, &inC) })
	stats := QueueStats{
		Timers: uint64(inC.timers), Running: uint64(inC.running), Entries: uint64(inC.entries), Passes: uint64(inC.passes),
		EmptyPasses: uint64(inC.empty_passes), Ticks: uint64(inC.ticks), Missed: uint64(inC.missed), Stale: uint64(inC.stale),
		Merged: uint64(inC.merged),
	}
	for index := range stats.Lateness {
		stats.Lateness[index] = uint64(inC.lateness[index])
	}
	return stats, err
}

// Timers are those of the queue that have not been released, borrowed, those that nobody holds among them. Of these a collection
// releases one that is suspended.
func (q *Queue) Timers() ([]*Timer, error) {
	ids, count := make([]C.chime_timer_t, 8), C.size_t(0)
	for {
		_, err := q.call(func(id C.chime_queue_t) C.chime_status {
			return C.chime_queue_list_timers(id, &ids[0], C.size_t(len(ids)), &count)
		})
		if err != nil {
			return nil, err
		}
		if int(count) <= len(ids) {
			break
		}
		ids = make([]C.chime_timer_t, count+8)
	}
	timers := make([]*Timer, count)
	for index := range timers {
		timers[index] = Borrow(uint64(ids[index]))
	}
	return timers, nil
}

// Dump is a line of text for the queue, and one for each timer.
func (q *Queue) Dump() (string, error) {
	defer runtime.KeepAlive(q)
	return text(func(to *C.char, capacity C.size_t, length *C.size_t) C.chime_status {
		return C.chime_queue_dump(C.chime_queue_t(q.ID()), to, capacity, length)
	})
}

// Close ends the queue and its timers, and waits until none of their functions runs or will run. Inside one of them it does
// not wait, and says so by WouldDeadlock. What is left to call (functions gone, Cancelled ticks) may run inside it. Twice does
// nothing. A Queue is an io.Closer.
func (q *Queue) Close() error {
	if q.ID() == 0 {
		return nil
	}
	_, err := q.Shutdown(Forever)
	return err
}

var _ io.Closer = (*Queue)(nil)

// Shutdown is Close, with a timeout. Ignored: the queue has ended already. TimedOut, which is an error: it is closed, and a
// function of it runs.
func (q *Queue) Shutdown(timeout time.Duration) (Status, error) {
	return q.shutDown(context.Background(), timeout)
}

var errNoQueue = &Error{InvalidHandle, "NewQueue has not made this queue"}

func (q *Queue) shutDown(ctx context.Context, timeout time.Duration) (Status, error) {
	if q.ID() == 0 { // with which C does nothing
		return InvalidHandle, errNoQueue
	}
	call := func(timeout time.Duration) (Status, error) {
		timeout, leave := enterShutdown(timeout)
		defer leave()
		_, status, err := q.enter(func(id C.chime_queue_t) C.chime_go_answer {
			return C.chime_go_shutdown(id, C.int64_t(timeout))
		})
		if status != InvalidArgument {
			runtime.SetFinalizer(q.inner, nil)
		}
		return status, err
	}
	if q.inner.driven {
		return call(timeout)
	}
	return await(ctx, q.ID(), timeout, call)
}
