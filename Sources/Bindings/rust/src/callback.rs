//! Closures that Chime owns.

use crate::error::{checked, Error, Outcome};
use crate::sys;
use crate::values::Tick;
use std::any::Any;
use std::cell::Cell;
use std::ffi::c_void;
use std::mem::forget;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::null;
use std::thread::panicking;

/// A tick's closure gets a tick, a function's none.
pub(crate) type Call = Box<dyn FnMut(Option<&Tick>) + Send>;

type Payload = Box<dyn Any + Send>;

/// A call that runs closures and is under way. It lives on the stack of its thread.
struct Frame {
    outer: *const Frame,
    first: Cell<Option<Payload>>, // the first panic in it
}

thread_local! {
    /// A pointer, which needs no destructor: so calls work in those of other thread-locals, too.
    static INNERMOST: Cell<*const Frame> = const { Cell::new(null()) };
}

/// Nothing may unwind into C. A panic waits for the end of the call that runs the closure, if that is one of this thread's;
/// elsewhere it ends the process, having printed its message.
pub(crate) fn guard(body: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(body)) {
        let innermost = INNERMOST.with(Cell::get);
        if innermost.is_null() {
            forget(payload);
            std::process::abort();
        }
        // SAFETY: the frame of a call of this thread, which has not returned.
        let frame = unsafe { &*innermost };
        match frame.first.take() {
            None => frame.first.set(Some(payload)),
            first => {
                frame.first.set(first);
                discard(payload);
            }
        }
    }
}

/// Drops a payload. One that panics then is leaked.
fn discard(payload: Payload) {
    if let Err(worse) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        forget(worse);
    }
}

/// Makes a call that runs closures on this thread, and panics with what has panicked in it; in a destructor while this thread
/// panics already, where a second panic would end the process, with nothing.
pub(crate) fn carrying<R>(call: impl FnOnce() -> R) -> R {
    let frame = Frame { outer: INNERMOST.with(Cell::get), first: Cell::new(None) };
    INNERMOST.with(|innermost| innermost.set(&frame));
    let result = call();
    INNERMOST.with(|innermost| innermost.set(frame.outer));
    match frame.first.take() {
        Some(payload) if panicking() => forget(payload), // its drop may panic, too
        Some(payload) => resume_unwind(payload),
        None => (),
    }
    result
}

// SAFETY, of all three: the pointer came from `pass`; calls of one timer never overlap; the finalizer is called once and
// last. A tick is valid for the length of the call.
pub(crate) unsafe extern "C" fn on_tick(tick: *const sys::Tick, context: *mut c_void) {
    guard(|| (*context.cast::<Call>())(Some(&Tick::of(&*tick))))
}
pub(crate) unsafe extern "C" fn on_function(context: *mut c_void) {
    guard(|| (*context.cast::<Call>())(None))
}
pub(crate) unsafe extern "C" fn finalize(context: *mut c_void) {
    guard(|| drop(Box::from_raw(context.cast::<Call>())))
}

pub(crate) fn ticks(mut function: impl FnMut(&Tick) + Send + 'static) -> Call {
    Box::new(move |tick| {
        if let Some(tick) = tick {
            function(tick)
        }
    })
}

/// Of a closure that is called once: a restart in it is one of a timer that has nothing to call any more.
pub(crate) fn tick_once(function: impl FnOnce(&Tick) + Send + 'static) -> Call {
    let mut function = Some(function);
    Box::new(move |tick| {
        if let (Some(tick), Some(function)) = (tick, function.take()) {
            function(tick)
        }
    })
}

/// Passes a closure to Chime, which owns it from then on if `call`, given its address, succeeds.
pub(crate) fn pass(function: Call, call: impl FnOnce(*mut c_void) -> sys::Status) -> Result<Outcome, Error> {
    let context = Box::into_raw(Box::new(function));
    checked(call(context.cast())).map_err(|error| {
        // SAFETY: it was not accepted.
        drop(unsafe { Box::from_raw(context) });
        error
    })
}
