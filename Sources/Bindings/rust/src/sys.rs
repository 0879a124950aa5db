//! chime.h: structures, constants and functions under their C names. What the types of this crate do not cover (targets, tick
//! records, named handlers) is called here, with their ids.
//!
//! The calls are `unsafe` for their pointers only: any number may be passed as an id. What each does stands in `chime.h`.
#![allow(missing_docs)]

use std::ffi::c_void;
use std::mem::{size_of, zeroed, MaybeUninit};
use std::os::raw::c_char;
use std::ptr::addr_of;

pub type Status = i32;
pub type QueueId = u64;
pub type TimerId = u64;
pub type TargetId = u64;
/// A descriptor, where there are any; else a handle.
#[cfg(unix)]
pub type Waitable = i32;
#[cfg(not(unix))]
pub type Waitable = isize;
pub type Handler = unsafe extern "C" fn(*const Tick, *mut c_void);
pub type Function = unsafe extern "C" fn(*mut c_void); // finalizers too

pub const OK: Status = 0;
pub const IGNORED: Status = 1;
pub const RUNNING: Status = 2;
pub const STOPPED: Status = 3;
pub const TIMED_OUT: Status = 4;
pub const ERROR_INVALID_ARGUMENT: Status = -1;
pub const ERROR_INVALID_HANDLE: Status = -2;
pub const ERROR_LIMIT: Status = -3;
pub const ERROR_NO_MEMORY: Status = -4;
pub const ERROR_WOULD_DEADLOCK: Status = -5;
pub const ERROR_BUSY: Status = -6;
pub const ERROR_WRONG_THREAD: Status = -7;
pub const ERROR_TARGET_GONE: Status = -8;
pub const ERROR_SHUT_DOWN: Status = -9;
pub const ERROR_UNSUPPORTED: Status = -10;
pub const ERROR_PERMISSION: Status = -11;
pub const ERROR_RESOURCE: Status = -12;
pub const ERROR_FORKED: Status = -13;
pub const FOREVER: i64 = i64::MAX;
pub const QUEUE_SERIAL: i32 = 0;
pub const QUEUE_CONCURRENT: i32 = 1;
pub const QUEUE_HOST: i32 = 2;
pub const QUEUE_PRECISE: i32 = 3;
pub const QUEUE_VIRTUAL: i32 = 4;
pub const QUEUE_HONOUR_LEEWAY: u32 = 1;
pub const QUEUE_BOUND: u32 = 2;
pub const QUEUE_RECORDS: u32 = 4;
pub const RUN_UNTIL_STOPPED: u32 = 1;
pub const TIMER_BACKGROUND: u32 = 16;
pub const MISSED_DELAY: i32 = 1;
pub const SCHEDULE_DEADLINE: u32 = 1;
pub const RESUME_REMAINING: i32 = 1;
pub const RECORD_ALL: u32 = 2 | 4 | 8; // CHIME_TIMER_RECORD_ARMED, _CANCELLED, _FINALIZE
pub const KINDS: [&str; 6] = ["DUE", "FIRED", "ARMED", "CANCELLED", "FINALIZE", "FUNCTION"];

/// Declares structures as C does, and `layout`, which lists their sizes and offsets under the names of C.
macro_rules! structures {
    ($($c_name:literal $name:ident { $($member:ident: $type:ty,)* })*) => {
        $(#[repr(C)] #[derive(Clone, Copy)] pub struct $name { $(pub $member: $type,)* })*

        /// The sizes and offsets of these structures, under the names of C: `chime_tick 72`, `chime_tick.kind 64`.
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
        enter: Option<Function>, leave: Option<Function>, hook_context: *mut c_void,
        realtime_priority: i32, reserved: u32, seed: u64,
    }
    "chime_schedule" Schedule {
        size: u32, flags: u32, first_ns: i64, interval_ns: i64, leeway_ns: i64, tick_limit: u64, missed_policy: i32,
        resume_policy: i32, jitter_ns: i64,
    }
    "chime_timer_options" TimerOptions {
        size: u32, flags: u32, handler: Option<Handler>, registration_handler: Option<Handler>,
        cancel_handler: Option<Handler>, context: *mut c_void, finalizer: Option<Function>, label: *const c_char,
        target: TargetId,
    }
    "chime_timer_info" TimerInfo {
        size: u32, state: i32, queue: QueueId, generation: u64, sequence: u64, next_deadline_ns: i64, remaining_ns: i64,
        interval_ns: i64, leeway_ns: i64, tick_limit: u64, due_count: u64, busy: i32, has_schedule: i32, missed: u64,
        jitter_ns: i64,
    }
    "chime_queue_stats" QueueStats {
        size: u32, reserved: u32, timers: u64, running: u64, entries: u64, passes: u64, empty_passes: u64, ticks: u64,
        missed: u64, stale: u64, merged: u64, lateness: [u64; 32],
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

sized! { QueueOptions Schedule TimerOptions TimerInfo QueueStats }

extern "C" {
    pub fn chime_version() -> u32;
    pub fn chime_status_name(status: Status) -> *const c_char;
    pub fn chime_status_message(status: Status) -> *const c_char;
    pub fn chime_last_error_detail() -> *const c_char;
    pub fn chime_now(clock: i32, now_ns: *mut i64) -> Status;
    pub fn chime_sleep_until(clock: i32, deadline_ns: i64) -> Status;
    pub fn chime_memory_used() -> u64;
    pub fn chime_trace_to_file(path: *const c_char) -> Status;
    pub fn chime_reinitialize() -> Status;
    pub fn chime_queue_create(kind: i32, options: *const QueueOptions, queue: *mut QueueId) -> Status;
    pub fn chime_queue_shutdown(queue: QueueId, timeout_ns: i64) -> Status;
    pub fn chime_queue_release(queue: QueueId) -> Status;
    pub fn chime_queue_sync(
        queue: QueueId,
        function: Option<Function>,
        context: *mut c_void,
        timeout_ns: i64,
    ) -> Status;
    pub fn chime_queue_async(
        queue: QueueId,
        function: Option<Function>,
        context: *mut c_void,
        finalizer: Option<Function>,
    ) -> Status;
    pub fn chime_queue_now(queue: QueueId, now_ns: *mut i64) -> Status;
    pub fn chime_queue_advance(queue: QueueId, duration_ns: i64) -> Status;
    pub fn chime_queue_jump(queue: QueueId, duration_ns: i64) -> Status;
    pub fn chime_queue_fd(queue: QueueId, fd: *mut Waitable) -> Status;
    pub fn chime_queue_get_stats(queue: QueueId, stats: *mut QueueStats) -> Status;
    pub fn chime_queue_next_deadline(queue: QueueId, deadline_ns: *mut i64) -> Status;
    pub fn chime_queue_poll_timeout(queue: QueueId, milliseconds: *mut i32) -> Status;
    pub fn chime_queue_stop(queue: QueueId) -> Status;
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
    pub fn chime_timer_create(queue: QueueId, options: *const TimerOptions, timer: *mut TimerId) -> Status;
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
    pub fn chime_timer_restart_after(timer: TimerId, delay_ns: i64) -> Status;
    pub fn chime_timer_restart_until(timer: TimerId, deadline_ns: i64) -> Status;
    pub fn chime_timer_reschedule(timer: TimerId, schedule: *const Schedule) -> Status;
    pub fn chime_timer_fire(timer: TimerId) -> Status;
    pub fn chime_timer_explain(timer: TimerId, text: *mut c_char, capacity: u64, length: *mut u64) -> Status;
    pub fn chime_timer_cancel_and_wait(timer: TimerId, timeout_ns: i64) -> Status;
    pub fn chime_timer_suspend(timer: TimerId) -> Status;
    pub fn chime_timer_resume(timer: TimerId) -> Status;
    pub fn chime_timer_postpone(timer: TimerId, delay_ns: i64) -> Status;
    pub fn chime_timer_postpone_until(timer: TimerId, deadline_ns: i64) -> Status;
    pub fn chime_timer_cancel(timer: TimerId) -> Status;
    pub fn chime_timer_release(timer: TimerId) -> Status;
    pub fn chime_timer_release_and_wait(timer: TimerId, timeout_ns: i64) -> Status;
    pub fn chime_timer_generation(timer: TimerId, generation: *mut u64) -> Status;
    pub fn chime_timer_next_deadline(timer: TimerId, deadline_ns: *mut i64) -> Status;
    pub fn chime_timer_remaining(timer: TimerId, remaining_ns: *mut i64) -> Status;
    pub fn chime_timer_check_generation(timer: TimerId, generation: u64) -> Status;
    pub fn chime_timer_state(timer: TimerId, state: *mut i32) -> Status;
    pub fn chime_timer_get_info(timer: TimerId, info: *mut TimerInfo) -> Status;
    pub fn chime_target_create(object: *mut c_void, destructor: Option<Function>, target: *mut TargetId) -> Status;
    pub fn chime_target_retain(target: TargetId, object: *mut *mut c_void) -> Status;
    pub fn chime_target_release(target: TargetId) -> Status;
}
