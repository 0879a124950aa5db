//! A queue of one's own.

use crate::callback::{carrying, finalize, guard, on_function, on_tick, pass, tick_once, ticks};
use crate::error::{checked, filled, text, Error, Outcome};
use crate::instant::Instant;
use crate::sys;
use crate::timer::{Borrowed, Timer, TimerOptions};
use crate::values::{nanoseconds, unless_never, Class, Clock, QueueKind, QueueStats, Schedule, Tick};
use std::ffi::{c_void, CString};
use std::mem::ManuallyDrop;
#[cfg(unix)]
use std::os::unix::io::{AsRawFd, BorrowedFd, RawFd};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::null_mut;
use std::time::Duration;

/// What a queue can be told when it is made. `QueueOptions { label: "sessions".into(), ..Default::default() }`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueOptions {
    /// For `Queue::dump` and debuggers; cut off at a zero byte.
    pub label: String,
    /// Monotonic, unless said otherwise.
    pub clock: Clock,
    /// How many timers may exist at once; 0: as many as memory allows.
    pub timer_limit: u64,
    /// Virtual queues: the time at which they begin.
    pub start: Instant,
    /// Virtual queues: ticks use their leeway, as on other queues.
    pub honour_leeway: bool,
    /// Host-driven queues: only the thread that made the queue may drive it.
    pub bound: bool,
    /// Host-driven queues: no closures; `sys::chime_queue_take_ticks` gives records.
    pub records: bool,
    /// Precise queues: 1 to 99, the thread's priority under `SCHED_FIFO`; 0: none.
    pub realtime_priority: i32,
    /// Serial and concurrent queues: whose turn comes first.
    pub class: Class,
    /// Virtual queues: where the random parts of due times begin (`Schedule::jitter`).
    pub seed: u64,
}

/// A queue: shut down when it is dropped. Its closures have ended then, unless it is dropped inside one of them.
#[derive(Debug)]
pub struct Queue(sys::QueueId);

// SAFETY, of all calls below: numbers, and pointers to what lives until the call has returned, or NULL where chime.h
// allows it. Contexts are `pass`'s.
impl Queue {
    /// A queue without a label, on its default clock.
    pub fn new(kind: QueueKind) -> Result<Queue, Error> {
        Queue::with(kind, &QueueOptions::default())
    }

    /// A queue with a name, which `dump` shows.
    pub fn labelled(kind: QueueKind, label: &str) -> Result<Queue, Error> {
        Queue::with(kind, &QueueOptions { label: label.into(), ..Default::default() })
    }

    /// A queue with options.
    pub fn with(kind: QueueKind, options: &QueueOptions) -> Result<Queue, Error> {
        let label = until_zero(&options.label);
        let flag = |is: bool, flag| if is { flag } else { 0 };
        let in_c = sys::QueueOptions {
            flags: flag(options.honour_leeway, sys::QUEUE_FLAG_HONOUR_LEEWAY)
                | flag(options.bound, sys::QUEUE_FLAG_BOUND)
                | flag(options.records, sys::QUEUE_FLAG_RECORDS),
            label: label.as_ptr(),
            clock: options.clock as u32,
            timer_limit: options.timer_limit,
            start_ns: options.start.as_nanos(),
            realtime_priority: options.realtime_priority,
            qos: options.class as u32,
            seed: options.seed,
            ..Default::default()
        };
        filled(|id| unsafe { sys::chime_queue_create(kind as u32, &in_c, id) }).map(Queue)
    }

    /// For the functions in `sys`.
    pub fn id(&self) -> sys::QueueId {
        self.0
    }

    /// A timer that runs.
    pub fn start(
        &self,
        schedule: &Schedule,
        options: &TimerOptions,
        function: impl FnMut(&Tick) + Send + 'static,
    ) -> Result<Timer, Error> {
        self.timer(options, function, |options, id| unsafe {
            sys::chime_timer_start(self.0, options, &schedule.in_c(), id)
        })
    }

    /// An idle timer: `Timer::activate_with` gives it its schedule.
    pub fn create(&self, options: &TimerOptions, function: impl FnMut(&Tick) + Send + 'static) -> Result<Timer, Error> {
        self.timer(options, function, |options, id| unsafe { sys::chime_timer_create(self.0, options, id) })
    }

    fn timer(
        &self,
        options: &TimerOptions,
        function: impl FnMut(&Tick) + Send + 'static,
        make: impl FnOnce(&sys::TimerOptions, *mut sys::TimerId) -> sys::Status,
    ) -> Result<Timer, Error> {
        let label = until_zero(&options.label);
        let handler = |is: bool| if is { Some(on_tick as sys::Handler) } else { None };
        let mut id = 0;
        pass(ticks(function), |context| {
            let in_c = sys::TimerOptions {
                flags: if options.background { sys::TIMER_BACKGROUND } else { 0 },
                handler: handler(true),
                registration_handler: handler(options.armed),
                cancel_handler: handler(options.cancelled),
                context,
                finalizer: Some(finalize),
                label: label.as_ptr(),
                target: options.target,
                ..Default::default()
            };
            make(&in_c, &mut id)
        })
        .map(|_| Timer::adopt(id))
    }

    /// Calls the closure once.
    ///
    /// The closure lives as long as the timer: an `Arc` in it, of an object that holds the timer, keeps both for ever,
    /// ticking or not. A `Weak` does not:
    ///
    /// ```
    /// # use std::{sync::{Arc, Mutex}, time::Duration};
    /// struct Session { idle: Mutex<Option<chime::Timer>> }
    /// # let queue = chime::Queue::new(chime::QueueKind::Virtual)?;
    /// let session = Arc::new(Session { idle: Mutex::new(None) });
    /// let weak = Arc::downgrade(&session);
    /// let timer = queue.after(Duration::from_secs(30), move |_| if let Some(session) = weak.upgrade() { drop(session) })?;
    /// *session.idle.lock().unwrap() = Some(timer);
    /// # Ok::<(), chime::Error>(())
    /// ```
    pub fn after(&self, delay: Duration, function: impl FnMut(&Tick) + Send + 'static) -> Result<Timer, Error> {
        let mut id = 0;
        pass(ticks(function), |context| unsafe {
            sys::chime_timer_after(self.0, nanoseconds(delay), Some(on_tick), context, Some(finalize), &mut id)
        })
        .map(|_| Timer::adopt(id))
    }

    /// Calls the closure again and again, for the first time one interval from now.
    pub fn every(&self, interval: Duration, function: impl FnMut(&Tick) + Send + 'static) -> Result<Timer, Error> {
        let mut id = 0;
        pass(ticks(function), |context| unsafe {
            sys::chime_timer_every(self.0, nanoseconds(interval), Some(on_tick), context, Some(finalize), &mut id)
        })
        .map(|_| Timer::adopt(id))
    }

    /// Calls the closure once. Nobody holds the timer.
    pub fn once(&self, delay: Duration, function: impl FnOnce(&Tick) + Send + 'static) -> Result<(), Error> {
        pass(tick_once(function), |context| unsafe {
            sys::chime_timer_after(self.0, nanoseconds(delay), Some(on_tick), context, Some(finalize), null_mut())
        })
        .map(drop)
    }

    /// Runs the closure on the queue as soon as possible.
    pub fn run_soon(&self, function: impl FnOnce() + Send + 'static) -> Result<(), Error> {
        let mut function = Some(function);
        let call = move |_: Option<&Tick>| function.take().into_iter().for_each(|function| function());
        pass(Box::new(call), |context| unsafe {
            sys::chime_queue_async(self.0, Some(on_function), context, Some(finalize))
        })
        .map(drop)
    }

    /// Runs the closure in mutual exclusion with the queue's handlers, and gives what it gives: the queue as a mutex.
    /// `ErrorKind::TimedOut`: it could not start in time, and will not run. A panic in it is the caller's, wherever it ran.
    ///
    /// A concurrent queue refuses it, because its handlers overlap: lock a `Mutex`, in the closures, too. So does a queue that
    /// you drive (virtual, host-driven) outside its closures: nothing of it runs unless you call `advance` or `process`, so
    /// call the function there; from another thread, `run_soon`.
    pub fn sync<R: Send>(&self, timeout: Duration, function: impl FnOnce() -> R + Send) -> Result<R, Error> {
        struct Sync<R, F> {
            function: Option<F>,
            result: Option<std::thread::Result<R>>,
        }
        // SAFETY: called at most once, before the call below has returned, which waits for it.
        unsafe extern "C" fn run<R, F: FnOnce() -> R>(context: *mut c_void) {
            guard(|| {
                let sync = &mut *context.cast::<Sync<R, F>>();
                sync.result = sync.function.take().map(|function| catch_unwind(AssertUnwindSafe(function)));
            })
        }
        fn of<R, F: FnOnce() -> R>(_: &Sync<R, F>) -> sys::Function {
            run::<R, F>
        }
        let mut sync = Sync { function: Some(function), result: None };
        let call = of(&sync);
        let context: *mut Sync<R, _> = &mut sync;
        let status = carrying(|| unsafe { sys::chime_queue_sync(self.0, Some(call), context.cast(), nanoseconds(timeout)) });
        checked(status)?;
        match sync.result {
            Some(Ok(result)) => Ok(result),
            Some(Err(payload)) => resume_unwind(payload),
            None => unreachable!("chime_queue_sync is CHIME_OK once the function has run"),
        }
    }

    /// The time on the queue's clock.
    pub fn now(&self) -> Result<Instant, Error> {
        filled(|now| unsafe { sys::chime_queue_now(self.0, now) }).map(Instant::from_nanos)
    }

    /// Moves a virtual queue's time from deadline to deadline. What is due runs inside this call. If a closure
    /// panics, the others run, and this call panics with its payload when time has moved. `FOREVER` is refused, because a
    /// timer that repeats would tick for 292 years: to run until no timer is left, advance to `next_deadline` as long as there
    /// is one. `ErrorKind::Busy`, and time has not moved: another thread is advancing the queue, or is dropping the closure of a
    /// timer that it has released; then try again.
    pub fn advance(&self, duration: Duration) -> Result<(), Error> {
        checked(carrying(|| unsafe { sys::chime_queue_advance(self.0, nanoseconds(duration)) })).map(drop)
    }

    /// Moves a virtual queue's time and runs nothing, as a sleeping machine would.
    pub fn jump(&self, duration: Duration) -> Result<(), Error> {
        checked(unsafe { sys::chime_queue_jump(self.0, nanoseconds(duration)) }).map(drop)
    }

    /// The descriptor of a host-driven queue, to poll: readable when `process` has something to do. On Windows a handle, to
    /// wait for. The queue's own.
    pub fn descriptor(&self) -> Result<sys::Waitable, Error> {
        filled(|fd| unsafe { sys::chime_queue_fd(self.0, fd) })
    }

    /// The same descriptor with its lifetime, for what takes an `AsFd`. It is no `AsFd` of the queue, which could not fail:
    /// only host-driven queues have a descriptor, and -1 is none that a `BorrowedFd` could hold.
    #[cfg(unix)]
    pub fn try_as_fd(&self) -> Result<BorrowedFd<'_>, Error> {
        // SAFETY: it is the queue's own, which closes it when it is dropped.
        self.descriptor().map(|fd| unsafe { BorrowedFd::borrow_raw(fd) })
    }

    /// Runs what is due on a host-driven queue, on this thread; how many that were. 0, too, while another thread is inside
    /// the queue for a moment: the descriptor stays readable. If a closure panics, the others run, and this
    /// call panics with its payload at its end.
    pub fn process(&self) -> Result<u32, Error> {
        self.process_at_most(0)
    }

    /// As `process`, at most so many; 0: all.
    pub fn process_at_most(&self, most: u32) -> Result<u32, Error> {
        match filled(|count| carrying(|| unsafe { sys::chime_queue_process(self.0, most, count) })) {
            Err(error) if error.status() == sys::ERROR_BUSY => Ok(0),
            answer => answer,
        }
    }

    /// Drives a host-driven queue on this thread, until no timer is running.
    pub fn run(&self) -> Result<Outcome, Error> {
        checked(carrying(|| unsafe { sys::chime_queue_run(self.0, 0) }))
    }

    /// Drives a host-driven queue on this thread, until `stop`.
    pub fn run_until_stopped(&self) -> Result<Outcome, Error> {
        checked(carrying(|| unsafe { sys::chime_queue_run(self.0, sys::QUEUE_RUN_UNTIL_STOPPED) }))
    }

    /// Drives a host-driven queue on this thread, until something has been called: all that was due then. `is_ignored`: nothing
    /// was, and no timer runs but background ones.
    pub fn run_once(&self) -> Result<Outcome, Error> {
        checked(carrying(|| unsafe { sys::chime_queue_run(self.0, sys::QUEUE_RUN_ONCE) }))
    }

    /// Holds all callbacks of the queue back until as many calls of `resume`; time goes on. `is_running`: one has not
    /// returned.
    pub fn suspend(&self) -> Result<Outcome, Error> {
        checked(unsafe { sys::chime_queue_suspend(self.0) })
    }

    /// Takes one `suspend` back. `is_ignored`: the queue is not suspended.
    pub fn resume(&self) -> Result<Outcome, Error> {
        checked(unsafe { sys::chime_queue_resume(self.0) })
    }

    /// Makes `run` return.
    pub fn stop(&self) -> Result<Outcome, Error> {
        checked(unsafe { sys::chime_queue_stop(self.0) })
    }

    /// When a host-driven or virtual queue next has something to do; `None`: never.
    pub fn next_deadline(&self) -> Result<Option<Instant>, Error> {
        filled(|deadline| unsafe { sys::chime_queue_next_deadline(self.0, deadline) }).map(unless_never)
    }

    /// What the queue has done since it was made.
    pub fn stats(&self) -> Result<QueueStats, Error> {
        filled(|stats| unsafe { sys::chime_queue_get_stats(self.0, stats) }).map(|stats| QueueStats::of(&stats))
    }

    /// The queue's timers that have not been released, those that nobody holds among them.
    pub fn timers(&self) -> Result<Vec<Borrowed>, Error> {
        let (mut ids, mut count) = (Vec::new(), 0);
        loop {
            checked(unsafe { sys::chime_queue_list_timers(self.0, ids.as_mut_ptr(), ids.len(), &mut count) })?;
            if count <= ids.len() {
                return Ok(ids[..count].iter().map(|id| Timer::borrow(*id)).collect());
            }
            ids.resize(count + 8, 0);
        }
    }

    /// A line of text for the queue, and one for each timer.
    pub fn dump(&self) -> Result<String, Error> {
        text(|to, capacity, length| unsafe { sys::chime_queue_dump(self.0, to, capacity, length) })
    }

    /// What dropping does, with its outcome: releases the queue and its timers, and waits until no closure of theirs runs or
    /// will run. Inside one of them it does not wait, and says so by `ErrorKind::WouldDeadlock`. `ErrorKind::TimedOut`: the
    /// queue is released, and a closure runs.
    pub fn shutdown(self, timeout: Duration) -> Result<Outcome, Error> {
        checked(carrying(|| unsafe {
            sys::chime_queue_shutdown(ManuallyDrop::new(self).0, nanoseconds(timeout))
        }))
    }
}

fn until_zero(label: &str) -> CString {
    CString::new(label.split('\0').next().unwrap_or_default()).unwrap_or_default()
}

#[cfg(unix)]
impl AsRawFd for Queue {
    /// As `descriptor`; -1 if the queue is not host-driven.
    fn as_raw_fd(&self) -> RawFd {
        self.descriptor().unwrap_or(-1)
    }
}

impl Drop for Queue {
    /// Waits, without a limit, until a closure that runs has returned: `shutdown` takes a timeout. Inside a closure of the
    /// queue it does not wait. A panic of what is called or dropped in here comes out, unless this thread panics already.
    fn drop(&mut self) {
        // SAFETY: no pointers.
        carrying(|| unsafe { sys::chime_queue_shutdown(self.0, sys::FOREVER) });
    }
}
