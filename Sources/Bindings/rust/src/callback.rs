//! Closures that Chime owns.

use crate::error::{checked, Error, Outcome};
use crate::sys;
use crate::values::Tick;
use std::ffi::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// A tick's closure gets a tick, a function's none.
pub(crate) type Call = Box<dyn FnMut(Option<&Tick>) + Send>;

/// Nothing may unwind into C. The payload is not dropped, because that could panic, too.
pub(crate) fn guard(body: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(body)) {
        std::mem::forget(payload);
        std::process::abort(); // the panic has printed its message
    }
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

/// Passes a closure to Chime, which owns it from then on if `call`, given its address, succeeds.
pub(crate) fn pass(function: Call, call: impl FnOnce(*mut c_void) -> sys::Status) -> Result<Outcome, Error> {
    let context = Box::into_raw(Box::new(function));
    checked(call(context.cast())).map_err(|error| {
        // SAFETY: it was not accepted.
        drop(unsafe { Box::from_raw(context) });
        error
    })
}
