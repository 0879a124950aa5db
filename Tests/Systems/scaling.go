// What scaling.c measures, of Go's timers: one set of them for each of its processors, so that "one queue" and "one queue a
// thread" are the same to it, and only the first is printed.
//
//	scaling_go SECONDS THREADS...
package main

import (
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	pending = 1000
	batch   = 500
)

func nothing() {}

func create() {
	for i := 0; i < batch; i++ {
		time.AfterFunc(time.Second*time.Duration(1+i), nothing).Stop()
	}
}

func postpone(timers []*time.Timer, random *rand.Rand) {
	for i := 0; i < batch; i++ {
		timers[random.Intn(pending)].Reset(30 * time.Second)
	}
}

func expire() {
	var called sync.WaitGroup
	called.Add(batch)
	for i := 0; i < batch; i++ {
		time.AfterFunc(0, called.Done)
	}
	called.Wait()
}

// The batch that a worker does again and again, and what it does in the end.
func worker(operation string, number int) (func(), func()) {
	switch operation {
	case "create":
		return create, nothing
	case "expire":
		return expire, nothing
	}
	timers := make([]*time.Timer, pending)
	for i := range timers {
		timers[i] = time.AfterFunc(30*time.Second, nothing)
	}
	random := rand.New(rand.NewSource(int64(number)))
	return func() { postpone(timers, random) }, func() {
		for _, timer := range timers {
			timer.Stop()
		}
	}
}

func millionsASecond(operation string, threads int, seconds float64) float64 {
	runtime.GOMAXPROCS(threads)
	var ready, ended sync.WaitGroup
	var ends int32
	var done int64
	begin := make(chan struct{})
	ready.Add(threads)
	ended.Add(threads)
	for i := 0; i < threads; i++ {
		go func(number int) {
			do, drop := worker(operation, number)
			ready.Done()
			<-begin
			count := int64(0)
			for atomic.LoadInt32(&ends) == 0 {
				do()
				count += batch
			}
			atomic.AddInt64(&done, count)
			drop()
			ended.Done()
		}(i)
	}
	ready.Wait()
	begun := time.Now()
	close(begin)
	time.Sleep(time.Duration(seconds * 1e9))
	atomic.StoreInt32(&ends, 1)
	ended.Wait()
	return float64(done) / 1e6 / time.Since(begun).Seconds()
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: scaling_go SECONDS THREADS...")
		os.Exit(2)
	}
	seconds, err := strconv.ParseFloat(os.Args[1], 64)
	if err != nil {
		panic(err)
	}
	for _, operation := range []string{"create", "postpone", "expire"} {
		for _, text := range os.Args[2:] {
			threads, err := strconv.Atoi(text)
			if err != nil {
				panic(err)
			}
			fmt.Printf("Go %s one %d %.4f\n", operation, threads, millionsASecond(operation, threads, seconds))
		}
	}
}
