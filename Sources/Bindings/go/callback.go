package chime

/*
#include <chime.h>

extern void chimeGoTick(chime_tick *tick, uintptr_t context, uintptr_t target);
extern void chimeGoFunction(uintptr_t context);
extern void chimeGoGone(uintptr_t context);
*/
import "C"

import (
	"runtime/cgo"
	"time"
)

// A context is a cgo.Handle, a number that stands for a Go value: C must not keep Go pointers. In Go such a number is
// always a uintptr: as an unsafe.Pointer on a stack it ends the program ("invalid pointer found on stack") on the day that
// stack grows. So the C functions of glue.h cast, both ways, and no structure with a context in it lives in Go.

// The value behind a context. The function gets nil when it was put on a queue.
type callback struct {
	call func(*Tick)
	gone []func()
}

//export chimeGoTick
func chimeGoTick(tick *C.chime_tick, context, target C.uintptr_t) {
	cgo.Handle(context).Value().(callback).call(&Tick{
		Timer: uint64(tick.timer), Kind: TickKind(tick.kind), Sequence: uint64(tick.sequence), Missed: uint64(tick.missed),
		Scheduled: time.Duration(tick.scheduled_ns), Actual: time.Duration(tick.actual_ns),
		Generation: uint64(tick.generation), Target: uintptr(target),
	})
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
	_, err := checked(func() C.chime_status { return call(C.uintptr_t(context)) })
	if err != nil {
		context.Delete()
	}
	return err
}

// newContext is for a function that Chime calls before the call that takes it has returned.
func newContext(function func(*Tick)) cgo.Handle { return cgo.NewHandle(callback{call: function}) }
