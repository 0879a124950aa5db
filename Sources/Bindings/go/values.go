package chime

// #include <chime.h>
import "C"

import "time"

// Kind says where a queue's functions run, and on which clock.
type Kind int32

// Kinds of queues.
const (
	Serial     Kind = C.CHIME_QUEUE_SERIAL     // on threads of Chime's, one function at a time
	Concurrent Kind = C.CHIME_QUEUE_CONCURRENT // on threads of Chime's; those of different timers may overlap, up to 48 at once
	Host       Kind = C.CHIME_QUEUE_HOST       // inside Process or Run, on the thread that calls them
	Precise    Kind = C.CHIME_QUEUE_PRECISE    // on a thread of the queue's own
	Virtual    Kind = C.CHIME_QUEUE_VIRTUAL    // inside Advance, on virtual time: for tests and simulations
)

// Forever is a delay that does not end, and a timeout without limit.
const Forever time.Duration = 1<<63 - 1

// State is a timer's.
type State int32

// States of a timer.
const (
	IdleState      State = C.CHIME_STATE_IDLE
	RunningState   State = C.CHIME_STATE_RUNNING
	SuspendedState State = C.CHIME_STATE_SUSPENDED
	FinishedState  State = C.CHIME_STATE_FINISHED
	CancelledState State = C.CHIME_STATE_CANCELLED
)

// TickKind says why a function is called.
type TickKind int32

// Kinds of ticks.
const (
	Due       TickKind = C.CHIME_TICK_DUE       // the schedule's deadline was reached
	Fired     TickKind = C.CHIME_TICK_FIRED     // an extra tick, requested by Fire
	Armed     TickKind = C.CHIME_TICK_ARMED     // the timer was activated; only with TimerOptions.Armed
	Cancelled TickKind = C.CHIME_TICK_CANCELLED // the timer was cancelled; only with TimerOptions.Cancelled
)

// Tick is one call of a timer's function.
type Tick struct {
	Timer             uint64 // the timer's id: see Borrow
	Kind              TickKind
	Sequence          uint64        // counts the ticks of this activation from 1
	Missed            uint64        // due times since the tick before that got none of their own
	Scheduled, Actual time.Duration // since the zero of the queue's clock; Actual is never before Scheduled
	Generation        uint64        // changes with every accepted activate, restart, reschedule, suspend and cancel
	Target            uintptr       // the target's object; 0 without one
}

// Schedule says when a timer ticks. Zero is each member's default.
type Schedule struct {
	First           time.Duration // the delay of the first tick
	Deadline        bool          // First is a point on the queue's clock
	Interval        time.Duration // from then on; 0: only once
	Leeway          time.Duration // how late a tick may be in order to share a wake-up; below the interval
	Limit           uint64        // due times; 0: no limit
	MissedDelay     bool          // the interval counts from the end of the function: spacing, not a grid
	ResumeRemaining bool          // Resume keeps the time that was left; otherwise the grid stands
	Jitter          time.Duration // each tick is due at its time of the grid plus a random part, up to this; at most the interval
}

func (s *Schedule) inC() *C.chime_schedule {
	if s == nil {
		return nil
	}
	made := &C.chime_schedule{
		size: C.sizeof_chime_schedule, flags: flag(s.Deadline, C.CHIME_SCHEDULE_DEADLINE), first_ns: C.int64_t(s.First),
		interval_ns: C.int64_t(s.Interval), leeway_ns: C.int64_t(s.Leeway), tick_limit: C.uint64_t(s.Limit),
		jitter_ns: C.int64_t(s.Jitter),
	}
	if s.MissedDelay {
		made.missed_policy = C.CHIME_MISSED_DELAY
	}
	if s.ResumeRemaining {
		made.resume_policy = C.CHIME_RESUME_REMAINING
	}
	return made
}

func scheduleOf(inC *C.chime_schedule) Schedule {
	return Schedule{
		First: time.Duration(inC.first_ns), Deadline: inC.flags&C.CHIME_SCHEDULE_DEADLINE != 0, Interval: time.Duration(inC.interval_ns),
		Leeway: time.Duration(inC.leeway_ns), Limit: uint64(inC.tick_limit), MissedDelay: inC.missed_policy == C.CHIME_MISSED_DELAY,
		ResumeRemaining: inC.resume_policy == C.CHIME_RESUME_REMAINING, Jitter: time.Duration(inC.jitter_ns),
	}
}

// Class is a quality of service: the order in which queues have their turns.
type Class int32

// Classes.
const (
	DefaultClass         Class = C.CHIME_QOS_DEFAULT
	BackgroundClass      Class = C.CHIME_QOS_BACKGROUND
	UtilityClass         Class = C.CHIME_QOS_UTILITY
	UserInitiatedClass   Class = C.CHIME_QOS_USER_INITIATED
	UserInteractiveClass Class = C.CHIME_QOS_USER_INTERACTIVE
)

// QueueOptions are what a queue can be told when it is made. Zero is each member's default.
type QueueOptions struct {
	Label            string // for Dump and debuggers
	Clock            Clock
	TimerLimit       uint64        // how many timers may exist at once
	Start            time.Duration // virtual queues: the time at which they begin
	HonourLeeway     bool          // virtual queues: ticks use their leeway, as on other queues
	Bound            bool          // host-driven queues: only the thread that made the queue may drive it
	RealtimePriority int32         // precise queues: 1 to 99, the thread's priority under SCHED_FIFO
	Class            Class         // serial and concurrent queues: whose turn comes first
	Seed             uint64        // virtual queues: of Schedule.Jitter
}

// TimerOptions are what Start and Create can be told about a timer.
type TimerOptions struct {
	Label      string // for Dump and Explain
	Armed      bool   // call the function for Armed ticks, too
	Cancelled  bool   // call the function for Cancelled ticks, too
	Background bool   // Run does not wait for the timer
	Target     uint64 // a target's id
}

// QueueStats is what a queue has done since it was made.
type QueueStats struct {
	Timers, Running     uint64     // timers that exist, and those in state running
	Entries             uint64     // of the wheel, stale ones included
	Passes, EmptyPasses uint64     // wake-ups, and those that found nothing due and nothing new
	Ticks, Missed       uint64     // delivered; due times that got no tick of their own
	Stale               uint64     // entries whose timer was cancelled, released or moved
	Merged              uint64     // callbacks that shared another one's wake-up
	Lateness            [32]uint64 // ticks by how late they were: [0] by less than 1,024 ns, then doubling
}

// TimerInfo is a timer at one instant.
type TimerInfo struct {
	State        State
	Generation   uint64
	Sequence     uint64        // ticks delivered in this activation
	NextDeadline time.Duration // on the queue's clock; Forever: it is not running
	Remaining    time.Duration // as Timer.Remaining
	Interval     time.Duration
	Leeway       time.Duration
	Limit        uint64
	DueCount     uint64 // due times counted against the limit; 0 without one
	Busy         bool   // a function that has started has not returned
	Missed       uint64 // due times of this activation that got no tick of their own
	Jitter       time.Duration
	Background   bool // Run does not wait for it
	HasSchedule  bool // that Activate keeps
}
