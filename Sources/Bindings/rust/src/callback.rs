//! Closures that Chime owns.

use crate::error::{checked, Error, Outcome};
use crate::sys;
use crate::values::Tick;
use std::any::Any;
use std::cell::RefCell;
use std::ffi::c_void;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

/// A tick's closure gets a tick, a function's none.
pub(crate) type Call = Box<dyn FnMut(Option<&Tick>) + Send>;

thread_local! {
    /// The calls of this thread that run closures and are under way, and the first panic in each.
    static CALLS: RefCell<Vec<Option<Box<dyn Any + Send>>>> = RefCell::new(Vec::new());
}

/// Nothing may unwind into C. A panic waits for the end of the call that runs the closure, if that is one of this thread's;
/// elsewhere it ends the process, having printed its message.
pub(crate) fn guard(body: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(body)) {
        let is_of_a_call = CALLS.with(|calls| calls.try_borrow().map_or(false, |calls| !calls.is_empty()));
        if !is_of_a_call {
            std::mem::forget(payload);
            std::process::abort();
        }
        let another = CALLS.with(|calls| match calls.borrow_mut().last_mut() {
            Some(first @ None) => first.replace(payload),
            _ => Some(payload),
        });
        // What panics in the drop of a payload is leaked.
        if let Err(worse) = catch_unwind(AssertUnwindSafe(|| drop(another))) {
            std::mem::forget(worse);
        }
    }
}

/// Makes a call that runs closures on this thread, and panics with what has panicked in it.
pub(crate) fn carrying<R>(call: impl FnOnce() -> R) -> R {
    CALLS.with(|calls| calls.borrow_mut().push(None));
    let result = call();
    match CALLS.with(|calls| calls.borrow_mut().pop()) {
        Some(Some(payload)) => resume_unwind(payload),
        _ => result,
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
