//! Points in time.

use crate::sys;
use crate::values::{nanoseconds, Clock};
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A point on a queue's clock: what `Queue::now` gives, deadlines, and the times of ticks. Arithmetic saturates: what is 292 years
/// beyond the clock's zero is never. Points of different clocks have nothing to do with each other, which no type says here.
///
/// A virtual queue's clock begins at its zero, `Instant::default()`, or where `QueueOptions::start` is:
///
/// ```
/// # use std::time::Duration;
/// # fn main() -> Result<(), chime::Error> {
/// let queue = chime::Queue::new(chime::QueueKind::Virtual)?;
/// let deadline = queue.now()? + Duration::from_secs(5);
/// let timer = queue.start(&chime::Schedule::at(deadline), &chime::TimerOptions::default(), |_| ())?;
/// timer.postpone_until(deadline + Duration::from_secs(1))?;
/// assert_eq!(timer.next_deadline()?, Some(chime::Instant::from_nanos(6_000_000_000)));
/// # Ok(())
/// # }
/// ```
///
/// `From` takes a `std::time::Instant` to the monotonic clock, and a `SystemTime` to the wall clock and back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(i64);

impl Instant {
    /// So many nanoseconds after the clock's zero.
    pub const fn from_nanos(ns: i64) -> Instant {
        Instant(ns)
    }

    /// Nanoseconds since the clock's zero, as chime.h has it.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// How much later this is; zero if it is not.
    pub fn duration_since(self, earlier: Instant) -> Duration {
        self.checked_duration_since(earlier).unwrap_or_default()
    }

    /// How much later this is; `None` if it is earlier.
    pub fn checked_duration_since(self, earlier: Instant) -> Option<Duration> {
        u64::try_from(i128::from(self.0) - i128::from(earlier.0)).ok().map(Duration::from_nanos)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, duration: Duration) -> Instant {
        Instant(self.0.saturating_add(nanoseconds(duration)))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;
    fn sub(self, duration: Duration) -> Instant {
        Instant(self.0.saturating_sub(nanoseconds(duration)))
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, duration: Duration) {
        *self = *self - duration;
    }
}

/// As `duration_since`.
impl Sub for Instant {
    type Output = Duration;
    fn sub(self, earlier: Instant) -> Duration {
        self.duration_since(earlier)
    }
}

/// On the monotonic clock, which is that of queues unless they were given another one.
impl From<std::time::Instant> for Instant {
    fn from(point: std::time::Instant) -> Instant {
        // In this order the result is late by the time between the two clocks, and never early.
        let std = std::time::Instant::now();
        let mut now = 0;
        // SAFETY: a valid pointer, and a clock that every system has.
        unsafe { sys::chime_now(Clock::Monotonic as u32, &mut now) };
        Instant(now) + point.saturating_duration_since(std) - std.saturating_duration_since(point)
    }
}

/// On the wall clock.
impl From<SystemTime> for Instant {
    fn from(time: SystemTime) -> Instant {
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => Instant(0) + since,
            Err(before) => Instant(0) - before.duration(),
        }
    }
}

/// From the wall clock.
impl From<Instant> for SystemTime {
    fn from(point: Instant) -> SystemTime {
        let distance = Duration::from_nanos(point.0.unsigned_abs());
        if point.0 < 0 {
            UNIX_EPOCH - distance
        } else {
            UNIX_EPOCH + distance
        }
    }
}
