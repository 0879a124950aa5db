package chime

// #include "glue.h"
import "C"

import (
	"context"
	"runtime/cgo"
	"sync/atomic"
	"time"
)

// The calls that wait, with a context: its end ends the wait, and its error is the call's. Inside a function that Chime has
// called, and on a queue that the program drives itself, they are the calls without one, since another goroutine's thread could
// see neither a deadlock nor a bound queue.

// await makes the call with a timeout, on a goroutine of its own. If the context has ended, or ends first, the call is made with
// no time to wait: what it does beside waiting is in effect when await returns. The one that waits holds a thread until it has
// returned.
func await(ctx context.Context, driven bool, call func(timeout time.Duration) (Status, error)) (Status, error) {
	if err := ctx.Err(); err != nil {
		status, failed := call(0)
		if status == TimedOut {
			return status, err
		}
		return status, failed
	}
	if driven || C.chime_go_is_inside() != 0 || ctx.Done() == nil {
		return call(Forever)
	}
	type result struct {
		status Status
		err    error
	}
	done := make(chan result, 1)
	go func() {
		status, err := call(Forever)
		done <- result{status, err}
	}()
	select {
	case answer := <-done:
		return answer.status, answer.err
	case <-ctx.Done():
		call(0) // the goroutine may not have come to it yet
		return TimedOut, ctx.Err()
	}
}

// isInside is whether the caller is a function of the queue's, or was called by one.
func (q *Queue) isInside() bool {
	for depth := C.int(0); ; depth++ {
		context := C.chime_go_inside(depth)
		if context == 0 {
			return false
		}
		if cgo.Handle(context).Value().(*callback).on == C.chime_queue_t(q.ID()) {
			return true
		}
	}
}

// driven is whether the program drives the timer's queue. Of a borrowed timer that is not known.
func (t *Timer) driven() bool {
	return t != nil && t.inner != nil && t.inner.queue != nil && t.inner.queue.driven
}

// CancelAndWaitContext is CancelAndWait. If the context ends first, the timer has been cancelled, and its function still runs.
func (t *Timer) CancelAndWaitContext(ctx context.Context) (Status, error) {
	return await(ctx, t.driven(), t.CancelAndWait)
}

// ReleaseAndWaitContext is ReleaseAndWait. If the context ends first, the timer has been released, and its function still runs.
func (t *Timer) ReleaseAndWaitContext(ctx context.Context) (Status, error) {
	return await(ctx, t.driven(), t.ReleaseAndWait)
}

// ShutdownContext is Shutdown. If the context ends first, the queue has been released, and a function of it still runs. A
// queue that the program drives is shut down whatever the context says: nothing has to be waited for there.
func (q *Queue) ShutdownContext(ctx context.Context) error {
	if q != nil && q.inner != nil && q.inner.driven {
		return q.Close()
	}
	_, err := await(ctx, false, q.Shutdown)
	return err
}

// SyncContext is Sync. If the context ends before the function has started, the function will not run; once it has started, it
// is waited for.
func (q *Queue) SyncContext(ctx context.Context, function func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if function == nil {
		return errNil
	}
	if q == nil || q.inner == nil || q.inner.kind != Serial && q.inner.kind != Precise || C.chime_go_is_inside() != 0 {
		_, err := q.Sync(Forever, function)
		return err
	}
	var taken int32 // by whoever decides whether the function runs
	var panicked bool
	var value any
	called, gone := make(chan struct{}), make(chan struct{})
	err := q.Async(func() {
		if !atomic.CompareAndSwapInt32(&taken, 0, 1) {
			return
		}
		defer close(called)
		var stack []byte
		if panicked, value, stack = attempt(function); panicked {
			trace(value, stack)
		}
	}, func() { close(gone) })
	if err != nil {
		return err
	}
	select {
	case <-called:
	case <-gone:
	case <-ctx.Done():
	}
	if atomic.CompareAndSwapInt32(&taken, 0, 2) {
		if err := ctx.Err(); err != nil {
			return err
		}
		return &Error{ShutDown, ShutDown.Message()}
	}
	<-called
	if panicked {
		panic(value)
	}
	return nil
}

// RunContext is RunUntilStopped, which the end of the context stops, too. Then its error is that of the context. While the queue is
// suspended it goes on.
func (q *Queue) RunContext(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var returned int32
	end := make(chan struct{})
	defer func() {
		atomic.StoreInt32(&returned, 1)
		close(end)
	}()
	go func() {
		select {
		case <-end:
		case <-ctx.Done():
			// Inside the run, so that no stop is left for the next one.
			q.Async(func() {
				if atomic.LoadInt32(&returned) == 0 {
					q.Stop()
				}
			})
		}
	}()
	_, err := q.RunUntilStopped()
	if err == nil {
		err = ctx.Err()
	}
	return err
}
