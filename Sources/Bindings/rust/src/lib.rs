//! Chime for Rust: timers that may be used in any order and from any thread, do not fire early and do not drift.
//!
//! ```
//! use std::{sync::mpsc::channel, time::Duration};
//!
//! fn main() -> Result<(), chime::Error> {
//!     let queue = chime::Queue::new(chime::QueueKind::Serial)?;
//!     let (send, expired) = channel();
//!     let idle = queue.after(Duration::from_millis(20), move |tick| send.send(tick.sequence).unwrap())?;
//!     idle.postpone(Duration::from_millis(40))?; // at each sign of life
//!     assert_eq!(expired.recv().unwrap(), 1);
//!     Ok(())
//! }
//! ```
//!
//! [`Queue`] and [`Timer`] own their ids, and are ended when they are dropped. Chime owns a closure from the call that takes
//! it, and drops it, once, after the last call. Closures are `Send`, since on most queues they are called on other threads,
//! one call of a timer at a time. A panic in a closure that runs inside a call of the caller's own (`advance`, `process`, `run`,
//! `sync`, `release`, `shutdown`, a drop) comes out of that call; on a thread of Chime's it ends the process.
//!
//! Calls answer an [`Outcome`], or an [`Error`] with Chime's sentence on what was wrong. That a call was ignored, that a closure
//! runs, or both, is an outcome and no error.
//!
//! On a virtual queue time moves only when `advance` is called, so tests take no time:
//!
//! ```
//! # use std::{sync::atomic::{AtomicU32, Ordering}, sync::Arc, time::Duration};
//! # fn main() -> Result<(), chime::Error> {
//! let queue = chime::Queue::new(chime::QueueKind::Virtual)?;
//! let ticks = Arc::new(AtomicU32::new(0));
//! let counted = ticks.clone();
//! let _heartbeat = queue.every(Duration::from_secs(60), move |_| { counted.fetch_add(1, Ordering::Relaxed); })?;
//! queue.advance(Duration::from_secs(3600))?;
//! assert_eq!(ticks.load(Ordering::Relaxed), 60);
//! # Ok(())
//! # }
//! ```
//!
//! # Async
//!
//! [`Queue::sleep`] and [`Queue::ticks`] are awaited on any executor: a queue on threads of Chime's wakes it. A host-driven queue runs
//! its closures on the executor's own thread, as one more descriptor of its loop ([`Queue::try_as_fd`]). With tokio:
//!
//! ```ignore
//! let fd = AsyncFd::with_interest(queue.try_as_fd()?, Interest::READABLE)?;
//! loop {
//!     let mut ready = fd.readable().await?;
//!     while queue.process()? > 0 {} // before clear_ready, which waits for the next change
//!     ready.clear_ready();
//! }
//! ```
//!
//! With async-io, under smol or async-std:
//!
//! ```ignore
//! let fd = Async::new(queue.try_as_fd()?)?;
//! loop {
//!     fd.readable().await?;
//!     queue.process()?;
//! }
//! ```
//!
//! Run the loop as a task, or beside the program: `select!`, `future::or`.
//!
//! # Linking
//!
//! The build script asks pkg-config for an installed libchime. `CHIME_DIR` names an unpacked release instead, whose archive
//! `lib/libchime.a` becomes part of the program; with `CHIME_LINK=shared`, its shared library is linked.
#![deny(missing_docs)]
#![warn(rust_2018_idioms)]

mod callback;
mod error;
mod futures;
mod instant;
mod queue;
pub mod sys;
mod timer;
mod values;

pub use error::{Error, ErrorKind, Outcome};
pub use futures::{Sleep, Ticks};
pub use instant::Instant;
pub use queue::{Queue, QueueOptions};
pub use timer::{Borrowed, Timer, TimerOptions};
pub use values::{
    Class, Clock, MissedPolicy, QueueKind, QueueStats, ResumePolicy, Schedule, State, Tick, TickKind, TimerInfo, FOREVER,
};

use error::{checked, filled};
use std::ffi::CString;
use std::ptr::null;

/// The version of the libchime that is loaded: major, minor, patch.
pub fn version() -> (u32, u32, u32) {
    // SAFETY: no pointers.
    let number = unsafe { sys::chime_version() };
    (number >> 16, number >> 8 & 255, number & 255)
}

/// The time on a clock of the system.
pub fn now(clock: Clock) -> Result<Instant, Error> {
    // SAFETY: `filled` passes a valid pointer.
    filled(|now| unsafe { sys::chime_now(clock as u32, now) }).map(Instant::from_nanos)
}

/// Puts the calling thread to sleep until a point on a clock of the system.
pub fn sleep_until(clock: Clock, deadline: Instant) -> Result<(), Error> {
    // SAFETY: no pointers.
    checked(unsafe { sys::chime_sleep_until(clock as u32, deadline.as_nanos()) }).map(drop)
}

/// How many bytes libchime holds.
pub fn memory_used() -> u64 {
    // SAFETY: no pointers.
    unsafe { sys::chime_memory_used() }
}

/// Writes what happens to all timers from now on to a file for Perfetto (ui.perfetto.dev). `None` ends it.
pub fn trace_to_file(path: Option<&str>) -> Result<Outcome, Error> {
    let path = match path.map(CString::new).transpose() {
        Ok(path) => path,
        Err(_) => return Err(Error::with(sys::ERROR_INVALID_ARGUMENT, "the path has a zero byte in it")),
    };
    // SAFETY: a string that lives until the call has returned, or NULL.
    checked(unsafe { sys::chime_trace_to_file(path.as_ref().map_or(null(), |path| path.as_ptr())) })
}

/// Lets a forked child use Chime: queues and timers from before the fork are stale there.
pub fn reinitialize() -> Result<Outcome, Error> {
    // SAFETY: no pointers.
    checked(unsafe { sys::chime_reinitialize() })
}
