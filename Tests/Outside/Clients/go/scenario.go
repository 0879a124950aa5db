// The scenario of ../README.md in Go, with the module of Sources/Bindings/go. What that does not have (targets, records) is
// called by its C names, with the objects' ids.
package main

/*
#cgo pkg-config: chime
#include <chime.h>
#include <poll.h>
#include <stdlib.h>

extern void goDestroy(uintptr_t object);

static void on_destroy(void *object) { goDestroy((uintptr_t)object); }

// Contexts and the target's object are plain numbers here, and stay so in Go: see callback.go there.
static inline chime_status start(chime_queue_t queue, const chime_timer_options *options, uintptr_t context,
                                 const chime_schedule *schedule, chime_timer_t *timer) {
  chime_timer_options with_context = *options;
  with_context.context = (void *)context;
  return chime_timer_start(queue, &with_context, schedule, timer);
}
static inline chime_status async(chime_queue_t queue, uintptr_t context) {
  return chime_queue_async(queue, NULL, (void *)context, NULL);
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
	"time"

	"chime"
)

//export goDestroy
func goDestroy(object C.uintptr_t) { fmt.Println("destructor", object) }

var kinds = []string{"DUE", "FIRED", "ARMED", "CANCELLED", "FINALIZE", "FUNCTION"}

const everyRecord = C.CHIME_TIMER_RECORD_ARMED | C.CHIME_TIMER_RECORD_CANCELLED | C.CHIME_TIMER_RECORD_FINALIZE

func name(status C.chime_status) string { return chime.Status(status).String() }

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

func id(queue *chime.Queue) C.chime_queue_t { return C.chime_queue_t(queue.ID()) }

func gone(number int) func() { return func() { fmt.Println("finalizer", number) } }

func printing(number int) (func(*chime.Tick), func()) {
	return func(tick *chime.Tick) {
		fmt.Printf("tick %d: %s sequence %d missed %d due %d at %d", number, kinds[tick.Kind], tick.Sequence, tick.Missed,
			int64(tick.Scheduled), int64(tick.Actual))
		if tick.Target != 0 {
			fmt.Print(" target ", tick.Target)
		}
		fmt.Println()
	}, gone(number)
}

func virtualTime() {
	queue := must(chime.NewQueue(chime.Virtual, chime.QueueOptions{}))
	advance := func(duration time.Duration) { must(0, queue.Advance(duration)) }
	released := func(timer *chime.Timer) { ok(C.chime_status(must(timer.Release()))) }
	said := func(status chime.Status, _ error) chime.Status { return status } // a failure's, too

	fmt.Println("- one-shot")
	call, gone := printing(1)
	timer := must(queue.After(100, call, gone))
	advance(99)
	advance(1)
	fmt.Println("state", timer.State())
	released(timer)
	fmt.Println("release", said(timer.Release()), "of 0", name(C.chime_timer_release(0)))

	fmt.Println("- repeat")
	call, gone = printing(2)
	timer = must(queue.Every(10, call, gone))
	advance(25)
	must(0, queue.Jump(30))
	fmt.Println("now", int64(must(queue.Now())))
	advance(0)

	released(timer)

	fmt.Println("- suspend and resume, with a target")
	var target C.chime_target_t
	ok(C.target_create(77, &target))
	call, gone = printing(3)
	remaining := chime.Schedule{First: 50, Interval: 50, ResumeRemaining: true}
	options := chime.TimerOptions{Armed: true, Cancelled: true, Target: uint64(target)}
	timer = must(queue.Start(remaining, options, call, gone))
	advance(20)
	fmt.Println("suspend", said(timer.Suspend()), "again", said(timer.Suspend()))
	advance(1005)
	info := must(timer.Info())
	fmt.Println("state", info.State, "remaining", int64(info.Remaining))
	timer.Resume()
	advance(30)
	var object C.uintptr_t
	ok(C.target_retain(target, &object))
	fmt.Println("retain", object)
	ok(C.chime_target_release(target))
	ok(C.chime_target_release(target))
	fmt.Println("state", timer.State(), "activate", said(timer.Activate()), "retain", name(C.chime_target_retain(target, nil)))
	advance(0)
	released(timer)

	fmt.Println("- nobody holds it")
	call, gone = printing(6)
	must(0, queue.Once(10, call, gone))
	advance(10)
	call, gone = printing(7)
	must(0, queue.Once(10, call, gone))
	ended := id(queue)
	fmt.Println("shutdown", said(queue.Close()))
	fmt.Println("advance", name(C.chime_queue_advance(ended, 10)))
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
	queue := must(chime.NewQueue(chime.Host, chime.QueueOptions{}))
	dues := map[int]uint64{8: 0, 9: 0}
	early, functions := 0, 0
	counting := func(number int) func(*chime.Tick) {
		return func(tick *chime.Tick) {
			dues[number] += 1 + tick.Missed
			if tick.Actual < tick.Scheduled {
				early++
			}
		}
	}

	oneShot := must(queue.After(time.Millisecond, counting(8), gone(8)))
	fiveTimes := chime.Schedule{First: time.Millisecond, Interval: time.Millisecond, Limit: 5}
	repeating := must(queue.Start(fiveTimes, chime.TimerOptions{}, counting(9), gone(9)))
	must(0, queue.Async(func() { functions++ }, gone(10)))
	for dues[8] < 1 || dues[9] < 5 || functions < 1 {
		waitReadable(id(queue))
		must(queue.Process(0))
	}
	fmt.Println("due times", dues[8], dues[9], "early", early, "functions", functions)
	fmt.Println("states", oneShot.State(), repeating.State())
	ok(C.chime_status(must(oneShot.Release())))
	ok(C.chime_status(must(repeating.Release())))
	ok(C.chime_status(must(queue.Close())))
}

func hostDrivenRecords() {
	fmt.Println("- host-driven, records")
	var queue C.chime_queue_t
	settings := C.chime_queue_options{size: C.sizeof_chime_queue_options, flags: C.CHIME_QUEUE_RECORDS}
	ok(C.chime_queue_create(C.CHIME_QUEUE_HOST, &settings, &queue))
	var second C.chime_timer_t
	begin := func(number C.uintptr_t, first, interval C.int64_t, limit C.uint64_t) (timer C.chime_timer_t) {
		options := C.chime_timer_options{size: C.sizeof_chime_timer_options, flags: everyRecord}
		schedule := C.chime_schedule{size: C.sizeof_chime_schedule, flags: C.CHIME_SCHEDULE_DEADLINE, first_ns: first,
			interval_ns: interval, tick_limit: limit}
		ok(C.start(queue, &options, number, &schedule, &timer))
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
	ok(C.async(queue, 13))
	take(1)
	ok(C.chime_timer_release(first))
	take(1)
	ok(C.chime_timer_release(second))
	take(1)
	ok(C.chime_queue_shutdown(queue, C.CHIME_FOREVER))
}

func main() {
	major, minor, patch := chime.Version()
	fmt.Printf("version %d.%d.%d\n", major, minor, patch)
	virtualTime()
	hostDriven()
	hostDrivenRecords()
}
