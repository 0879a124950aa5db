package chime

// #include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime/cgo"
	"runtime/debug"
	"strings"
	"time"
)

// A context is a cgo.Handle, a number that stands for a Go value: C must not keep Go pointers. In Go such a number is
// always a uintptr: as an unsafe.Pointer on a stack it ends the program ("invalid pointer found on stack") on the day that
// stack grows. So the C functions of glue.c cast, both ways, and no structure with a context in it lives in Go.

// The value behind a context. The function gets nil when it was put on a queue.
type callback struct {
	call func(*Tick)
	gone []func()
	// Where it is called.
	on C.chime_queue_t
	// A queue that runs by itself lasts as long as it has something to call.
	queue *queue
	// Of a timer that somebody holds: see rest.
	rest *rest
}

//export chimeGoTick
func chimeGoTick(tick *C.chime_tick, context, target C.uintptr_t, fate C.int) C.uintptr_t {
	callback := cgo.Handle(context).Value().(*callback)
	call := callback.call
	if rest := callback.rest; rest != nil {
		call = rest.begin(tick.timer, TickKind(tick.kind))
		defer rest.end(TickKind(tick.kind))
	}
	if call == nil {
		return 0
	}
	made := &Tick{
		Timer: uint64(tick.timer), Kind: TickKind(tick.kind), Sequence: uint64(tick.sequence), Missed: uint64(tick.missed),
		Scheduled: time.Duration(tick.scheduled_ns), Actual: time.Duration(tick.actual_ns),
		Generation: uint64(tick.generation), Target: uintptr(target),
	}
	return guarded(fate, func() { call(made) })
}

//export chimeGoFunction
func chimeGoFunction(context C.uintptr_t, fate C.int) C.uintptr_t {
	callback := cgo.Handle(context).Value().(*callback)
	return guarded(fate, func() { callback.call(nil) })
}

//export chimeGoGone
func chimeGoGone(context C.uintptr_t, fate C.int) C.uintptr_t {
	callback := cgo.Handle(context).Value().(*callback)
	defer cgo.Handle(context).Delete() // isInside asks for it meanwhile
	if callback.rest != nil {
		callback.rest.forget()
	}
	return guarded(fate, func() { callAll(callback.gone) })
}

// callAll calls the others even if one of them panics.
func callAll(functions []func()) {
	if len(functions) > 0 {
		defer callAll(functions[1:])
		functions[0]()
	}
}

// A panic must not leave a function through C, whose frames it would skip: the queue would stay locked, and Chime's notes of
// what this thread is doing would point to a stack that is gone. So it is caught here, and raised again by raise behind the
// C call that Go has entered on this thread. Where there is no such call it ends the process.

// What a function has panicked with.
type raised struct{ value any }

// guarded calls a function; a handle of its panic, if that is to be raised again.
func guarded(fate C.int, function func()) C.uintptr_t {
	panicked, value, stack := attempt(function)
	switch {
	case !panicked || fate == C.CHIME_GO_IS_DROPPED:
		return 0
	case fate == C.CHIME_GO_ENDS_THE_PROCESS:
		end(fmt.Sprintf("panic in a function that Chime called on a thread where nobody could recover it: %v", value), stack)
	}
	trace(value, stack)
	return C.uintptr_t(cgo.NewHandle(raised{value}))
}

// attempt calls a function and catches its panic. Of runtime.Goexit there is no catching: it ends the process.
func attempt(function func()) (panicked bool, value any, stack []byte) {
	returned, caught := false, false
	defer func() {
		if !returned && !caught {
			end("runtime.Goexit in a function that Chime called; t.FailNow, t.Fatal and t.SkipNow call it: "+
				"use t.Error and return", stack)
		}
	}()
	func() {
		defer func() {
			if !returned {
				stack = debug.Stack()
				value = recover()
			}
		}()
		function()
		returned = true
	}()
	caught = !returned
	return caught, value, stack
}

// raise goes on with the panic of a function that ran inside a call.
func raise(handle C.uintptr_t) {
	if handle != 0 {
		value := cgo.Handle(handle).Value().(raised).value
		cgo.Handle(handle).Delete()
		panic(value)
	}
}

// trace says where a panic came from, which the one that is raised again no longer can.
func trace(value any, stack []byte) {
	fmt.Fprintf(os.Stderr, "chime: panic in a function that Chime called, raised again behind the call: %v\n\n%s\n", value, stack)
}

// end ends the process, as a panic that nobody recovers: on a goroutine of its own, since there are C frames below this one.
func end(what string, stack []byte) {
	go panic(errors.New("chime: " + what + "\n\n" + string(stack)))
	select {}
}

// pass gives a function to Chime, which has it from then on if the call succeeds.
func pass(function *callback, call func(context C.uintptr_t) C.chime_status) error {
	missing := function.call == nil && function.rest == nil
	for _, gone := range function.gone {
		missing = missing || gone == nil
	}
	if missing {
		return errNil
	}
	context := cgo.NewHandle(function)
	_, err := checked(func() C.chime_status { return call(C.uintptr_t(context)) })
	if err != nil {
		context.Delete()
	}
	return err
}

var errNil = &Error{InvalidArgument, "a function is nil"}

var errNUL = &Error{InvalidArgument, "a label or a path has a NUL in it"}

// cString is a copy for C, which the caller frees. C would take a NUL for the end.
func cString(text string) (*C.char, error) {
	if strings.IndexByte(text, 0) >= 0 {
		return nil, errNUL
	}
	return C.CString(text), nil
}
