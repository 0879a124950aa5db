//! Waits for async code, on whatever executor: they need a waker, and no runtime.

use crate::error::Error;
use crate::instant::Instant;
use crate::queue::Queue;
use crate::sys;
use crate::timer::{Timer, TimerOptions};
use crate::values::{Schedule, State, Tick, TickKind};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

#[derive(Debug, Default)]
struct Waiting {
    tick: Option<Tick>,   // that nobody has had yet
    at_rest: Option<u64>, // no tick comes, unless somebody starts the timer again: it has another generation then
    is_gone: bool,        // with the timer or its queue
    waker: Option<Waker>, // of whoever waits
}

/// What a wait shares with its timer's closure.
#[derive(Debug, Default)]
struct Shared(Mutex<Waiting>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes without the lock, since a waker may do anything.
    fn change(&self, change: impl FnOnce(&mut Waiting)) {
        let mut waiting = self.lock();
        change(&mut waiting);
        let waker = waiting.waker.take();
        drop(waiting);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// A tick that nobody has had yet; `Ready(None)`: there will be none.
    fn poll(&self, timer: &Timer, context: &mut Context<'_>) -> Poll<Option<Tick>> {
        let mut waiting = self.lock();
        if let Some(tick) = waiting.tick.take() {
            return Poll::Ready(Some(tick));
        }
        if waiting.is_gone || waiting.at_rest.map_or(false, |generation| !timer.was_started_since(generation)) {
            return Poll::Ready(None);
        }
        waiting.at_rest = None;
        let before = match &waiting.waker {
            Some(waker) if waker.will_wake(context.waker()) => None,
            _ => waiting.waker.replace(context.waker().clone()),
        };
        drop(waiting);
        drop(before);
        Poll::Pending
    }
}

impl Timer {
    /// Whether a tick of it is to come, or is on its way to `give`, though it was at rest in that generation.
    fn was_started_since(&self, generation: u64) -> bool {
        match self.info() {
            Ok(info) => info.generation != generation && (ticks_in(info.state) || info.busy),
            Err(_) => false,
        }
    }

    /// Whether the time that ended with this tick counts no more: it was started behind that, and may have been cancelled since. (A
    /// reschedule of a timer at rest starts nothing.)
    fn was_set_anew_since(&self, tick: &Tick) -> bool {
        match self.info() {
            Ok(info) => info.generation != tick.generation && (ticks_in(info.state) || info.busy || info.state == State::Cancelled),
            Err(_) => false,
        }
    }
}

fn ticks_in(state: State) -> bool {
    state == State::Running || state == State::Suspended
}

/// The closure's end of it: it goes when Chime lets go of the closure.
struct Feed(Arc<Shared>);

impl Feed {
    fn give(&self, tick: &Tick) {
        let timer = Timer::borrow(tick.timer);
        let generation = timer.generation().unwrap_or(0); // before the state, which a restart changes behind it
        let at_rest = if ticks_in(timer.state()) { None } else { Some(generation) };
        self.0.change(|waiting| {
            waiting.at_rest = at_rest;
            if tick.kind == TickKind::Due || tick.kind == TickKind::Fired {
                let before = waiting.tick.map_or(0, |before| before.missed + 1);
                waiting.tick = Some(Tick { missed: tick.missed + before, ..*tick });
            }
        })
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.0.change(|waiting| waiting.is_gone = true)
    }
}

/// The ticks of a timer, for async code: `while let Some(tick) = ticks.next().await`. Those that come before the last was taken are
/// one, with `missed`. It ends (`None`) with the timer's limit, when that is cancelled, and with the queue; [`Ticks::timer`] can start
/// it again. What had ticked before that is still given: compare [`Tick::generation`]. Made by [`Queue::ticks`].
///
/// std has no `Stream` yet; for that of the crate futures: `futures::stream::poll_fn(move |context| ticks.poll_next(context))`.
#[must_use = "ticks that are dropped do not come"]
#[derive(Debug)]
pub struct Ticks {
    timer: Timer,
    shared: Arc<Shared>,
}

impl Ticks {
    /// The next tick; `None`: there will be none.
    pub fn next(&mut self) -> impl Future<Output = Option<Tick>> + Send + Unpin + '_ {
        Next(self)
    }

    /// The same for a `Stream` of one's own.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Tick>> {
        self.shared.poll(&self.timer, context)
    }

    /// To move it, or to cancel it.
    pub fn timer(&self) -> &Timer {
        &self.timer
    }
}

impl Drop for Ticks {
    /// The end of the timer wakes nobody: a task that makes, polls and drops a wait each time it is polled would never rest.
    fn drop(&mut self) {
        let waker = self.shared.lock().waker.take();
        drop(waker);
    }
}

/// `std::future::poll_fn` is of Rust 1.64.
struct Next<'a>(&'a mut Ticks);

impl Future for Next<'_> {
    type Output = Option<Tick>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_next(context)
    }
}

/// The end of a time, for async code: `queue.sleep(duration).await?`. The time counts from the call. Dropping it takes the timer
/// back. Made by [`Queue::sleep`].
///
/// When it is over, it stays so, and may be polled by reference again and again (`select!` in a loop), until [`Sleep::timer`] is set
/// anew: `sleep.timer().unwrap().restart_after(duration)?`.
///
/// An error, `ErrorKind::ShutDown`, if the queue ends first, or if [`Sleep::timer`] was cancelled.
#[must_use = "a future does nothing unless it is awaited"]
#[derive(Debug)]
pub struct Sleep {
    ticks: Result<Ticks, Error>,
    last: Option<Tick>, // that has been given
}

impl Sleep {
    /// To move it, for idle timeouts; `None`: it could not be made.
    pub fn timer(&self) -> Option<&Timer> {
        self.ticks.as_ref().ok().map(Ticks::timer)
    }
}

impl Future for Sleep {
    type Output = Result<Tick, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let ticks = match &mut this.ticks {
            Ok(ticks) => ticks,
            Err(error) => return Poll::Ready(Err(error.clone())),
        };
        loop {
            match ticks.poll_next(context) {
                Poll::Ready(Some(tick)) if ticks.timer.was_set_anew_since(&tick) => this.last = None,
                Poll::Ready(tick) => {
                    this.last = tick.or(this.last);
                    break;
                }
                Poll::Pending => {
                    this.last = None; // it has been set anew
                    return Poll::Pending;
                }
            }
        }
        let ended = || Error::with(sys::ERROR_SHUT_DOWN, "the queue has ended, or the timer was cancelled");
        Poll::Ready(this.last.ok_or_else(ended))
    }
}

impl Queue {
    /// Ends when the time is over, on the queue; a virtual queue's is moved by another task or thread, and a host-driven queue has to
    /// be driven by one.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # async fn program() -> Result<(), chime::Error> {
    /// let queue = chime::Queue::new(chime::QueueKind::Serial)?;
    /// queue.sleep(Duration::from_millis(20)).await?;
    /// let mut ticks = queue.ticks(&chime::Schedule { limit: 3, ..chime::Schedule::every(Duration::from_millis(5)) })?;
    /// while let Some(tick) = ticks.next().await {
    ///     println!("tick {}, {} missed", tick.sequence, tick.missed);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn sleep(&self, duration: Duration) -> Sleep {
        Sleep { ticks: self.ticks(&Schedule::once(duration)), last: None }
    }

    /// As `sleep`, to a point on the queue's clock.
    pub fn sleep_until(&self, deadline: Instant) -> Sleep {
        Sleep { ticks: self.ticks(&Schedule::at(deadline)), last: None }
    }

    /// The ticks of a timer, to be awaited one after the other.
    pub fn ticks(&self, schedule: &Schedule) -> Result<Ticks, Error> {
        let shared = Arc::<Shared>::default();
        let feed = Feed(shared.clone());
        let timer = self.start(schedule, &TimerOptions { cancelled: true, ..Default::default() }, move |tick| feed.give(tick))?;
        Ok(Ticks { timer, shared })
    }
}

