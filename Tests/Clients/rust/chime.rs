//! Chime for Rust, without crates: `mod chime;` with a copy of this file, and the library linked by name.
//!
//! `Queue` and `Timer` own their ids, and are ended when they are dropped. Chime owns a closure from the call that takes it,
//! and its finalizer drops it, once, after the last call. Closures are `Send`, since on most queues they are called on other
//! threads, one call of a timer at a time. A panic must not leave a callback: `guard` ends the process instead.
//!
//! What makes something answers a `Result`. Other calls answer a `Status`, which says what became of the call.
//! What the wrapper does not have (targets, records, information) is called by its C names, with the objects' ids. Those
//! calls are `unsafe` for their pointers only: any number may be passed as an id.
#![allow(dead_code)]

use std::ffi::{c_void, CStr, CString};
use std::mem::{size_of, zeroed, MaybeUninit};
use std::os::raw::c_char;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::{addr_of, null, null_mut};
use std::time::Duration;

// ---- chime.h --------------------------------------------------------------------------------------------------------

pub type Status = i32;
pub type QueueId = u64;
pub type TimerId = u64;
pub type TargetId = u64;
pub type Handler = unsafe extern "C" fn(*const Tick, *mut c_void);
pub type Function = unsafe extern "C" fn(*mut c_void); // finalizers too

pub const OK: Status = 0;
pub const IGNORED: Status = 1;
pub const RUNNING: Status = 2;
pub const TIMED_OUT: Status = 4;
pub const FOREVER: i64 = i64::MAX;
pub const QUEUE_SERIAL: i32 = 0;
pub const QUEUE_CONCURRENT: i32 = 1;
pub const QUEUE_HOST: i32 = 2;
pub const QUEUE_PRECISE: i32 = 3;
pub const QUEUE_VIRTUAL: i32 = 4;
pub const QUEUE_RECORDS: u32 = 4;
pub const SCHEDULE_DEADLINE: u32 = 1;
pub const RESUME_REMAINING: i32 = 1;
pub const RECORD_ALL: u32 = 2 | 4 | 8; // CHIME_TIMER_RECORD_ARMED, _CANCELLED, _FINALIZE
pub const KINDS: [&str; 6] = ["DUE", "FIRED", "ARMED", "CANCELLED", "FINALIZE", "FUNCTION"];

/// Declares structures as C does, and `layout`, which lists their sizes and offsets under the names of C.
macro_rules! structures {
    ($($c_name:literal $name:ident { $($member:ident: $type:ty,)* })*) => {
        $(#[repr(C)] #[derive(Clone, Copy)] pub struct $name { $(pub $member: $type,)* })*

        pub fn layout() -> Vec<(String, usize)> {
            let mut list = Vec::new();
            $({
                list.push(($c_name.to_string(), size_of::<$name>()));
                let place = MaybeUninit::<$name>::uninit();
                $(
                    // SAFETY: the address of a member is taken, nothing is read.
                    let member = unsafe { addr_of!((*place.as_ptr()).$member) };
                    let offset = member as usize - place.as_ptr() as usize;
                    list.push((format!("{}.{}", $c_name, stringify!($member)), offset));
                )*
            })*
            list
        }
    };
}

structures! {
    "chime_tick" Tick {
        timer: TimerId, generation: u64, sequence: u64, missed: u64, scheduled_ns: i64, actual_ns: i64,
        context: *mut c_void, target: *mut c_void, kind: i32, reserved: u32,
    }
    "chime_queue_options" QueueOptions {
        size: u32, flags: u32, label: *const c_char, qos: i32, clock: i32, timer_limit: u64, start_ns: i64,
        enter: Option<Function>, leave: Option<Function>, hook_context: *mut c_void, affinity: u64,
        realtime_priority: i32, reserved: u32,
    }
    "chime_schedule" Schedule {
        size: u32, flags: u32, first_ns: i64, interval_ns: i64, leeway_ns: i64, tick_limit: u64, missed_policy: i32,
        resume_policy: i32,
    }
    "chime_timer_options" TimerOptions {
        size: u32, flags: u32, handler: Option<Handler>, registration_handler: Option<Handler>,
        cancel_handler: Option<Handler>, context: *mut c_void, finalizer: Option<Function>, label: *const c_char,
        target: TargetId,
    }
    "chime_timer_info" TimerInfo {
        size: u32, state: i32, queue: QueueId, generation: u64, sequence: u64, next_deadline_ns: i64, remaining_ns: i64,
        interval_ns: i64, leeway_ns: i64, tick_limit: u64, due_count: u64, busy: i32, has_schedule: i32, missed: u64,
    }
}

/// Zero is the default of every member but `size`.
macro_rules! sized {
    ($($name:ident)*) => {
        $(impl Default for $name {
            fn default() -> Self {
                // SAFETY: numbers, pointers and optional functions, for all of which zero is a value.
                $name { size: size_of::<$name>() as u32, ..unsafe { zeroed() } }
            }
        })*
    };
}

sized! { QueueOptions Schedule TimerOptions TimerInfo }

#[link(name = "chime")]
extern "C" {
    pub fn chime_version() -> u32;
    pub fn chime_status_name(status: Status) -> *const c_char;
    pub fn chime_last_error_detail() -> *const c_char;
    pub fn chime_queue_create(kind: i32, options: *const QueueOptions, queue: *mut QueueId) -> Status;
    pub fn chime_queue_shutdown(queue: QueueId, timeout_ns: i64) -> Status;
    pub fn chime_queue_async(
        queue: QueueId,
        function: Option<Function>,
        context: *mut c_void,
        finalizer: Option<Function>,
    ) -> Status;
    pub fn chime_queue_now(queue: QueueId, now_ns: *mut i64) -> Status;
    pub fn chime_queue_advance(queue: QueueId, duration_ns: i64) -> Status;
    pub fn chime_queue_jump(queue: QueueId, duration_ns: i64) -> Status;
    pub fn chime_queue_fd(queue: QueueId, fd: *mut i32) -> Status;
    pub fn chime_queue_process(queue: QueueId, max: u32, count: *mut u32) -> Status;
    pub fn chime_queue_run(queue: QueueId, flags: u32) -> Status;
    pub fn chime_queue_dump(queue: QueueId, text: *mut c_char, capacity: u64, length: *mut u64) -> Status;
    pub fn chime_queue_take_ticks(
        queue: QueueId,
        ticks: *mut Tick,
        tick_size: u32,
        capacity: u32,
        count: *mut u32,
    ) -> Status;
    pub fn chime_timer_start(
        queue: QueueId,
        options: *const TimerOptions,
        schedule: *const Schedule,
        timer: *mut TimerId,
    ) -> Status;
    pub fn chime_timer_after(
        queue: QueueId,
        delay_ns: i64,
        handler: Option<Handler>,
        context: *mut c_void,
        finalizer: Option<Function>,
        timer: *mut TimerId,
    ) -> Status;
    pub fn chime_timer_every(
        queue: QueueId,
        interval_ns: i64,
        handler: Option<Handler>,
        context: *mut c_void,
        finalizer: Option<Function>,
        timer: *mut TimerId,
    ) -> Status;
    pub fn chime_timer_activate(timer: TimerId, schedule: *const Schedule) -> Status;
    pub fn chime_timer_restart(timer: TimerId, schedule: *const Schedule) -> Status;
    pub fn chime_timer_reschedule(timer: TimerId, schedule: *const Schedule) -> Status;
    pub fn chime_timer_fire(timer: TimerId) -> Status;
    pub fn chime_timer_explain(timer: TimerId, text: *mut c_char, capacity: u64, length: *mut u64) -> Status;
    pub fn chime_timer_cancel_and_wait(timer: TimerId, timeout_ns: i64) -> Status;
    pub fn chime_timer_suspend(timer: TimerId) -> Status;
    pub fn chime_timer_resume(timer: TimerId) -> Status;
    pub fn chime_timer_postpone(timer: TimerId, delay_ns: i64) -> Status;
    pub fn chime_timer_cancel(timer: TimerId) -> Status;
    pub fn chime_timer_release(timer: TimerId) -> Status;
    pub fn chime_timer_check_generation(timer: TimerId, generation: u64) -> Status;
    pub fn chime_timer_state(timer: TimerId, state: *mut i32) -> Status;
    pub fn chime_timer_get_info(timer: TimerId, info: *mut TimerInfo) -> Status;
    pub fn chime_target_create(object: *mut c_void, destructor: Option<Function>, target: *mut TargetId) -> Status;
    pub fn chime_target_retain(target: TargetId, object: *mut *mut c_void) -> Status;
    pub fn chime_target_release(target: TargetId) -> Status;
}

// ---- The wrapper ----------------------------------------------------------------------------------------------------

pub fn name(status: Status) -> &'static str {
    // SAFETY: the string is static.
    unsafe { CStr::from_ptr(chime_status_name(status)) }.to_str().unwrap()
}

/// A call that failed: its status, and Chime's sentence on the argument, if it has one for that.
pub struct Error(pub Status, pub String);

impl std::fmt::Display for Error {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        let separator = if self.1.is_empty() { "" } else { ": " };
        write!(out, "{}{separator}{}", name(self.0), self.1)
    }
}

impl std::fmt::Debug for Error {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(out, "{self}")
    }
}

impl std::error::Error for Error {}

/// What did not fail is an answer: OK, IGNORED, RUNNING and the like.
pub fn checked(status: Status) -> Result<Status, Error> {
    if status >= 0 {
        return Ok(status);
    }
    let detail = match status {
        // SAFETY: valid until this thread asks again.
        -1 | -3 | -10 | -12 => unsafe { CStr::from_ptr(chime_last_error_detail()) }.to_string_lossy().into_owned(),
        _ => String::new(),
    };
    Err(Error(status, detail))
}

fn guard(body: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(body)).is_err() {
        std::process::abort(); // the panic has printed its message
    }
}

/// Saturates: what is beyond 292 years is never.
fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(FOREVER)
}

/// Has a C function write its text; empty if it fails.
fn text(write: impl Fn(*mut c_char, u64, *mut u64) -> Status) -> String {
    let mut length = 0;
    if write(null_mut(), 0, &mut length) != OK {
        return String::new();
    }
    let mut bytes = vec![0u8; length as usize + 1];
    if write(bytes.as_mut_ptr().cast(), bytes.len() as u64, null_mut()) != OK {
        return String::new();
    }
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(0); // it may be shorter by now
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

impl Schedule {
    pub fn once(delay: Duration) -> Schedule {
        Schedule { first_ns: nanoseconds(delay), ..Default::default() }
    }
    pub fn every(interval: Duration) -> Schedule {
        Schedule { interval_ns: nanoseconds(interval), ..Schedule::once(interval) }
    }
}

type Call = Box<dyn FnMut(Option<&Tick>) + Send>;

// SAFETY, of all three: the pointer came from `Queue::pass`; calls of one timer never overlap; the finalizer is called once
// and last.
pub unsafe extern "C" fn on_tick(tick: *const Tick, context: *mut c_void) {
    guard(|| (*context.cast::<Call>())(Some(&*tick)))
}
unsafe extern "C" fn on_function(context: *mut c_void) {
    guard(|| (*context.cast::<Call>())(None))
}
unsafe extern "C" fn finalize(context: *mut c_void) {
    guard(|| drop(Box::from_raw(context.cast::<Call>())))
}

/// A queue of one's own: shut down when it is dropped; its closures have ended then.
pub struct Queue(QueueId);

/// A timer of one's own: released when it is dropped. Its queue may end before.
#[must_use = "a timer that is dropped does not tick; `once` is for those that nobody holds"]
pub struct Timer(TimerId);

impl Queue {
    /// `kind`: QUEUE_SERIAL and so on.
    pub fn new(kind: i32) -> Result<Queue, Error> {
        Queue::with(kind, &QueueOptions::default())
    }

    /// With a name, which `dump` shows.
    pub fn labelled(kind: i32, label: &str) -> Result<Queue, Error> {
        let label = CString::new(label).unwrap_or_default();
        Queue::with(kind, &QueueOptions { label: label.as_ptr(), ..Default::default() })
    }

    pub fn with(kind: i32, options: &QueueOptions) -> Result<Queue, Error> {
        let mut id = 0;
        checked(unsafe { chime_queue_create(kind, options, &mut id) }).map(|_| Queue(id))
    }

    pub fn id(&self) -> QueueId {
        self.0
    }

    /// Passes a closure to Chime, which owns it from then on if `call`, given its address, succeeds.
    fn pass(function: Call, call: impl FnOnce(*mut c_void) -> Status) -> Result<Status, Error> {
        let context = Box::into_raw(Box::new(function));
        checked(call(context.cast())).map_err(|error| {
            // SAFETY: it was not accepted.
            drop(unsafe { Box::from_raw(context) });
            error
        })
    }

    fn ticks(mut function: impl FnMut(&Tick) + Send + 'static) -> Call {
        Box::new(move |tick| function(tick.expect("a tick")))
    }

    /// Options but for handler, context and finalizer, which are the closure's.
    pub fn start(
        &self,
        mut options: TimerOptions,
        schedule: &Schedule,
        function: impl FnMut(&Tick) + Send + 'static,
    ) -> Result<Timer, Error> {
        let mut id = 0;
        Queue::pass(Queue::ticks(function), |context| {
            options.handler = Some(on_tick);
            options.context = context;
            options.finalizer = Some(finalize);
            unsafe { chime_timer_start(self.0, &options, schedule, &mut id) }
        })
        .map(|_| Timer(id))
    }

    /// Calls the closure once.
    pub fn after(&self, delay: Duration, function: impl FnMut(&Tick) + Send + 'static) -> Result<Timer, Error> {
        let mut id = 0;
        Queue::pass(Queue::ticks(function), |context| unsafe {
            chime_timer_after(self.0, nanoseconds(delay), Some(on_tick), context, Some(finalize), &mut id)
        })
        .map(|_| Timer(id))
    }

    /// Calls the closure again and again, for the first time one interval from now.
    pub fn every(&self, interval: Duration, function: impl FnMut(&Tick) + Send + 'static) -> Result<Timer, Error> {
        let mut id = 0;
        Queue::pass(Queue::ticks(function), |context| unsafe {
            chime_timer_every(self.0, nanoseconds(interval), Some(on_tick), context, Some(finalize), &mut id)
        })
        .map(|_| Timer(id))
    }

    /// Calls the closure once. Nobody holds the timer.
    pub fn once(&self, delay: Duration, function: impl FnMut(&Tick) + Send + 'static) -> Result<Status, Error> {
        Queue::pass(Queue::ticks(function), |context| unsafe {
            chime_timer_after(self.0, nanoseconds(delay), Some(on_tick), context, Some(finalize), null_mut())
        })
    }

    /// Runs the closure on the queue as soon as possible.
    pub fn run_soon(&self, mut function: impl FnMut() + Send + 'static) -> Result<Status, Error> {
        Queue::pass(Box::new(move |_| function()), |context| unsafe {
            chime_queue_async(self.0, Some(on_function), context, Some(finalize))
        })
    }

    /// Moves a virtual queue's time. What is due runs inside this call.
    pub fn advance(&self, duration: Duration) -> Result<Status, Error> {
        checked(unsafe { chime_queue_advance(self.0, nanoseconds(duration)) })
    }

    /// Runs what is due on a host-driven queue, on this thread.
    pub fn process(&self) -> Result<Status, Error> {
        checked(unsafe { chime_queue_process(self.0, 0, null_mut()) })
    }

    /// Drives a host-driven queue on this thread, until no timer is running.
    pub fn run(&self) -> Result<Status, Error> {
        checked(unsafe { chime_queue_run(self.0, 0) })
    }

    /// A line of text for the queue, and one for each timer.
    pub fn dump(&self) -> String {
        text(|to, capacity, length| unsafe { chime_queue_dump(self.0, to, capacity, length) })
    }

    pub fn shutdown(self) -> Status {
        let status = unsafe { chime_queue_shutdown(self.0, FOREVER) };
        std::mem::forget(self);
        status
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        unsafe { chime_queue_shutdown(self.0, FOREVER) };
    }
}

impl Timer {
    /// Takes over an id.
    pub fn adopt(id: TimerId) -> Timer {
        Timer(id)
    }
    pub fn id(&self) -> TimerId {
        self.0
    }
    pub fn activate(&self) -> Status {
        unsafe { chime_timer_activate(self.0, null()) }
    }
    pub fn restart(&self, schedule: &Schedule) -> Status {
        unsafe { chime_timer_restart(self.0, schedule) }
    }
    pub fn reschedule(&self, schedule: &Schedule) -> Status {
        unsafe { chime_timer_reschedule(self.0, schedule) }
    }
    pub fn suspend(&self) -> Status {
        unsafe { chime_timer_suspend(self.0) }
    }
    pub fn resume(&self) -> Status {
        unsafe { chime_timer_resume(self.0) }
    }
    /// IGNORED: the tick has started already.
    pub fn postpone(&self, delay: Duration) -> Status {
        unsafe { chime_timer_postpone(self.0, nanoseconds(delay)) }
    }
    pub fn fire(&self) -> Status {
        unsafe { chime_timer_fire(self.0) }
    }
    pub fn cancel(&self) -> Status {
        unsafe { chime_timer_cancel(self.0) }
    }
    /// Waits until the closure has returned.
    pub fn cancel_and_wait(&self, timeout: Duration) -> Status {
        unsafe { chime_timer_cancel_and_wait(self.0, nanoseconds(timeout)) }
    }
    /// CHIME_STATE_IDLE and so on.
    pub fn state(&self) -> i32 {
        let mut state = 4; // cancelled
        unsafe { chime_timer_state(self.0, &mut state) };
        state
    }
    /// Says in a sentence why the timer does not fire.
    pub fn explain(&self) -> String {
        text(|to, capacity, length| unsafe { chime_timer_explain(self.0, to, capacity, length) })
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        unsafe { chime_timer_release(self.0) };
    }
}
