package chime

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A timer that nobody holds ticks all the same, and is released behind its tick; so is its queue.
func TestATimerThatNobodyHolds(t *testing.T) {
	var ticks int32
	gone := make(chan int32, 1)
	func() {
		queue, err := NewQueue(Serial, "garbage")
		if err != nil {
			t.Fatal(err)
		}
		_, err = queue.After(200*time.Millisecond, func(*Tick) { atomic.AddInt32(&ticks, 1) },
			func() { gone <- atomic.LoadInt32(&ticks) })
		if err != nil {
			t.Fatal(err)
		}
	}()
	for watchdog := time.After(30 * time.Second); ; {
		runtime.GC()
		select {
		case before := <-gone:
			if before != 1 {
				t.Fatal("released after", before, "ticks")
			}
			return
		case <-watchdog:
			t.Fatal("still there after 30 s")
		case <-time.After(time.Millisecond):
		}
	}
}

func TestAnErrorSaysWhatWasWrong(t *testing.T) {
	queue, err := NewQueue(Virtual, "")
	if err != nil {
		t.Fatal(err)
	}
	defer queue.Close()
	if _, err = queue.Every(0, func(*Tick) {}); err == nil || !strings.Contains(err.Error(), "interval_ns") {
		t.Fatal(err)
	}
}
