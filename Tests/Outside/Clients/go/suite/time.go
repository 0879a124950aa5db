// Package time is Go's own, with the timers of Chime: for Go's own tests of timers. See run.
package time

import (
	"os"
	"syscall"
	std "time"

	"chime"
)

type (
	Duration = std.Duration
	Time     = std.Time
)

const (
	Nanosecond  = std.Nanosecond
	Microsecond = std.Microsecond
	Millisecond = std.Millisecond
	Second      = std.Second
	Minute      = std.Minute
	Hour        = std.Hour
)

var (
	Now   = std.Now
	Since = std.Since
	Unix  = std.Unix
	Until = std.Until
	queue = newQueue()
)

func newQueue() *chime.Queue {
	kinds := map[string]chime.Kind{"serial": chime.Serial, "concurrent": chime.Concurrent, "precise": chime.Precise, "host": chime.Host}
	kind, known := kinds[os.Getenv("KIND")]
	if !known {
		panic("KIND must be a kind of queue")
	}
	queue := must(chime.NewQueue(kind, chime.QueueOptions{}))
	if kind == chime.Host {
		go func() { must(queue.RunUntilStopped()) }()
	}
	return queue
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func orNow(delay Duration) Duration {
	if delay < 0 {
		return 0
	}
	return delay
}

// Interrupt is what Go's tests have for a signal that comes while a goroutine sleeps.
func Interrupt() { syscall.Kill(syscall.Getpid(), syscall.SIGCHLD) }

// CheckRuntimeTimerPeriodOverflow is of a test that looks inside Go's runtime, and is not run.
func CheckRuntimeTimerPeriodOverflow() { panic("not Chime's") }

// A Timer is time.Timer, up to Go 1.22: what was sent stays on the channel.
type Timer struct {
	C     <-chan Time
	inner *chime.Timer
}

func (t *Timer) Stop() bool {
	if t.inner == nil {
		panic("called on uninitialized Timer")
	}
	return t.inner.Stop()
}

func (t *Timer) Reset(delay Duration) bool {
	if t.inner == nil {
		panic("called on uninitialized Timer")
	}
	return t.inner.Reset(delay)
}

func sender() (chan Time, func(*chime.Tick)) {
	ticks := make(chan Time, 1)
	return ticks, func(*chime.Tick) {
		select {
		case ticks <- Now():
		default:
		}
	}
}

func NewTimer(delay Duration) *Timer {
	ticks, send := sender()
	return &Timer{ticks, must(queue.After(orNow(delay), send))}
}

func After(delay Duration) <-chan Time { return NewTimer(delay).C }

func AfterFunc(delay Duration, function func()) *Timer {
	return &Timer{inner: must(queue.After(orNow(delay), func(*chime.Tick) { go function() }))}
}

func Sleep(delay Duration) {
	done := make(chan struct{})
	if err := queue.Once(orNow(delay), func(*chime.Tick) { close(done) }); err != nil {
		panic(err)
	}
	<-done
}

// A Ticker is time.Ticker.
type Ticker struct {
	C     <-chan Time
	inner *chime.Timer
}

func NewTicker(interval Duration) *Ticker {
	ticks, send := sender()
	return &Ticker{ticks, must(queue.Every(interval, send))}
}

func (t *Ticker) Stop() { t.inner.Stop() }

func (t *Ticker) Reset(interval Duration) {
	must(t.inner.RestartWith(chime.Schedule{First: interval, Interval: interval}))
}

func Tick(interval Duration) <-chan Time {
	ticker, err := queue.Every(interval, func(*chime.Tick) {})
	if err != nil {
		return nil
	}
	ticker.Release()
	return NewTicker(interval).C
}
