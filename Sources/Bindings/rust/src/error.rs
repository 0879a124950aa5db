//! What a call answers.

use crate::sys;
use std::ffi::CStr;
use std::fmt;
use std::ops::BitOr;
use std::os::raw::c_char;
use std::ptr::null_mut;

/// What became of a call that did not fail: a set, since nothing may have been changed while a closure runs.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Outcome(sys::Status);

impl Outcome {
    /// It took effect, and no closure runs.
    pub const OK: Outcome = Outcome(sys::OK);
    /// `is_ignored` alone.
    pub const IGNORED: Outcome = Outcome(sys::IGNORED);
    /// `is_running` alone.
    pub const RUNNING: Outcome = Outcome(sys::RUNNING);
    /// `is_stopped` alone.
    pub const STOPPED: Outcome = Outcome(sys::STOPPED);

    /// The call means nothing in this state, and changed nothing: there was no tick to take back.
    pub fn is_ignored(self) -> bool {
        self.0 & sys::IGNORED != 0
    }

    /// A closure that had started has not returned yet: what it uses is still in use.
    pub fn is_running(self) -> bool {
        self.0 & sys::RUNNING != 0
    }

    /// Of `run`: a stop was requested.
    pub fn is_stopped(self) -> bool {
        self.0 & sys::STOPPED != 0
    }
}

/// Both: `Outcome::IGNORED | Outcome::RUNNING`.
impl BitOr for Outcome {
    type Output = Outcome;
    fn bitor(self, other: Outcome) -> Outcome {
        Outcome(self.0 | other.0)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(name(self.0))
    }
}

impl fmt::Debug for Outcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{self}")
    }
}

/// What kind of failure an [`Error`] is.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// An argument is out of range, or contradicts another.
    InvalidArgument,
    /// The queue, the timer or the target is gone.
    InvalidHandle,
    /// A configured or built-in limit is reached.
    Limit,
    /// Out of memory.
    NoMemory,
    /// What it would wait for waits for the caller.
    WouldDeadlock,
    /// Another thread is inside this queue.
    Busy,
    /// Only one particular thread may do this.
    WrongThread,
    /// The timer's target no longer exists.
    TargetGone,
    /// The queue was shut down during the call.
    ShutDown,
    /// Not possible with this kind of queue, clock or platform.
    Unsupported,
    /// The operating system denies it.
    Permission,
    /// No threads, descriptors or the like are left.
    Resource,
    /// This is a forked child.
    Forked,
    /// A closure had not returned when the timeout ended. What else the call does is in effect: the timer is cancelled or
    /// released, the queue is released, the closure of `sync` will not run.
    TimedOut,
    /// One that this crate does not know.
    Other,
}

/// A call that failed and changed nothing, unless its kind says otherwise.
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    status: sys::Status,
    detail: String,
}

impl Error {
    /// The status in C: `sys::ERROR_BUSY` and so on.
    pub fn status(&self) -> i32 {
        self.status
    }

    /// One of the crate's own: no call has failed.
    pub(crate) fn with(status: sys::Status, detail: &str) -> Error {
        Error { status, detail: detail.into() }
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        match self.status {
            sys::ERROR_INVALID_ARGUMENT => ErrorKind::InvalidArgument,
            sys::ERROR_INVALID_HANDLE => ErrorKind::InvalidHandle,
            sys::ERROR_LIMIT => ErrorKind::Limit,
            sys::ERROR_NO_MEMORY => ErrorKind::NoMemory,
            sys::ERROR_WOULD_DEADLOCK => ErrorKind::WouldDeadlock,
            sys::ERROR_BUSY => ErrorKind::Busy,
            sys::ERROR_WRONG_THREAD => ErrorKind::WrongThread,
            sys::ERROR_TARGET_GONE => ErrorKind::TargetGone,
            sys::ERROR_SHUT_DOWN => ErrorKind::ShutDown,
            sys::ERROR_UNSUPPORTED => ErrorKind::Unsupported,
            sys::ERROR_PERMISSION => ErrorKind::Permission,
            sys::ERROR_RESOURCE => ErrorKind::Resource,
            sys::ERROR_FORKED => ErrorKind::Forked,
            sys::ERROR_TIMED_OUT => ErrorKind::TimedOut,
            _ => ErrorKind::Other,
        }
    }

    /// Its name in C: `CHIME_ERROR_BUSY`.
    pub fn name(&self) -> &'static str {
        name(self.status)
    }

    /// What was wrong, in a sentence: "schedule.leeway_ns (5 ms) is not below interval_ns (1 ms)"; where Chime has none on
    /// the call, what the status means.
    pub fn detail(&self) -> &str {
        &self.detail
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.name(), self.detail)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{self}")
    }
}

impl std::error::Error for Error {}

pub(crate) fn name(status: sys::Status) -> &'static str {
    // SAFETY: the string is static.
    unsafe { CStr::from_ptr(sys::chime_status_name(status)) }.to_str().unwrap_or_default()
}

/// A status as the crate's users have it. The sentence is the calling thread's: this comes right after the call.
pub(crate) fn checked(status: sys::Status) -> Result<Outcome, Error> {
    if status >= 0 {
        return Ok(Outcome(status));
    }
    // SAFETY: valid until this thread asks again.
    let told = unsafe { CStr::from_ptr(sys::chime_last_error_detail()) };
    let sentence = if told.to_bytes().is_empty() {
        // SAFETY: the string is static.
        unsafe { CStr::from_ptr(sys::chime_status_message(status)) }
    } else {
        told
    };
    let in_c = sentence.to_string_lossy().into_owned();
    let detail = IN_RUST.iter().fold(in_c, |text, (c, rust)| if text.contains(c) { text.replace(c, rust) } else { text });
    Err(Error { status, detail })
}

/// What sentences say of C, and its name here.
const IN_RUST: [(&str, &str); 3] = [
    ("chime_queue_async", "run_soon"),
    ("chime_reinitialize", "chime::reinitialize"),
    ("schedule is NULL", "no schedule is given"),
];

/// What the call writes through its last parameter.
pub(crate) fn filled<T: Default>(call: impl FnOnce(*mut T) -> sys::Status) -> Result<T, Error> {
    let mut value = T::default();
    checked(call(&mut value)).map(|_| value)
}

/// Has a C function write its text.
pub(crate) fn text(write: impl Fn(*mut c_char, usize, *mut usize) -> sys::Status) -> Result<String, Error> {
    let mut length = 0;
    checked(write(null_mut(), 0, &mut length))?;
    let mut bytes = vec![0u8; length + 1];
    checked(write(bytes.as_mut_ptr().cast(), bytes.len(), null_mut()))?;
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(0); // it may be shorter by now
    Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
}
