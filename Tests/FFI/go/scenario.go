// The scenario of ../README.md in Go, with cgo.
//
// Its middle part, "The wrapper", is what one would copy: queues and timers with closures, that are released when they are
// garbage at the latest. Chime owns a closure from the call that takes it, and lets go of it once, after the last call. What
// the wrapper does not have (targets, records, information) is called by its C names, with the objects' ids.
//
// A context is a cgo.Handle, a number that stands for a Go value: C must not keep Go pointers. The finalizer deletes
// it. In Go such a number is always a uintptr: as an unsafe.Pointer on a stack it ends the program ("invalid pointer
// found on stack") on the day that stack grows. So the C functions below cast, both ways, and no structure with a
// context in it lives in Go. cgo takes callbacks as they are, also on threads that Go did not make.
//
// A goroutine that makes a bound queue (CHIME_QUEUE_BOUND) must lock its thread first; these queues are not bound.
package main

/*
#include <chime.h>
#include <poll.h>
#include <stdlib.h>

extern void goTick(chime_tick *tick, uintptr_t context, uintptr_t target);
extern void goFunction(uintptr_t context);
extern void goFinalize(uintptr_t context);
extern void goDestroy(uintptr_t object);

static void on_tick(const chime_tick *tick, void *context) {
  goTick((chime_tick *)tick, (uintptr_t)context, (uintptr_t)tick->target);
}
static void on_function(void *context) { goFunction((uintptr_t)context); }
static void on_finalize(void *context) { goFinalize((uintptr_t)context); }
static void on_destroy(void *object) { goDestroy((uintptr_t)object); }
static inline chime_handler handler(void) { return on_tick; }
static inline chime_function function(void) { return on_function; }
static inline chime_finalizer finalizer(void) { return on_finalize; }

static inline chime_status start(chime_queue_t queue, const chime_timer_options *options, uintptr_t context,
                                 const chime_schedule *schedule, chime_timer_t *timer) {
  chime_timer_options with_context = *options;
  with_context.context = (void *)context;
  return chime_timer_start(queue, &with_context, schedule, timer);
}
static inline chime_status after(chime_queue_t queue, int64_t delay_ns, uintptr_t context, chime_timer_t *timer) {
  return chime_timer_after(queue, delay_ns, on_tick, (void *)context, on_finalize, timer);
}
static inline chime_status every(chime_queue_t queue, int64_t interval_ns, uintptr_t context, chime_timer_t *timer) {
  return chime_timer_every(queue, interval_ns, on_tick, (void *)context, on_finalize, timer);
}
static inline chime_status async(chime_queue_t queue, chime_function function, uintptr_t context,
                                 chime_finalizer finalizer) {
  return chime_queue_async(queue, function, (void *)context, finalizer);
}
static inline chime_status target_create(uintptr_t object, chime_target_t *target) {
  return chime_target_create((void *)object, on_destroy, target);
}
static inline chime_status target_retain(chime_target_t target, uintptr_t *object) {
  void *retained;
  chime_status status = chime_target_retain(target, &retained);
  if (!CHIME_FAILED(status)) *object = (uintptr_t)retained;
  return status;
}
static inline uintptr_t context_of(const chime_tick *tick) { return (uintptr_t)tick->context; }
*/
import "C"

import (
	"fmt"
	"log"
	"runtime"
	"runtime/cgo"
	"time"
)

// ---- The wrapper ----------------------------------------------------------------------------------------------------

// Tick is one call of a timer's function.
type Tick struct {
	Kind              int
	Sequence, Missed  uint64
	Scheduled, Actual int64 // nanoseconds on the queue's clock
	Target            any   // alive until the function returns; nil without one
}

// Error is a call that failed, with Chime's sentence on the argument, if it has one for that status.
type Error struct {
	Status int
	Detail string
}

func (e Error) Error() string { return name(C.chime_status(e.Status)) + ": " + e.Detail }

// checked makes a call, and an Error of its failure; other statuses (IGNORED, RUNNING) are answers. The sentence is kept
// for the thread, which a goroutine may leave between two calls.
func checked(call func() C.chime_status) (C.chime_status, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	status := call()
	if status >= 0 {
		return status, nil
	}
	failure := Error{Status: int(status)}
	switch status {
	case C.CHIME_ERROR_INVALID_ARGUMENT, C.CHIME_ERROR_UNSUPPORTED, C.CHIME_ERROR_RESOURCE, C.CHIME_ERROR_LIMIT:
		failure.Detail = C.GoString(C.chime_last_error_detail())
	}
	return status, failure
}

// The value behind a context. The function gets nil when it was put on a queue; `gone` is called once, after its last call.
type callback struct {
	call func(*Tick)
	gone func()
}

func handle(value any) C.uintptr_t { return C.uintptr_t(cgo.NewHandle(value)) }

func valueOf(handle C.uintptr_t) any { return cgo.Handle(handle).Value() }

//export goTick
func goTick(tick *C.chime_tick, context, target C.uintptr_t) {
	if C.context_of(tick) != context {
		log.Fatal("the tick has another context")
	}
	t := Tick{Kind: int(tick.kind), Sequence: uint64(tick.sequence), Missed: uint64(tick.missed),
		Scheduled: int64(tick.scheduled_ns), Actual: int64(tick.actual_ns)}
	if target != 0 {
		t.Target = valueOf(target)
	}
	valueOf(context).(callback).call(&t)
}

//export goFunction
func goFunction(context C.uintptr_t) { valueOf(context).(callback).call(nil) }

//export goFinalize
func goFinalize(context C.uintptr_t) {
	gone := valueOf(context).(callback).gone
	cgo.Handle(context).Delete()
	if gone != nil {
		gone()
	}
}

// pass gives a function to Chime, which has it from then on if the call succeeds.
func pass(function callback, call func(context C.uintptr_t) C.chime_status) error {
	context := handle(function)
	_, err := checked(func() C.chime_status { return call(context) })
	if err != nil {
		cgo.Handle(context).Delete()
	}
	return err
}

// Queue is a queue of one's own. Close it: what its functions use may go after that. One that is garbage is released.
type Queue struct{ id C.chime_queue_t }

// Timer is a timer of one's own. Stop it when it is not wanted any more; one that is garbage is released.
type Timer struct{ id C.chime_timer_t }

func NewQueue(kind C.chime_queue_kind, flags C.uint32_t) (*Queue, error) {
	queue := new(Queue)
	options := C.chime_queue_options{size: C.sizeof_chime_queue_options, flags: flags}
	_, err := checked(func() C.chime_status { return C.chime_queue_create(kind, &options, &queue.id) })
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(queue, func(q *Queue) { C.chime_queue_release(q.id) })
	return queue, nil
}

func (q *Queue) timer(function callback, call func(C.uintptr_t, *C.chime_timer_t) C.chime_status) (*Timer, error) {
	timer := new(Timer)
	if err := pass(function, func(context C.uintptr_t) C.chime_status { return call(context, &timer.id) }); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(timer, func(t *Timer) { C.chime_timer_release(t.id) })
	return timer, nil
}

func (q *Queue) After(delay time.Duration, function callback) (*Timer, error) {
	return q.timer(function, func(context C.uintptr_t, timer *C.chime_timer_t) C.chime_status {
		return C.after(q.id, C.int64_t(delay), context, timer)
	})
}

func (q *Queue) Every(interval time.Duration, function callback) (*Timer, error) {
	return q.timer(function, func(context C.uintptr_t, timer *C.chime_timer_t) C.chime_status {
		return C.every(q.id, C.int64_t(interval), context, timer)
	})
}

// Start has options without handler, context and finalizer, which are the function's.
func (q *Queue) Start(options C.chime_timer_options, schedule C.chime_schedule, function callback) (*Timer, error) {
	options.size, options.handler, options.finalizer = C.sizeof_chime_timer_options, C.handler(), C.finalizer()
	return q.timer(function, func(context C.uintptr_t, timer *C.chime_timer_t) C.chime_status {
		return C.start(q.id, &options, context, &schedule, timer)
	})
}

// Once has a timer that nobody holds.
func (q *Queue) Once(delay time.Duration, function callback) error {
	return pass(function, func(context C.uintptr_t) C.chime_status { return C.after(q.id, C.int64_t(delay), context, nil) })
}

// RunSoon runs a function on the queue.
func (q *Queue) RunSoon(function callback) error {
	return pass(function, func(context C.uintptr_t) C.chime_status {
		return C.async(q.id, C.function(), context, C.finalizer())
	})
}

func (q *Queue) Advance(duration time.Duration) C.chime_status {
	return C.chime_queue_advance(q.id, C.int64_t(duration))
}
func (q *Queue) Process() C.chime_status { return C.chime_queue_process(q.id, 0, nil) }

// Close ends the queue and waits until none of its functions runs or will run.
func (q *Queue) Close() C.chime_status {
	runtime.SetFinalizer(q, nil)
	return C.chime_queue_shutdown(q.id, C.CHIME_FOREVER)
}

func (t *Timer) Suspend() C.chime_status  { return C.chime_timer_suspend(t.id) }
func (t *Timer) Resume() C.chime_status   { return C.chime_timer_resume(t.id) }
func (t *Timer) Cancel() C.chime_status   { return C.chime_timer_cancel(t.id) }
func (t *Timer) Activate() C.chime_status { return C.chime_timer_activate(t.id, nil) }
func (t *Timer) Postpone(delay time.Duration) C.chime_status {
	return C.chime_timer_postpone(t.id, C.int64_t(delay))
}

// Stop releases the timer.
func (t *Timer) Stop() C.chime_status {
	runtime.SetFinalizer(t, nil)
	return C.chime_timer_release(t.id)
}

func (t *Timer) State() (state C.chime_state) {
	ok(C.chime_timer_state(t.id, &state))
	return
}

// ---- The scenario ---------------------------------------------------------------------------------------------------

//export goDestroy
func goDestroy(object C.uintptr_t) {
	fmt.Println("destructor", valueOf(object))
	cgo.Handle(object).Delete()
}

var kinds = []string{"DUE", "FIRED", "ARMED", "CANCELLED", "FINALIZE", "FUNCTION"}

const everyRecord = C.CHIME_TIMER_RECORD_ARMED | C.CHIME_TIMER_RECORD_CANCELLED | C.CHIME_TIMER_RECORD_FINALIZE

func name(status C.chime_status) string { return C.GoString(C.chime_status_name(status)) }

// For a call that can only succeed here.
func ok(status C.chime_status) {
	if status != C.CHIME_OK {
		panic(name(status))
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func described(number int, call func(*Tick)) callback {
	return callback{call, func() { fmt.Println("finalizer", number) }}
}

func printing(number int) callback {
	return described(number, func(tick *Tick) {
		fmt.Printf("tick %d: %s sequence %d missed %d due %d at %d", number, kinds[tick.Kind], tick.Sequence, tick.Missed,
			tick.Scheduled, tick.Actual)
		if tick.Target != nil {
			fmt.Print(" target ", tick.Target)
		}
		fmt.Println()
	})
}

func schedule(first, interval C.int64_t) C.chime_schedule {
	return C.chime_schedule{size: C.sizeof_chime_schedule, first_ns: first, interval_ns: interval}
}

func virtualTime() {
	queue := must(NewQueue(C.CHIME_QUEUE_VIRTUAL, 0))
	advance := func(duration time.Duration) { ok(queue.Advance(duration)) }

	fmt.Println("- one-shot")
	timer := must(queue.After(100, printing(1)))
	advance(99)
	advance(1)
	fmt.Println("state", timer.State())
	ok(timer.Stop())
	fmt.Println("release", name(timer.Stop()), "of 0", name(C.chime_timer_release(0)))

	fmt.Println("- repeat")
	timer = must(queue.Every(10, printing(2)))
	advance(25)
	ok(C.chime_queue_jump(queue.id, 30))
	var now C.int64_t
	ok(C.chime_queue_now(queue.id, &now))
	fmt.Println("now", now)
	advance(0)

	fmt.Println("- suspend and resume, the grid stands")
	fmt.Println("suspend", name(timer.Suspend()), "again", name(timer.Suspend()))
	advance(20)
	fmt.Println("resume", name(timer.Resume()), "again", name(timer.Resume()))
	advance(0)
	ok(timer.Stop())

	fmt.Println("- suspend and resume, what was left is kept")
	settings := C.chime_timer_options{registration_handler: C.handler(), cancel_handler: C.handler()}
	remaining := schedule(50, 50)
	remaining.resume_policy = C.CHIME_RESUME_REMAINING
	timer = must(queue.Start(settings, remaining, printing(3)))
	advance(20)
	ok(timer.Suspend())
	advance(1005)
	info := C.chime_timer_info{size: C.sizeof_chime_timer_info}
	ok(C.chime_timer_get_info(timer.id, &info))
	fmt.Println("state", info.state, "remaining", info.remaining_ns)
	ok(timer.Resume())
	advance(30)
	fmt.Println("cancel", name(timer.Cancel()), "again", name(timer.Cancel()))
	advance(0)
	ok(timer.Stop())

	fmt.Println("- postpone")
	timer = must(queue.After(100, printing(4)))
	advance(60)
	fmt.Println("postpone", name(timer.Postpone(100)))
	advance(99)
	advance(1)
	fmt.Println("postpone", name(timer.Postpone(100)))
	ok(timer.Stop())

	fmt.Println("- target")
	var target C.chime_target_t
	ok(C.target_create(handle(77), &target))
	timer = must(queue.Start(C.chime_timer_options{target: target}, schedule(10, 10), printing(5)))
	advance(10)
	var object C.uintptr_t
	ok(C.target_retain(target, &object))
	fmt.Println("retain", valueOf(object))
	ok(C.chime_target_release(target))
	advance(10)
	ok(C.chime_target_release(target))
	fmt.Println("state", timer.State(), "activate", name(timer.Activate()),
		"retain", name(C.chime_target_retain(target, nil)))
	ok(timer.Stop())

	fmt.Println("- nobody holds it")
	must(0, queue.Once(10, printing(6)))
	advance(10)
	must(0, queue.Once(10, printing(7)))
	fmt.Println("shutdown", name(queue.Close()))
	fmt.Println("advance", name(queue.Advance(10)))
}

func waitReadable(queue *Queue) {
	entry := C.struct_pollfd{events: C.POLLIN}
	ok(C.chime_queue_fd(queue.id, (*C.int32_t)(&entry.fd)))
	for { // Go's scheduler interrupts its threads with signals
		count, err := C.poll(&entry, 1, 10_000)
		if count == 1 {
			return
		}
		if count == 0 {
			panic("the descriptor was not readable within 10 s")
		}
		if err.Error() != "interrupted system call" {
			panic(err)
		}
	}
}

func hostDriven() {
	fmt.Println("- host-driven, callbacks")
	queue := must(NewQueue(C.CHIME_QUEUE_HOST, 0))
	dues := map[int]uint64{8: 0, 9: 0}
	early, functions := 0, 0
	counting := func(number int) callback {
		return described(number, func(tick *Tick) {
			dues[number] += 1 + tick.Missed
			if tick.Actual < tick.Scheduled {
				early++
			}
		})
	}

	oneShot := must(queue.After(time.Millisecond, counting(8)))
	fiveTimes := schedule(1_000_000, 1_000_000)
	fiveTimes.tick_limit = 5
	repeating := must(queue.Start(C.chime_timer_options{}, fiveTimes, counting(9)))
	must(0, queue.RunSoon(described(10, func(*Tick) { functions++ })))
	for dues[8] < 1 || dues[9] < 5 || functions < 1 {
		waitReadable(queue)
		ok(queue.Process())
	}
	fmt.Println("due times", dues[8], dues[9], "early", early, "functions", functions)
	fmt.Println("states", oneShot.State(), repeating.State())
	var record C.chime_tick
	var count C.uint32_t
	fmt.Println("take_ticks", name(C.chime_queue_take_ticks(queue.id, &record, C.sizeof_chime_tick, 1, &count)))
	ok(oneShot.Stop())
	ok(repeating.Stop())
	ok(queue.Close())
}

func hostDrivenRecords() {
	fmt.Println("- host-driven, records")
	queue := must(NewQueue(C.CHIME_QUEUE_HOST, C.CHIME_QUEUE_RECORDS))
	var second C.chime_timer_t
	begin := func(number C.uintptr_t, first, interval C.int64_t, limit C.uint64_t) (timer C.chime_timer_t) {
		options := C.chime_timer_options{size: C.sizeof_chime_timer_options, flags: everyRecord}
		schedule := schedule(first, interval)
		schedule.flags, schedule.tick_limit = C.CHIME_SCHEDULE_DEADLINE, limit
		ok(C.start(queue.id, &options, number, &schedule, &timer))
		return
	}
	// Takes until that many records came, acts on each, prints each. The contexts are plain numbers.
	take := func(expected int) {
		memory := C.calloc(16, C.sizeof_chime_tick)
		defer C.free(memory)
		records := (*[16]C.chime_tick)(memory)
		var count C.uint32_t
		for seen := 0; seen < expected; seen += int(count) {
			waitReadable(queue)
			ok(C.chime_queue_take_ticks(queue.id, &records[0], C.sizeof_chime_tick, 16, &count))
			for index := range records[:count] {
				tick := &records[index]
				number := C.context_of(tick)
				if tick.kind != C.CHIME_TICK_DUE {
					fmt.Printf("record %d: %s\n", number, kinds[tick.kind])
					continue
				}
				fmt.Printf("record %d: DUE sequence %d missed %d due %d generation %s\n", number, tick.sequence,
					tick.missed, tick.scheduled_ns, name(C.chime_timer_check_generation(tick.timer, tick.generation)))
				if number == 11 {
					fmt.Println("cancel", name(C.chime_timer_cancel(second)))
				}
			}
		}
	}

	first := begin(11, 1, 1, 4)
	second = begin(12, 2, 1_000_000_000_000_000_000, 0)
	take(4)
	take(1)
	ok(C.async(queue.id, nil, 13, nil))
	take(1)
	ok(C.chime_timer_release(first))
	take(1)
	ok(C.chime_timer_release(second))
	take(1)
	fmt.Println("process", name(queue.Process()))
	ok(queue.Close())
}

func main() {
	version := C.chime_version()
	fmt.Printf("version %d.%d.%d\n", version>>16, version>>8&255, version&255)
	virtualTime()
	hostDriven()
	hostDrivenRecords()
}
