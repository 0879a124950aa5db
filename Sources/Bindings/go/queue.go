package chime

/*
#include "glue.h"
#include <stdlib.h>
*/
import "C"

import (
	"runtime"
	"time"
	"unsafe"
)

// Queue is a queue of one's own. Close it: what its functions use may go after that.
type Queue struct{ id C.chime_queue_t }

// NewQueue makes a queue.
func NewQueue(kind Kind, options QueueOptions) (*Queue, error) {
	label := C.CString(options.Label)
	defer C.free(unsafe.Pointer(label))
	inC := C.chime_queue_options{
		size: C.sizeof_chime_queue_options,
		flags: flag(options.HonourLeeway, C.CHIME_QUEUE_HONOUR_LEEWAY) |
			flag(options.Bound, C.CHIME_QUEUE_BOUND),
		label: label, clock: C.chime_clock(options.Clock), timer_limit: C.uint64_t(options.TimerLimit),
		start_ns: C.int64_t(options.Start), affinity: C.uint64_t(options.Affinity),
		realtime_priority: C.int32_t(options.RealtimePriority),
	}
	queue := new(Queue)
	_, err := checked(func() C.chime_status {
		return C.chime_queue_create(C.chime_queue_kind(kind), &inC, &queue.id)
	})
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(queue, func(q *Queue) { C.chime_queue_release(q.id) })
	return queue, nil
}

// ID is the queue's id, for C.
func (q *Queue) ID() uint64 { return uint64(q.id) }

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

func (q *Queue) make(schedule *Schedule, options TimerOptions, function func(*Tick), gone []func()) (*Timer, error) {
	label, inC := C.CString(options.Label), schedule.inC()
	defer C.free(unsafe.Pointer(label))
	return q.timer(function, gone, func(context C.uintptr_t, timer *C.chime_timer_t) C.chime_status {
		return C.chime_go_start(q.id, label, flag(options.Background, C.CHIME_TIMER_BACKGROUND),
			C.chime_target_t(options.Target), C.int(flag(options.Armed, 1)), C.int(flag(options.Cancelled, 1)), context,
			inC, timer)
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

// After calls the function once.
func (q *Queue) After(delay time.Duration, function func(*Tick), gone ...func()) (*Timer, error) {
	return q.timer(function, gone, func(context C.uintptr_t, timer *C.chime_timer_t) C.chime_status {
		return C.chime_go_after(q.id, C.int64_t(delay), context, timer)
	})
}

// Every calls the function again and again, for the first time one interval from now.
func (q *Queue) Every(interval time.Duration, function func(*Tick), gone ...func()) (*Timer, error) {
	return q.AfterEvery(interval, interval, function, gone...)
}

// AfterEvery calls the function again and again, for the first time after a delay of its own.
func (q *Queue) AfterEvery(first, interval time.Duration, function func(*Tick), gone ...func()) (*Timer, error) {
	return q.timer(function, gone, func(context C.uintptr_t, timer *C.chime_timer_t) C.chime_status {
		return C.chime_go_every(q.id, C.int64_t(first), C.int64_t(interval), context, timer)
	})
}

// Once calls the function once. Nobody holds the timer.
func (q *Queue) Once(delay time.Duration, function func(*Tick), gone ...func()) error {
	return pass(function, gone, func(context C.uintptr_t) C.chime_status {
		return C.chime_go_after(q.id, C.int64_t(delay), context, nil)
	})
}

// Async runs the function on the queue as soon as possible.
func (q *Queue) Async(function func(), gone ...func()) error {
	return pass(func(*Tick) { function() }, gone,
		func(context C.uintptr_t) C.chime_status { return C.chime_go_async(q.id, context) })
}

// Sync runs the function in mutual exclusion with the queue's functions, and waits for it: the queue as a mutex. TimedOut:
// it could not start in time, and will not run.
func (q *Queue) Sync(timeout time.Duration, function func()) (status Status, err error) {
	context := newContext(func(*Tick) { function() })
	defer context.Delete()
	return checked(func() C.chime_status { return C.chime_go_sync(q.id, C.uintptr_t(context), C.int64_t(timeout)) })
}

// Now is the time on the queue's clock.
func (q *Queue) Now() (time.Duration, error) {
	var now C.int64_t
	_, err := checked(func() C.chime_status { return C.chime_queue_now(q.id, &now) })
	return time.Duration(now), err
}

// Advance moves a virtual queue's time from deadline to deadline. The functions that are due run inside this call.
func (q *Queue) Advance(duration time.Duration) error {
	_, err := checked(func() C.chime_status { return C.chime_queue_advance(q.id, C.int64_t(duration)) })
	return err
}

// AdvanceTo is Advance, up to a point in time.
func (q *Queue) AdvanceTo(deadline time.Duration) error {
	_, err := checked(func() C.chime_status { return C.chime_queue_advance_to(q.id, C.int64_t(deadline)) })
	return err
}

// Jump moves a virtual queue's time and runs nothing, as a sleeping machine would.
func (q *Queue) Jump(duration time.Duration) error {
	_, err := checked(func() C.chime_status { return C.chime_queue_jump(q.id, C.int64_t(duration)) })
	return err
}

// FD is the descriptor of a host-driven queue, to poll: readable when Process has something to do.
func (q *Queue) FD() (int, error) {
	var fd C.int32_t
	_, err := checked(func() C.chime_status { return C.chime_queue_fd(q.id, &fd) })
	return int(fd), err
}

// Process runs what is due on a host-driven queue, on this thread (at most so many; 0: all); how many that were. 0, too,
// while another thread is inside the queue for a moment: the descriptor stays readable.
func (q *Queue) Process(most uint32) (int, error) {
	var count C.uint32_t
	status, err := checked(func() C.chime_status { return C.chime_queue_process(q.id, C.uint32_t(most), &count) })
	if status == Busy {
		return 0, nil
	}
	return int(count), err
}

// Run drives a host-driven queue on this thread, until no timer is running.
func (q *Queue) Run() (Status, error) {
	return checked(func() C.chime_status { return C.chime_queue_run(q.id, 0) })
}

// RunUntilStopped drives a host-driven queue on this thread, until Stop.
func (q *Queue) RunUntilStopped() (Status, error) {
	return checked(func() C.chime_status { return C.chime_queue_run(q.id, C.CHIME_RUN_UNTIL_STOPPED) })
}

// Stop makes Run or Wait return.
func (q *Queue) Stop() (Status, error) {
	return checked(func() C.chime_status { return C.chime_queue_stop(q.id) })
}

// Wait waits until something is due on a host-driven queue. It runs nothing.
func (q *Queue) Wait(timeout time.Duration) (Status, error) {
	return checked(func() C.chime_status { return C.chime_queue_wait(q.id, C.int64_t(timeout)) })
}

// NextDeadline is when a host-driven or virtual queue next has something to do; Forever: never.
func (q *Queue) NextDeadline() (time.Duration, error) {
	var deadline C.int64_t
	_, err := checked(func() C.chime_status { return C.chime_queue_next_deadline(q.id, &deadline) })
	return time.Duration(deadline), err
}

// Stats is what the queue has done since it was made.
func (q *Queue) Stats() (QueueStats, error) {
	inC := C.chime_queue_stats{size: C.sizeof_chime_queue_stats}
	_, err := checked(func() C.chime_status { return C.chime_queue_get_stats(q.id, &inC) })
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

// Dump is a line of text for the queue, and one for each timer.
func (q *Queue) Dump() (string, error) {
	return text(func(to *C.char, capacity C.uint64_t, length *C.uint64_t) C.chime_status {
		return C.chime_queue_dump(q.id, to, capacity, length)
	})
}

// Close ends the queue and its timers, and waits until none of their functions runs or will run. Inside one of them it does
// not wait, and says so by WouldDeadlock.
func (q *Queue) Close() (Status, error) { return q.Shutdown(Forever) }

// Shutdown is Close, with a timeout.
func (q *Queue) Shutdown(timeout time.Duration) (Status, error) {
	runtime.SetFinalizer(q, nil)
	return checked(func() C.chime_status { return C.chime_queue_shutdown(q.id, C.int64_t(timeout)) })
}
