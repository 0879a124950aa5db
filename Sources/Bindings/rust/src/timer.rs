//! A timer of one's own.

use crate::callback::carrying;
use crate::error::{checked, filled, text, Error, Outcome};
use crate::instant::Instant;
use crate::sys;
use crate::values::{nanoseconds, unless_never, Schedule, State, TimerInfo};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::null;
use std::time::Duration;

/// What `Queue::start` and `Queue::create` can be told about a timer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimerOptions {
    /// For `Queue::dump` and `Timer::explain`; cut off at a zero byte.
    pub label: String,
    /// Call the closure for `TickKind::Armed`, too.
    pub armed: bool,
    /// Call the closure for `TickKind::Cancelled`, too.
    pub cancelled: bool,
    /// `Queue::run` does not wait for the timer.
    pub background: bool,
    /// A target's id (`sys::chime_target_create`); 0: none.
    pub target: sys::TargetId,
}

/// A timer: released when it is dropped. Its queue may end before.
///
/// Any thread may call its methods, and its own closure.
#[must_use = "a timer that is dropped does not tick; `Queue::once` is for those that nobody holds"]
#[derive(Debug)]
pub struct Timer(sys::TimerId);

/// The methods of a timer that somebody else owns.
#[derive(Debug)]
pub struct Borrowed(ManuallyDrop<Timer>);

impl Deref for Borrowed {
    type Target = Timer;
    fn deref(&self) -> &Timer {
        &self.0
    }
}

// SAFETY, of all calls below: numbers, and pointers to what lives until the call has returned, or NULL where chime.h
// allows it.
impl Timer {
    /// Takes over an id.
    pub fn adopt(id: sys::TimerId) -> Timer {
        Timer(id)
    }

    /// The methods of a timer that somebody else owns: of `tick.timer`, in its closure.
    pub fn borrow(id: sys::TimerId) -> Borrowed {
        Borrowed(ManuallyDrop::new(Timer(id)))
    }

    /// For the functions in `sys`.
    pub fn id(&self) -> sys::TimerId {
        self.0
    }

    /// Starts a timer that is at rest, with the schedule that it has.
    pub fn activate(&self) -> Result<Outcome, Error> {
        checked(unsafe { sys::chime_timer_activate(self.0, null()) })
    }

    /// Starts a timer that is at rest.
    pub fn activate_with(&self, schedule: &Schedule) -> Result<Outcome, Error> {
        checked(unsafe { sys::chime_timer_activate(self.0, &schedule.in_c()) })
    }

    /// Makes the timer run from now on, whatever its state, with the schedule that it has.
    pub fn restart(&self) -> Result<Outcome, Error> {
        checked(unsafe { sys::chime_timer_restart(self.0, null()) })
    }

    /// Makes the timer run from now on, whatever its state.
    pub fn restart_with(&self, schedule: &Schedule) -> Result<Outcome, Error> {
        checked(unsafe { sys::chime_timer_restart(self.0, &schedule.in_c()) })
    }

    /// Makes the timer run from now on, whatever its state, with its first tick after that delay; all else is as in the
    /// schedule that it has. This is the call to set a timer again.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # fn main() -> Result<(), chime::Error> {
    /// let queue = chime::Queue::new(chime::QueueKind::Virtual)?;
    /// let timer = queue.after(Duration::from_secs(1), |_| ())?;
    /// timer.restart_after(Duration::from_secs(5))?;
    /// assert_eq!(timer.next_deadline()?, Some(queue.now()? + Duration::from_secs(5)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn restart_after(&self, delay: Duration) -> Result<Outcome, Error> {
        checked(unsafe { sys::chime_timer_restart_after(self.0, nanoseconds(delay)) })
    }

    /// As `restart_after`, with the first tick at a point on the queue's clock. An error with `ResumePolicy::Remaining`.
    pub fn restart_until(&self, deadline: Instant) -> Result<Outcome, Error> {
        checked(unsafe { sys::chime_timer_restart_until(self.0, deadline.as_nanos()) })
    }

    /// Gives the timer another schedule. The state stays.
    pub fn reschedule(&self, schedule: &Schedule) -> Result<Outcome, Error> {
        checked(unsafe { sys::chime_timer_reschedule(self.0, &schedule.in_c()) })
    }

    /// Changes the interval and nothing else: the next tick is due when it was. `is_ignored`: the timer ticks once.
    pub fn set_interval(&self, interval: Duration) -> Result<Outcome, Error> {
        checked(unsafe { sys::chime_timer_set_interval(self.0, nanoseconds(interval)) })
    }

    /// Whether `Queue::run` returns although the timer is running.
    pub fn set_background(&self, background: bool) -> Result<Outcome, Error> {
        checked(unsafe { sys::chime_timer_set_background(self.0, background as i32) })
    }

    /// Holds ticks back until `resume`. Once it has returned, none starts.
    pub fn suspend(&self) -> Result<Outcome, Error> {
        checked(unsafe { sys::chime_timer_suspend(self.0) })
    }

    /// Lets ticks through again, by the schedule's `ResumePolicy`.
    pub fn resume(&self) -> Result<Outcome, Error> {
        checked(unsafe { sys::chime_timer_resume(self.0) })
    }

    /// Moves the next tick to now + delay, if that is later. `is_running`: a call of the closure has not returned.
    /// `is_ignored`: the timer is not waiting for a tick, as when that of a one-shot has started.
    pub fn postpone(&self, delay: Duration) -> Result<Outcome, Error> {
        checked(unsafe { sys::chime_timer_postpone(self.0, nanoseconds(delay)) })
    }

    /// As `postpone`, to a point on the queue's clock.
    pub fn postpone_until(&self, deadline: Instant) -> Result<Outcome, Error> {
        checked(unsafe { sys::chime_timer_postpone_until(self.0, deadline.as_nanos()) })
    }

    /// Requests an extra tick, of kind `Fired`. It never runs inside this call.
    pub fn fire(&self) -> Result<Outcome, Error> {
        checked(unsafe { sys::chime_timer_fire(self.0) })
    }

    /// Stops the timer. It can be activated again. `is_running`: a closure that had started has not returned, whatever the
    /// timer's state. `is_ignored`: there was nothing to stop, because the last tick has started already.
    pub fn cancel(&self) -> Result<Outcome, Error> {
        checked(unsafe { sys::chime_timer_cancel(self.0) })
    }

    /// Cancels, then waits until the closure has returned. If that has started the timer again meanwhile, it is cancelled
    /// again. `ErrorKind::TimedOut`: it is cancelled, and the closure runs.
    pub fn cancel_and_wait(&self, timeout: Duration) -> Result<Outcome, Error> {
        checked(unsafe { sys::chime_timer_cancel_and_wait(self.0, nanoseconds(timeout)) })
    }

    /// What dropping does, with its outcome. `is_ignored`: the timer ended with its queue. (Once another timer has taken its
    /// place that is no longer known, and an error.)
    pub fn release(self) -> Result<Outcome, Error> {
        checked(carrying(|| unsafe { sys::chime_timer_release(ManuallyDrop::new(self).0) }))
    }

    /// Releases, then waits until the closure has returned. `ErrorKind::TimedOut`: it is released, and the closure runs.
    pub fn release_and_wait(self, timeout: Duration) -> Result<Outcome, Error> {
        checked(carrying(|| unsafe {
            sys::chime_timer_release_and_wait(ManuallyDrop::new(self).0, nanoseconds(timeout))
        }))
    }

    /// The state. A timer whose queue has ended is cancelled.
    pub fn state(&self) -> State {
        filled(|state| unsafe { sys::chime_timer_state(self.0, state) }).map_or(State::Cancelled, State::of)
    }

    /// Changes with every accepted activate, restart, reschedule, suspend and cancel: compare `Tick::generation`.
    pub fn generation(&self) -> Result<u64, Error> {
        filled(|generation| unsafe { sys::chime_timer_generation(self.0, generation) })
    }

    /// On the queue's clock; `None`: the timer is not running.
    pub fn next_deadline(&self) -> Result<Option<Instant>, Error> {
        filled(|deadline| unsafe { sys::chime_timer_next_deadline(self.0, deadline) }).map(unless_never)
    }

    /// How much time is left until the next tick is due; 0: it is due already; `None`: the timer is not running. Suspended
    /// with `ResumePolicy::Remaining`: what was kept.
    pub fn remaining(&self) -> Result<Option<Duration>, Error> {
        filled(|left| unsafe { sys::chime_timer_remaining(self.0, left) })
            .map(|left| u64::try_from(left).ok().filter(|ns| *ns != i64::MAX as u64).map(Duration::from_nanos))
    }

    /// What the timer does, at one instant.
    pub fn info(&self) -> Result<TimerInfo, Error> {
        filled(|info| unsafe { sys::chime_timer_get_info(self.0, info) }).map(|info| TimerInfo::of(&info))
    }

    /// The schedule that it was given last, with what `restart_after`, `restart_until` and `set_interval` have changed; `None`:
    /// none yet. Where the timer is in it, and what `postpone` did, is no part of it.
    pub fn schedule(&self) -> Result<Option<Schedule>, Error> {
        let mut schedule = sys::Schedule::default();
        let outcome = checked(unsafe { sys::chime_timer_get_schedule(self.0, &mut schedule) })?;
        Ok(if outcome.is_ignored() { None } else { Some(Schedule::of(&schedule)) })
    }

    /// Says in a sentence why the timer does not fire.
    pub fn explain(&self) -> Result<String, Error> {
        text(|to, capacity, length| unsafe { sys::chime_timer_explain(self.0, to, capacity, length) })
    }
}

impl Drop for Timer {
    /// On a virtual or host-driven queue the closure is dropped in here, after its `Cancelled` tick; a panic of either comes
    /// out, unless this thread panics already.
    fn drop(&mut self) {
        // SAFETY: no pointers.
        carrying(|| unsafe { sys::chime_timer_release(self.0) });
    }
}
