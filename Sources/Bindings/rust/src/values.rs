//! What goes in and comes out of queues and timers.

use crate::sys;
use std::time::Duration;

/// A delay that does not end, and a timeout without limit: 292 years. Longer durations are shortened to it.
pub const FOREVER: Duration = Duration::from_nanos(i64::MAX as u64);

/// Saturates: what is beyond 292 years is never.
pub(crate) fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

/// Where a queue's handlers run, and on which clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum QueueKind {
    /// On threads of Chime's, one handler at a time. The queue for nearly everything.
    #[default]
    Serial = 0,
    /// On threads of Chime's; handlers of different timers may overlap.
    Concurrent = 1,
    /// Inside `process` or `run`, on the thread that calls them.
    Host = 2,
    /// On a thread of the queue's own.
    Precise = 3,
    /// Inside `advance`, on virtual time: for tests and simulations.
    Virtual = 4,
}

/// What a queue's times count from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum Clock {
    /// `CLOCK_MONOTONIC`, as `std::time::Instant`.
    #[default]
    Monotonic = 0,
    /// `CLOCK_BOOTTIME`: monotonic, and counts the time that the system sleeps.
    Boottime = 1,
    /// The time of day.
    Wall = 2,
}

/// A quality of service: the order in which queues have their turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(i32)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum Class {
    #[default]
    Default = 0,
    Background = 1,
    Utility = 2,
    UserInitiated = 3,
    UserInteractive = 4,
}

/// Of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum State {
    Idle = 0,
    Running = 1,
    Suspended = 2,
    Finished = 3,
    Cancelled = 4,
}

impl State {
    pub(crate) fn of(number: i32) -> State {
        match number {
            0 => State::Idle,
            1 => State::Running,
            2 => State::Suspended,
            3 => State::Finished,
            _ => State::Cancelled,
        }
    }
}

/// Why a handler is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum TickKind {
    /// The schedule's deadline was reached.
    Due = 0,
    /// An extra tick, requested by `fire`.
    Fired = 1,
    /// The timer was activated; only with `TimerOptions::armed`.
    Armed = 2,
    /// The timer was cancelled; only with `TimerOptions::cancelled`.
    Cancelled = 3,
}

/// One call of a handler. Times are nanoseconds on the queue's clock.
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
    pub scheduled_ns: i64,
    /// When it started; never before `scheduled_ns`.
    pub actual_ns: i64,
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
                0 => TickKind::Due,
                1 => TickKind::Fired,
                2 => TickKind::Armed,
                _ => TickKind::Cancelled,
            },
            sequence: tick.sequence,
            missed: tick.missed,
            scheduled_ns: tick.scheduled_ns,
            actual_ns: tick.actual_ns,
            generation: tick.generation,
            target: tick.target as usize,
        }
    }
}

/// What a repeating timer does about due times that passed while it could not tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum MissedPolicy {
    /// One tick that says how many; the grid stands.
    #[default]
    Coalesce = 0,
    /// The interval counts from the end of the handler.
    Delay = 1,
}

/// What `resume` does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum ResumePolicy {
    /// The grid stands; what was missed comes as one tick at once.
    #[default]
    Coalesce = 0,
    /// The time that was left is kept, and the grid moves.
    Remaining = 1,
}

/// When a timer ticks. `Schedule { leeway, ..Schedule::every(interval) }` changes one thing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The delay of the first tick, from now.
    pub first: Duration,
    /// In place of `first`: a point on the queue's clock.
    pub deadline_ns: Option<i64>,
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
    pub fn at(deadline_ns: i64) -> Schedule {
        Schedule { deadline_ns: Some(deadline_ns), ..Default::default() }
    }

    /// The first tick comes one interval from now.
    pub fn every(interval: Duration) -> Schedule {
        Schedule { first: interval, interval, ..Default::default() }
    }

    pub(crate) fn in_c(&self) -> sys::Schedule {
        sys::Schedule {
            flags: if self.deadline_ns.is_some() { sys::SCHEDULE_DEADLINE } else { 0 },
            first_ns: self.deadline_ns.unwrap_or_else(|| nanoseconds(self.first)),
            interval_ns: nanoseconds(self.interval),
            leeway_ns: nanoseconds(self.leeway),
            jitter_ns: nanoseconds(self.jitter),
            tick_limit: self.limit,
            missed_policy: self.missed as i32,
            resume_policy: self.resume as i32,
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
    pub next_deadline_ns: Option<i64>,
    /// Suspended with `ResumePolicy::Remaining`: the time kept.
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
}

impl TimerInfo {
    pub(crate) fn of(info: &sys::TimerInfo) -> TimerInfo {
        let duration = |ns: i64| Duration::from_nanos(u64::try_from(ns).unwrap_or(0));
        TimerInfo {
            state: State::of(info.state),
            generation: info.generation,
            sequence: info.sequence,
            next_deadline_ns: Some(info.next_deadline_ns).filter(|ns| *ns != i64::MAX),
            remaining: Some(info.remaining_ns).filter(|ns| *ns >= 0).map(duration),
            interval: duration(info.interval_ns),
            leeway: duration(info.leeway_ns),
            limit: info.tick_limit,
            due_count: info.due_count,
            busy: info.busy != 0,
            missed: info.missed,
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
