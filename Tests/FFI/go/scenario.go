// The scenario of ../README.md in Go, with cgo.
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
	"runtime/cgo"
)

// The value behind a context.
type callback struct {
	number int
	call   func(number int, tick *C.chime_tick, target C.uintptr_t) // tick is nil in a function of chime_queue_async
}

func handle(value any) C.uintptr_t { return C.uintptr_t(cgo.NewHandle(value)) }

func valueOf(handle C.uintptr_t) any { return cgo.Handle(handle).Value() }

//export goTick
func goTick(tick *C.chime_tick, context, target C.uintptr_t) {
	if C.context_of(tick) != context {
		log.Fatal("the tick has another context")
	}
	callback := valueOf(context).(callback)
	callback.call(callback.number, tick, target)
}

//export goFunction
func goFunction(context C.uintptr_t) {
	callback := valueOf(context).(callback)
	callback.call(callback.number, nil, 0)
}

//export goFinalize
func goFinalize(context C.uintptr_t) {
	fmt.Println("finalizer", valueOf(context).(callback).number)
	cgo.Handle(context).Delete()
}

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

func describe(number int, tick *C.chime_tick, target C.uintptr_t) {
	fmt.Printf("tick %d: %s sequence %d missed %d due %d at %d", number, kinds[tick.kind], tick.sequence, tick.missed,
		tick.scheduled_ns, tick.actual_ns)
	if target != 0 {
		fmt.Print(" target ", valueOf(target))
	}
	fmt.Println()
}

func printing(number int) C.uintptr_t { return handle(callback{number, describe}) }

// Options with a handler and a finalizer; the context comes with start.
func calling() C.chime_timer_options {
	return C.chime_timer_options{
		size: C.sizeof_chime_timer_options, handler: C.handler(), finalizer: C.finalizer(),
	}
}

func schedule(first, interval C.int64_t) C.chime_schedule {
	return C.chime_schedule{size: C.sizeof_chime_schedule, first_ns: first, interval_ns: interval}
}

func start(queue C.chime_queue_t, options C.chime_timer_options, context C.uintptr_t,
	schedule C.chime_schedule) (timer C.chime_timer_t) {
	ok(C.start(queue, &options, context, &schedule, &timer))
	return
}

func state(timer C.chime_timer_t) (state C.chime_state) {
	ok(C.chime_timer_state(timer, &state))
	return
}

func virtualTime() {
	var queue C.chime_queue_t
	var timer C.chime_timer_t
	ok(C.chime_queue_create(C.CHIME_QUEUE_VIRTUAL, nil, &queue))
	advance := func(duration C.int64_t) { ok(C.chime_queue_advance(queue, duration)) }
	after := func(delay C.int64_t, number int, timer *C.chime_timer_t) {
		ok(C.after(queue, delay, printing(number), timer))
	}

	fmt.Println("- one-shot")
	after(100, 1, &timer)
	advance(99)
	advance(1)
	fmt.Println("state", state(timer))
	ok(C.chime_timer_release(timer))
	fmt.Println("release", name(C.chime_timer_release(timer)), "of 0", name(C.chime_timer_release(0)))

	fmt.Println("- repeat")
	ok(C.every(queue, 10, printing(2), &timer))
	advance(25)
	ok(C.chime_queue_jump(queue, 30))
	var now C.int64_t
	ok(C.chime_queue_now(queue, &now))
	fmt.Println("now", now)
	advance(0)

	fmt.Println("- suspend and resume, the grid stands")
	fmt.Println("suspend", name(C.chime_timer_suspend(timer)), "again", name(C.chime_timer_suspend(timer)))
	advance(20)
	fmt.Println("resume", name(C.chime_timer_resume(timer)), "again", name(C.chime_timer_resume(timer)))
	advance(0)
	ok(C.chime_timer_release(timer))

	fmt.Println("- suspend and resume, what was left is kept")
	settings := calling()
	settings.registration_handler, settings.cancel_handler = C.handler(), C.handler()
	remaining := schedule(50, 50)
	remaining.resume_policy = C.CHIME_RESUME_REMAINING
	timer = start(queue, settings, printing(3), remaining)
	advance(20)
	ok(C.chime_timer_suspend(timer))
	advance(1005)
	info := C.chime_timer_info{size: C.sizeof_chime_timer_info}
	ok(C.chime_timer_get_info(timer, &info))
	fmt.Println("state", info.state, "remaining", info.remaining_ns)
	ok(C.chime_timer_resume(timer))
	advance(30)
	fmt.Println("cancel", name(C.chime_timer_cancel(timer)), "again", name(C.chime_timer_cancel(timer)))
	advance(0)
	ok(C.chime_timer_release(timer))

	fmt.Println("- postpone")
	after(100, 4, &timer)
	advance(60)
	fmt.Println("postpone", name(C.chime_timer_postpone(timer, 100)))
	advance(99)
	advance(1)
	fmt.Println("postpone", name(C.chime_timer_postpone(timer, 100)))
	ok(C.chime_timer_release(timer))

	fmt.Println("- target")
	var target C.chime_target_t
	ok(C.target_create(handle(77), &target))
	settings = calling()
	settings.target = target
	timer = start(queue, settings, printing(5), schedule(10, 10))
	advance(10)
	var object C.uintptr_t
	ok(C.target_retain(target, &object))
	fmt.Println("retain", valueOf(object))
	ok(C.chime_target_release(target))
	advance(10)
	ok(C.chime_target_release(target))
	fmt.Println("state", state(timer), "activate", name(C.chime_timer_activate(timer, nil)),
		"retain", name(C.chime_target_retain(target, nil)))
	ok(C.chime_timer_release(timer))

	fmt.Println("- nobody holds it")
	after(10, 6, nil)
	advance(10)
	after(10, 7, nil)
	fmt.Println("shutdown", name(C.chime_queue_shutdown(queue, C.CHIME_FOREVER)))
	fmt.Println("advance", name(C.chime_queue_advance(queue, 10)))
}

func waitReadable(queue C.chime_queue_t) {
	entry := C.struct_pollfd{events: C.POLLIN}
	ok(C.chime_queue_fd(queue, (*C.int32_t)(&entry.fd)))
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
	var queue C.chime_queue_t
	var oneShot C.chime_timer_t
	ok(C.chime_queue_create(C.CHIME_QUEUE_HOST, nil, &queue))
	dues := map[int]C.uint64_t{8: 0, 9: 0}
	early, functions := 0, 0
	onCount := func(number int, tick *C.chime_tick, _ C.uintptr_t) {
		dues[number] += 1 + tick.missed
		if tick.actual_ns < tick.scheduled_ns {
			early++
		}
	}
	onFunction := func(int, *C.chime_tick, C.uintptr_t) { functions++ }

	ok(C.after(queue, 1_000_000, handle(callback{8, onCount}), &oneShot))
	fiveTimes := schedule(1_000_000, 1_000_000)
	fiveTimes.tick_limit = 5
	repeating := start(queue, calling(), handle(callback{9, onCount}), fiveTimes)
	ok(C.async(queue, C.function(), handle(callback{10, onFunction}), C.finalizer()))
	for dues[8] < 1 || dues[9] < 5 || functions < 1 {
		waitReadable(queue)
		ok(C.chime_queue_process(queue, 0, nil))
	}
	fmt.Println("due times", dues[8], dues[9], "early", early, "functions", functions)
	fmt.Println("states", state(oneShot), state(repeating))
	var record C.chime_tick
	var count C.uint32_t
	fmt.Println("take_ticks", name(C.chime_queue_take_ticks(queue, &record, C.sizeof_chime_tick, 1, &count)))
	ok(C.chime_timer_release(oneShot))
	ok(C.chime_timer_release(repeating))
	ok(C.chime_queue_shutdown(queue, C.CHIME_FOREVER))
}

func hostDrivenRecords() {
	fmt.Println("- host-driven, records")
	var queue C.chime_queue_t
	var second C.chime_timer_t
	settings := C.chime_queue_options{size: C.sizeof_chime_queue_options, flags: C.CHIME_QUEUE_RECORDS}
	ok(C.chime_queue_create(C.CHIME_QUEUE_HOST, &settings, &queue))
	begin := func(number C.uintptr_t, first, interval C.int64_t, limit C.uint64_t) C.chime_timer_t {
		options := C.chime_timer_options{size: C.sizeof_chime_timer_options, flags: everyRecord}
		schedule := schedule(first, interval)
		schedule.flags, schedule.tick_limit = C.CHIME_SCHEDULE_DEADLINE, limit
		return start(queue, options, number, schedule)
	}
	// Takes until that many records came, acts on each, prints each. The contexts are plain numbers.
	take := func(expected int) {
		memory := C.calloc(16, C.sizeof_chime_tick)
		defer C.free(memory)
		records := (*[16]C.chime_tick)(memory)
		var count C.uint32_t
		for seen := 0; seen < expected; seen += int(count) {
			waitReadable(queue)
			ok(C.chime_queue_take_ticks(queue, &records[0], C.sizeof_chime_tick, 16, &count))
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
	ok(C.async(queue, nil, 13, nil))
	take(1)
	ok(C.chime_timer_release(first))
	take(1)
	ok(C.chime_timer_release(second))
	take(1)
	fmt.Println("process", name(C.chime_queue_process(queue, 0, nil)))
	ok(C.chime_queue_shutdown(queue, C.CHIME_FOREVER))
}

func main() {
	version := C.chime_version()
	fmt.Printf("version %d.%d.%d\n", version>>16, version>>8&255, version&255)
	virtualTime()
	hostDriven()
	hostDrivenRecords()
}
