// Package chime is Chime for Go: timers that may be used in any order and from any thread, do not fire early and do not
// drift.
//
//	queue, err := chime.NewQueue(chime.Serial, chime.QueueOptions{Label: "sessions"})
//	idle, err := queue.After(30*time.Second, func(tick *chime.Tick) { log.Print("idle") })
//	idle.Postpone(30 * time.Second) // at each sign of life
//
// It links libchime, which pkg-config has to find: an installed one, or an unpacked release's by PKG_CONFIG_PATH. With
// -tags chime_static the archive libchime.a becomes part of the program.
//
// Chime owns a function from the call that takes it, and lets go of it when its timer is at rest, or after the last call; a
// function `gone` given behind it is called once, when the timer is gone. Functions run on the queue, on threads that Go did not make, one call of a timer at a time.
//
// A panic in a function that runs inside a call (Advance, Process, Run, Sync, Close, Release) comes out of that call, and
// may be recovered there; the trace of where it began is printed to standard error. On a thread of Chime's it ends the
// process. runtime.Goexit in a function, and so t.Fatal, t.FailNow and t.Skip, ends the process wherever the function runs.
//
// Close queues, and Release timers, like other resources. A timer that runs goes on if nobody holds it, as Go's own do, and
// holds its queue; what is garbage otherwise is released.
//
// Calls answer a Status, and an error with Chime's sentence on what was wrong. Ignored and Running are no errors; they may come
// together, so ask for one of them by status&chime.Running != 0. What is
// missing here (targets, tick records) is called by its C names, with ID.
//
// A goroutine that makes a bound queue must lock its thread first (runtime.LockOSThread).
package chime

/*
#include <chime.h>
#include <stdlib.h>
*/
import "C"

import (
	"runtime"
	"time"
	"unsafe"
)

// Status is what a call answered. Below zero it is a failure's; otherwise a set of bits, none of which a failure has.
type Status int32

// What is no failure: OK, or some of these bits. Ignored|Running: nothing was changed, while a function runs.
const (
	OK      Status = C.CHIME_OK      // it took effect, and no function runs
	Ignored Status = C.CHIME_IGNORED // it means nothing in this state, and changed nothing: there was no tick to take back
	Running Status = C.CHIME_RUNNING // a function that had started has not returned yet: what it uses is still in use
	Stopped Status = C.CHIME_STOPPED // of Run: a stop was requested
)

// Failures that a program may want to tell apart: errors.Is(err, chime.InvalidHandle).
const (
	InvalidArgument Status = C.CHIME_ERROR_INVALID_ARGUMENT
	InvalidHandle   Status = C.CHIME_ERROR_INVALID_HANDLE
	Limit           Status = C.CHIME_ERROR_LIMIT
	NoMemory        Status = C.CHIME_ERROR_NO_MEMORY
	WouldDeadlock   Status = C.CHIME_ERROR_WOULD_DEADLOCK
	Busy            Status = C.CHIME_ERROR_BUSY
	WrongThread     Status = C.CHIME_ERROR_WRONG_THREAD
	TargetGone      Status = C.CHIME_ERROR_TARGET_GONE
	ShutDown        Status = C.CHIME_ERROR_SHUT_DOWN
	Unsupported     Status = C.CHIME_ERROR_UNSUPPORTED
	Permission      Status = C.CHIME_ERROR_PERMISSION
	Resource        Status = C.CHIME_ERROR_RESOURCE
	Forked          Status = C.CHIME_ERROR_FORKED
	TimedOut        Status = C.CHIME_ERROR_TIMED_OUT // the timeout ended first; whatever else the call does is in effect
)

// tookEffect is whether the call changed something.
func (s Status) tookEffect() bool { return s >= 0 && s&Ignored == 0 }

// String is the status's name in C, such as CHIME_IGNORED.
func (s Status) String() string { return C.GoString(C.chime_status_name(C.chime_status(s))) }

// Error is String, which makes every Status a target of errors.Is.
func (s Status) Error() string { return s.String() }

// Message is a sentence on what the status means.
func (s Status) Message() string { return C.GoString(C.chime_status_message(C.chime_status(s))) }

// Error is a call that failed and changed nothing, unless its Status says otherwise.
type Error struct {
	Status Status
	Detail string // a sentence on what was wrong with this call; where Chime has none, on what the status means
}

func (e *Error) Error() string { return e.Status.String() + ": " + e.Detail }

// Unwrap is the status, for errors.Is.
func (e *Error) Unwrap() error { return e.Status }

// Timeout is whether the call's timeout ended first, as in net.Error.
func (e *Error) Timeout() bool { return e.Status == TimedOut }

// checked makes a call, and an Error of its failure. The sentence is kept for the thread, which a goroutine may leave
// between two calls.
func checked(call func() C.chime_status) (Status, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	status := Status(call())
	if status >= 0 {
		return status, nil
	}
	detail := C.GoString(C.chime_last_error_detail())
	if detail == "" {
		detail = status.Message()
	}
	return status, &Error{status, detail}
}

// text has a C function write its text.
func text(write func(text *C.char, capacity C.size_t, length *C.size_t) C.chime_status) (string, error) {
	var length C.size_t
	if _, err := checked(func() C.chime_status { return write(nil, 0, &length) }); err != nil {
		return "", err
	}
	memory := (*C.char)(C.malloc(length + 1))
	defer C.free(unsafe.Pointer(memory))
	if _, err := checked(func() C.chime_status { return write(memory, length+1, nil) }); err != nil {
		return "", err
	}
	return C.GoString(memory), nil
}

func flag(is bool, flag C.uint32_t) C.uint32_t {
	if is {
		return flag
	}
	return 0
}

// Version is the version of the libchime that is loaded.
func Version() (major, minor, patch int) {
	version := int(C.chime_version())
	return version >> 16, version >> 8 & 255, version & 255
}

// Clock is what a queue's times count from.
type Clock int32

// Clocks.
const (
	Monotonic Clock = C.CHIME_CLOCK_MONOTONIC // stops while the system sleeps
	Boottime  Clock = C.CHIME_CLOCK_BOOTTIME  // does not
	Wall      Clock = C.CHIME_CLOCK_WALL      // the time of day
)

// Now is the time on a clock of the system, since its zero.
func Now(clock Clock) (time.Duration, error) {
	var now C.int64_t
	_, err := checked(func() C.chime_status { return C.chime_now(C.chime_clock(clock), &now) })
	return time.Duration(now), err
}

// sleepers are the goroutines that sleep in C, as many as of those in Sync.
var sleepers = make(chan struct{}, allSyncThreads)

// SleepUntil puts the goroutine to sleep until a point on a clock of the system. At most 1,024 goroutines sleep in C, where each holds
// a thread; the others sleep in Go, and look at the clock each second.
func SleepUntil(clock Clock, deadline time.Duration) error {
	select {
	case sleepers <- struct{}{}:
		defer func() { <-sleepers }()
		_, err := checked(func() C.chime_status { return C.chime_sleep_until(C.chime_clock(clock), C.int64_t(deadline)) })
		return err
	default:
	}
	for {
		now, err := Now(clock)
		if err != nil || now >= deadline {
			return err
		}
		left := sum(deadline, -now)
		if left > time.Second {
			left = time.Second // a Wall clock may be set meanwhile, and the system may sleep
		}
		time.Sleep(left)
	}
}

// MemoryUsed is how many bytes libchime holds.
func MemoryUsed() uint64 { return uint64(C.chime_memory_used()) }

// TraceToFile writes what happens to all timers from now on to a file for Perfetto (ui.perfetto.dev).
func TraceToFile(path string) error {
	name, err := cString(path)
	if err != nil {
		return err
	}
	defer C.free(unsafe.Pointer(name))
	_, err = checked(func() C.chime_status { return C.chime_trace_to_file(name) })
	return err
}

// EndTrace ends that file.
func EndTrace() (Status, error) {
	return checked(func() C.chime_status { return C.chime_trace_to_file(nil) })
}
