// Go's own timers: time.AfterFunc, Stop and Reset, and time.NewTicker for the repeating one. Go's scheduler keeps them,
// one set for each of its processors; handlers run in goroutines of their own.
//
// Arrays of the loads are C's and used in place; the tick of a one-shot is noted here as harness.h does it, without a
// call of C.
package main

/*
#include <harness.h>
*/
import "C"

import (
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"
)

var timers []*time.Timer

// The clock that bench.base_ns was read from: CLOCK_MONOTONIC.
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64

func note(due int64) {
	late := nanotime() - due
	number := atomic.AddUint64((*uint64)(unsafe.Pointer(&C.bench.seen)), 1) - 1
	expected := uint64(C.bench.expected)
	if number >= expected {
		return
	}
	unsafe.Slice((*int64)(unsafe.Pointer(C.bench.late_ns)), expected)[number] = late
	if number+1 == expected {
		C.bench_finish()
	}
}

func slice(offsets *C.bench_offset, count C.size_t) []C.bench_offset {
	return unsafe.Slice(offsets, int(count))
}

func nothing() {}

//export go_version
func go_version() *C.char { return C.CString(runtime.Version()) }

//export go_fill
func go_fill(offsets *C.bench_offset, count C.size_t) {
	base := int64(C.bench.base_ns)
	timers = make([]*time.Timer, count)
	for i, offset := range slice(offsets, count) {
		due := base + int64(offset.ns)
		timers[i] = time.AfterFunc(time.Duration(due-nanotime()), func() { note(due) })
	}
}

//export go_create
func go_create(offsets *C.bench_offset, count C.size_t) {
	for _, offset := range slice(offsets, count) {
		time.AfterFunc(time.Duration(offset.ns), nothing).Stop()
	}
}

//export go_postpone
func go_postpone(which *C.uint32_t, offsets *C.bench_offset, count C.size_t) {
	chosen := unsafe.Slice((*uint32)(unsafe.Pointer(which)), int(count))
	for i, offset := range slice(offsets, count) {
		timers[chosen[i]].Reset(time.Duration(offset.ns))
	}
}

//export go_repeat
func go_repeat(interval C.int64_t) {
	ticker := time.NewTicker(time.Duration(interval))
	go func() {
		for range ticker.C {
			C.bench_beat_call(1)
		}
	}()
}

func main() {}
