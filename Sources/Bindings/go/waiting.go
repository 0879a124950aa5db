package chime

// #include "glue.h"
import "C"

import (
	"context"
	"errors"
	"runtime/cgo"
	"sync"
	"sync/atomic"
	"time"
)

// The calls that wait, with a context: its end ends the wait, and its error is the call's. Inside a function that Chime has
// called, and on a queue that the program drives itself, they are the calls without one, since another goroutine's thread could
// see neither a deadlock nor a bound queue.

// A place has those goroutines that wait in C for a timer's function, or for the end of a queue: each holds a thread, and Go ends a
// process that has 10,000. So there are waitThreads, and the others wait in Go until one has come back. A wait whose context has
// ended stays there, with its thread, until the function has returned.
type place struct {
	taken chan struct{}
	users int // who is there, or waits to be; under `places`
}

// places are those that somebody uses, by the id of the timer or queue. (No number is an id of both kinds.)
var places = struct {
	sync.Mutex
	of map[uint64]*place
}{of: map[uint64]*place{}}

func placeOf(id uint64) *place {
	places.Lock()
	defer places.Unlock()
	found := places.of[id]
	if found == nil {
		found = &place{taken: make(chan struct{}, waitThreads)}
		places.of[id] = found
	}
	found.users++
	return found
}

func (p *place) done(id uint64) {
	places.Lock()
	defer places.Unlock()
	if p.users--; p.users == 0 {
		delete(places.of, id)
	}
}

// await makes a call that waits for what has this id, from that place. If the time is over first, or the context ends, the call is
// made with no time to wait: what it does beside waiting is in effect when await returns. Inside a function that Chime has called,
// there is nothing to wait for: it holds its thread already, and those who are there may be waiting for it.
func await(ctx context.Context, id uint64, timeout time.Duration, call func(timeout time.Duration) (Status, error)) (Status, error) {
	if err := ctx.Err(); err != nil {
		return over(err, call)
	}
	if timeout <= 0 || C.chime_go_is_inside() != 0 {
		return call(timeout)
	}
	place := placeOf(id)
	select {
	case place.taken <- struct{}{}:
	default:
		var late <-chan time.Time
		begin := time.Now()
		if timeout != Forever {
			timer := time.NewTimer(timeout)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case place.taken <- struct{}{}:
			if timeout != Forever {
				if timeout -= time.Since(begin); timeout < 0 {
					timeout = 0
				}
			}
		case <-late:
			place.done(id)
			return call(0)
		case <-ctx.Done():
			place.done(id)
			return over(ctx.Err(), call)
		}
	}
	leave := func() { <-place.taken; place.done(id) }
	if ctx.Done() == nil {
		defer leave()
		return call(timeout)
	}
	type result struct {
		status Status
		err    error
	}
	done := make(chan result, 1)
	go func() {
		status, err := call(timeout)
		leave()
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

// over makes the call with no time to wait, because the context has ended.
func over(ended error, call func(timeout time.Duration) (Status, error)) (Status, error) {
	status, err := call(0)
	if status == TimedOut {
		err = ended
	}
	return status, err
}

// insideFunction is whether the caller is a function that Chime has called, or was called by one.
func insideFunction() bool { return C.chime_go_is_inside() != 0 }

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
	return t.cancelAndWait(ctx, Forever)
}

// ReleaseAndWaitContext is ReleaseAndWait. If the context ends first, the timer has been released, and its function still runs.
func (t *Timer) ReleaseAndWaitContext(ctx context.Context) (Status, error) {
	if t.driven() {
		if err := ctx.Err(); err != nil {
			return over(err, t.releaseAndWait)
		}
		return t.releaseAndWait(Forever)
	}
	return await(ctx, t.ID(), Forever, t.releaseAndWait)
}

// ShutdownContext is Shutdown. If the context ends first, the queue has been released, and a function of it still runs. A
// queue that the program drives is shut down whatever the context says: nothing has to be waited for there.
func (q *Queue) ShutdownContext(ctx context.Context) error {
	_, err := q.shutDown(ctx, Forever)
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
	return q.syncByAsync(ctx, function)
}

// syncInGo is Sync for a goroutine that gets no thread to wait with.
func (q *Queue) syncInGo(timeout time.Duration, function func()) (Status, error) {
	ctx := context.Background()
	if timeout != Forever {
		limited, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		ctx = limited
	}
	err := q.syncByAsync(ctx, function)
	if err == context.DeadlineExceeded {
		err = errNoTurn
	}
	var failed *Error
	if errors.As(err, &failed) {
		return failed.Status, err
	}
	return OK, err
}

// syncByAsync gives the function to a queue with a thread, and waits for it in Go.
func (q *Queue) syncByAsync(ctx context.Context, function func()) error {
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
