//! What a call answers.

use crate::sys;
use std::ffi::CStr;
use std::fmt;
use std::os::raw::c_char;
use std::ptr::null_mut;

/// What became of a call that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
#[non_exhaustive]
pub enum Outcome {
    /// It took effect.
    Ok = 0,
    /// It means nothing in this state, and changed nothing.
    Ignored = 1,
    /// It took effect; a handler that had started has not returned yet.
    Running = 2,
    /// It ended because a stop was requested.
    Stopped = 3,
    /// The timeout ended first; whatever else the call does is in effect.
    TimedOut = 4,
}

impl fmt::Display for Outcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(name(*self as i32))
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
    /// One that this crate does not know.
    Other,
}

/// A call that failed and changed nothing.
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

    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        match self.status {
            -1 => ErrorKind::InvalidArgument,
            -2 => ErrorKind::InvalidHandle,
            -3 => ErrorKind::Limit,
            -4 => ErrorKind::NoMemory,
            -5 => ErrorKind::WouldDeadlock,
            -6 => ErrorKind::Busy,
            -7 => ErrorKind::WrongThread,
            -8 => ErrorKind::TargetGone,
            -9 => ErrorKind::ShutDown,
            -10 => ErrorKind::Unsupported,
            -11 => ErrorKind::Permission,
            -12 => ErrorKind::Resource,
            -13 => ErrorKind::Forked,
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
    match status {
        0 => Ok(Outcome::Ok),
        1 => Ok(Outcome::Ignored),
        2 => Ok(Outcome::Running),
        3 => Ok(Outcome::Stopped),
        4 => Ok(Outcome::TimedOut),
        _ => {
            // SAFETY: valid until this thread asks again.
            let told = unsafe { CStr::from_ptr(sys::chime_last_error_detail()) };
            let sentence = if told.to_bytes().is_empty() {
                // SAFETY: the string is static.
                unsafe { CStr::from_ptr(sys::chime_status_message(status)) }
            } else {
                told
            };
            Err(Error { status, detail: sentence.to_string_lossy().into_owned() })
        }
    }
}

/// What the call writes through its last parameter.
pub(crate) fn filled<T: Default>(call: impl FnOnce(*mut T) -> sys::Status) -> Result<T, Error> {
    let mut value = T::default();
    checked(call(&mut value)).map(|_| value)
}

/// Has a C function write its text.
pub(crate) fn text(write: impl Fn(*mut c_char, u64, *mut u64) -> sys::Status) -> Result<String, Error> {
    let mut length = 0;
    checked(write(null_mut(), 0, &mut length))?;
    let mut bytes = vec![0u8; length as usize + 1];
    checked(write(bytes.as_mut_ptr().cast(), bytes.len() as u64, null_mut()))?;
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(0); // it may be shorter by now
    Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
}
