//! What goes in and comes out of queues and timers.

use crate::instant::Instant;
use crate::sys;
use std::time::Duration;

/// A delay that does not end, and a timeout without limit: 292 years. Longer durations are shortened to it.
pub const FOREVER: Duration = Duration::from_nanos(i64::MAX as u64);

/// Saturates: what is beyond 292 years is never.
pub(crate) fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

/// A deadline of C's.
pub(crate) fn unless_never(ns: i64) -> Option<Instant> {
    Some(Instant::from_nanos(ns)).filter(|_| ns != i64::MAX)
}

/// Where a queue's handlers run, and on which clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum QueueKind {
    /// On threads of Chime's, one handler at a time. The queue for nearly everything.
    #[default]
    Serial = sys::QUEUE_SERIAL,
    /// On threads of Chime's; handlers of different timers may overlap.
    Concurrent = sys::QUEUE_CONCURRENT,
    /// Inside `process` or `run`, on the thread that calls them.
    Host = sys::QUEUE_HOST,
    /// On a thread of the queue's own.
    Precise = sys::QUEUE_PRECISE,
    /// Inside `advance`, on virtual time: for tests and simulations.
    Virtual = sys::QUEUE_VIRTUAL,
}

/// What a queue's times count from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum Clock {
    /// `CLOCK_MONOTONIC`, as `std::time::Instant`.
    #[default]
    Monotonic = sys::CLOCK_MONOTONIC,
    /// `CLOCK_BOOTTIME`: monotonic, and counts the time that the system sleeps.
    Boottime = sys::CLOCK_BOOTTIME,
    /// The time of day.
    Wall = sys::CLOCK_WALL,
}

/// A quality of service: the order in which queues have their turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum Class {
    #[default]
    Default = sys::QOS_DEFAULT,
    Background = sys::QOS_BACKGROUND,
    Utility = sys::QOS_UTILITY,
    UserInitiated = sys::QOS_USER_INITIATED,
    UserInteractive = sys::QOS_USER_INTERACTIVE,
}

/// Of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum State {
    Idle = sys::STATE_IDLE,
    Running = sys::STATE_RUNNING,
    Suspended = sys::STATE_SUSPENDED,
    Finished = sys::STATE_FINISHED,
    Cancelled = sys::STATE_CANCELLED,
}

impl State {
    pub(crate) fn of(number: u32) -> State {
        match number {
            sys::STATE_IDLE => State::Idle,
            sys::STATE_RUNNING => State::Running,
            sys::STATE_SUSPENDED => State::Suspended,
            sys::STATE_FINISHED => State::Finished,
            _ => State::Cancelled,
        }
    }
}

/// Why a handler is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum TickKind {
    /// The schedule's deadline was reached.
    Due = sys::TICK_DUE,
    /// An extra tick, requested by `fire`.
    Fired = sys::TICK_FIRED,
    /// The timer was activated; only with `TimerOptions::armed`.
    Armed = sys::TICK_ARMED,
    /// The timer was cancelled; only with `TimerOptions::cancelled`.
    Cancelled = sys::TICK_CANCELLED,
}

/// One call of a handler. Times are on the queue's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tick {
    /// The timer's id. `Timer::borrow` has its methods.
    pub timer: sys::TimerId,
    /// Why the handler is called.
    pub kind: TickKind,
    /// Counts the ticks of this activation from 1.
    pub sequence: u64,
    /// Due times since the tick before that got none of their own.
    pub missed: u64,
    /// When it was due.
    pub scheduled: Instant,
    /// When it started; never before `scheduled`.
    pub actual: Instant,
    /// Changes with every accepted activate, restart, reschedule, suspend and cancel.
    pub generation: u64,
    /// The address of the target's object; 0 without one.
    pub target: usize,
}

impl Tick {
    pub(crate) fn of(tick: &sys::Tick) -> Tick {
        Tick {
            timer: tick.timer,
            kind: match tick.kind {
                sys::TICK_DUE => TickKind::Due,
                sys::TICK_FIRED => TickKind::Fired,
                sys::TICK_ARMED => TickKind::Armed,
                _ => TickKind::Cancelled,
            },
            sequence: tick.sequence,
            missed: tick.missed,
            scheduled: Instant::from_nanos(tick.scheduled_ns),
            actual: Instant::from_nanos(tick.actual_ns),
            generation: tick.generation,
            target: tick.target as usize,
        }
    }
}

/// What a repeating timer does about due times that passed while it could not tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum MissedPolicy {
    /// One tick that says how many; the grid stands.
    #[default]
    Coalesce = sys::MISSED_COALESCE,
    /// The interval counts from the end of the handler.
    Delay = sys::MISSED_DELAY,
}

/// What `resume` does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum ResumePolicy {
    /// The grid stands; what was missed comes as one tick at once.
    #[default]
    Coalesce = sys::RESUME_COALESCE,
    /// The time that was left is kept, and the grid moves.
    Remaining = sys::RESUME_REMAINING,
}

/// When a timer ticks. `Schedule { leeway, ..Schedule::every(interval) }` changes one thing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The delay of the first tick, from now.
    pub first: Duration,
    /// In place of `first`: a point on the queue's clock.
    pub deadline: Option<Instant>,
    /// From then on; zero: only once.
    pub interval: Duration,
    /// How late a tick may be in order to share a wake-up; below the interval.
    pub leeway: Duration,
    /// The longest random part of each due time, so that many programs do not act at one moment; at most the interval.
    pub jitter: Duration,
    /// The timer finishes after this many due times; 0: never.
    pub limit: u64,
    /// About due times that passed.
    pub missed: MissedPolicy,
    /// After a suspension.
    pub resume: ResumePolicy,
}

impl Schedule {
    /// One tick.
    pub fn once(delay: Duration) -> Schedule {
        Schedule { first: delay, ..Default::default() }
    }

    /// One tick, at a point on the queue's clock.
    pub fn at(deadline: Instant) -> Schedule {
        Schedule { deadline: Some(deadline), ..Default::default() }
    }

    /// The first tick comes one interval from now.
    pub fn every(interval: Duration) -> Schedule {
        Schedule { first: interval, interval, ..Default::default() }
    }

    pub(crate) fn of(schedule: &sys::Schedule) -> Schedule {
        let at = schedule.flags & sys::SCHEDULE_DEADLINE != 0;
        let duration = |ns: i64| Duration::from_nanos(u64::try_from(ns).unwrap_or(0));
        Schedule {
            first: if at { Duration::ZERO } else { duration(schedule.first_ns) },
            deadline: if at { Some(Instant::from_nanos(schedule.first_ns)) } else { None },
            interval: duration(schedule.interval_ns),
            leeway: duration(schedule.leeway_ns),
            jitter: duration(schedule.jitter_ns),
            limit: schedule.tick_limit,
            missed: if schedule.missed_policy == sys::MISSED_DELAY { MissedPolicy::Delay } else { MissedPolicy::Coalesce },
            resume: if schedule.resume_policy == sys::RESUME_REMAINING { ResumePolicy::Remaining } else { ResumePolicy::Coalesce },
        }
    }

    pub(crate) fn in_c(&self) -> sys::Schedule {
        sys::Schedule {
            flags: if self.deadline.is_some() { sys::SCHEDULE_DEADLINE } else { 0 },
            first_ns: self.deadline.map_or_else(|| nanoseconds(self.first), Instant::as_nanos),
            interval_ns: nanoseconds(self.interval),
            leeway_ns: nanoseconds(self.leeway),
            jitter_ns: nanoseconds(self.jitter),
            tick_limit: self.limit,
            missed_policy: self.missed as u32,
            resume_policy: self.resume as u32,
            ..Default::default()
        }
    }
}

/// A timer at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimerInfo {
    /// Its state.
    pub state: State,
    /// As in its ticks.
    pub generation: u64,
    /// Ticks delivered in this activation.
    pub sequence: u64,
    /// On the queue's clock; `None`: it is not running.
    pub next_deadline: Option<Instant>,
    /// As `Timer::remaining`.
    pub remaining: Option<Duration>,
    /// Zero: one-shot.
    pub interval: Duration,
    /// As scheduled, or a little less (`chime_timer_info`).
    pub leeway: Duration,
    /// 0: none.
    pub limit: u64,
    /// Due times counted against the limit.
    pub due_count: u64,
    /// A handler that has started has not returned.
    pub busy: bool,
    /// Due times of this activation that got no tick of their own.
    pub missed: u64,
    /// The longest random part of a due time.
    pub jitter: Duration,
    /// `Queue::run` does not wait for it.
    pub background: bool,
    /// It has a schedule, which `activate` keeps.
    pub has_schedule: bool,
}

impl TimerInfo {
    pub(crate) fn of(info: &sys::TimerInfo) -> TimerInfo {
        let duration = |ns: i64| Duration::from_nanos(u64::try_from(ns).unwrap_or(0));
        TimerInfo {
            state: State::of(info.state),
            generation: info.generation,
            sequence: info.sequence,
            next_deadline: unless_never(info.next_deadline_ns),
            remaining: Some(info.remaining_ns).filter(|ns| *ns != i64::MAX).map(duration),
            interval: duration(info.interval_ns),
            leeway: duration(info.leeway_ns),
            limit: info.tick_limit,
            due_count: info.due_count,
            busy: info.busy != 0,
            missed: info.missed,
            jitter: duration(info.jitter_ns),
            background: info.background != 0,
            has_schedule: info.has_schedule != 0,
        }
    }
}

/// What a queue has done since it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueStats {
    /// Timers that exist.
    pub timers: u64,
    /// Those in state running.
    pub running: u64,
    /// Entries of the wheel, stale ones included.
    pub entries: u64,
    /// Wake-ups.
    pub passes: u64,
    /// Those that found nothing due and nothing new.
    pub empty_passes: u64,
    /// Ticks delivered.
    pub ticks: u64,
    /// Due times that got no tick of their own.
    pub missed: u64,
    /// Entries whose timer was cancelled, released or moved.
    pub stale: u64,
    /// Callbacks that shared another one's wake-up.
    pub merged: u64,
    /// Ticks by how late they were: the first by less than 1,024 ns, the second by less than 2,048 ns, and so on, doubling.
    pub lateness: [u64; 32],
}

impl QueueStats {
    pub(crate) fn of(stats: &sys::QueueStats) -> QueueStats {
        QueueStats {
            timers: stats.timers,
            running: stats.running,
            entries: stats.entries,
            passes: stats.passes,
            empty_passes: stats.empty_passes,
            ticks: stats.ticks,
            missed: stats.missed,
            stale: stats.stale,
            merged: stats.merged,
            lateness: stats.lateness,
        }
    }
}
