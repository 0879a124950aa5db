// What call.c measures, from Go with cgo.
package main

/*
#include <chime.h>

static void on_tick(const chime_tick *tick, void *context) {
  (void)tick;
  (void)context;
}
static inline chime_status start(chime_queue_t queue, chime_timer_t *timer) {
  return chime_timer_after(queue, CHIME_HOUR, on_tick, NULL, NULL, timer);
}
*/
import "C"

import (
	"fmt"
	"log"
	"os"
	"strconv"
	"time"
)

func require(status C.chime_status) {
	if status != C.CHIME_OK {
		log.Fatal("status ", status)
	}
}

func main() {
	operations, err := strconv.Atoi(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var queue C.chime_queue_t
	var timer C.chime_timer_t
	var state C.chime_state
	var now C.int64_t
	require(C.chime_queue_create(C.CHIME_QUEUE_HOST, nil, &queue))
	require(C.start(queue, &timer))
	require(C.chime_queue_now(queue, &now))
	deadline := now + 3600*1000000000
	least := func(work func()) float64 {
		smallest := 1e9
		for part := 0; part < 5; part++ {
			begun := time.Now()
			for i := 0; i < operations; i++ {
				work()
			}
			if ns := float64(time.Since(begun).Nanoseconds()) / float64(operations); ns < smallest {
				smallest = ns
			}
		}
		return smallest
	}
	states := least(func() { require(C.chime_timer_state(timer, &state)) })
	postpones := least(func() {
		deadline += 1000
		require(C.chime_timer_postpone_until(timer, deadline))
	})
	fmt.Printf("{\"state\": %.1f, \"postpone_until\": %.1f}\n", states, postpones)
}
