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

/// Declares constants, and `numbers`, which lists them under these names.
macro_rules! constants {
    ($($name:ident: $type:ty = $number:expr;)*) => {
        $(pub const $name: $type = $number;)*

        /// These constants, under their names in C without `CHIME_`: `ERROR_LIMIT -48`.
        pub fn numbers() -> Vec<(&'static str, i64)> {
            vec![$((stringify!($name), i64::from($name)),)*]
        }
    };
}

constants! {
    OK: Status = 0;
    IGNORED: Status = 1; // bits: test for one with `&`
    RUNNING: Status = 2;
    STOPPED: Status = 4;
    TIMED_OUT: Status = 8;
    ERROR_INVALID_ARGUMENT: Status = -16;
    ERROR_INVALID_HANDLE: Status = -32;
    ERROR_LIMIT: Status = -48;
    ERROR_NO_MEMORY: Status = -64;
    ERROR_WOULD_DEADLOCK: Status = -80;
    ERROR_BUSY: Status = -96;
    ERROR_WRONG_THREAD: Status = -112;
    ERROR_TARGET_GONE: Status = -128;
    ERROR_SHUT_DOWN: Status = -144;
    ERROR_UNSUPPORTED: Status = -160;
    ERROR_PERMISSION: Status = -176;
    ERROR_RESOURCE: Status = -192;
    ERROR_FORKED: Status = -208;
    ERROR_TIMED_OUT: Status = -224;
    FOREVER: i64 = i64::MAX;
    CLOCK_MONOTONIC: u32 = 0;
    CLOCK_BOOTTIME: u32 = 1;
    CLOCK_WALL: u32 = 2;
    TICK_DUE: u32 = 0;
    TICK_FIRED: u32 = 1;
    TICK_ARMED: u32 = 2;
    TICK_CANCELLED: u32 = 3;
    TICK_FINALIZE: u32 = 4;
    TICK_FUNCTION: u32 = 5;
    QUEUE_SERIAL: u32 = 0;
    QUEUE_CONCURRENT: u32 = 1;
    QUEUE_HOST: u32 = 2;
    QUEUE_PRECISE: u32 = 3;
    QUEUE_VIRTUAL: u32 = 4;
    QOS_DEFAULT: u32 = 0;
    QOS_BACKGROUND: u32 = 1;
    QOS_UTILITY: u32 = 2;
    QOS_USER_INITIATED: u32 = 3;
    QOS_USER_INTERACTIVE: u32 = 4;
    QUEUE_FLAG_HONOUR_LEEWAY: u32 = 0x100;
    QUEUE_FLAG_BOUND: u32 = 0x200;
    QUEUE_FLAG_RECORDS: u32 = 0x400;
    QUEUE_RUN_UNTIL_STOPPED: u32 = 0x1000;
    QUEUE_RUN_NO_WAIT: u32 = 0x2000;
    QUEUE_RUN_ONCE: u32 = 0x4000;
    SCHEDULE_DEADLINE: u32 = 0x10000;
    MISSED_COALESCE: u32 = 0;
    MISSED_DELAY: u32 = 1;
    RESUME_COALESCE: u32 = 0;
    RESUME_REMAINING: u32 = 1;
    TIMER_RECORD_ARMED: u32 = 0x200000;
    TIMER_RECORD_CANCELLED: u32 = 0x400000;
    TIMER_RECORD_FINALIZE: u32 = 0x800000;
    TIMER_BACKGROUND: u32 = 0x1000000;
    STATE_IDLE: u32 = 0;
    STATE_RUNNING: u32 = 1;
    STATE_SUSPENDED: u32 = 2;
    STATE_FINISHED: u32 = 3;
    STATE_CANCELLED: u32 = 4;
}

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
        context: *mut c_void, target: *mut c_void, kind: u32, reserved: u32,
    }
    "chime_queue_options" QueueOptions {
        size: u32, flags: u32, label: *const c_char, qos: u32, clock: u32, timer_limit: u64, start_ns: i64,
        enter: Option<Function>, leave: Option<Function>, hook_context: *mut c_void, hook_finalizer: Option<Function>,
        realtime_priority: i32, reserved: u32, seed: u64,
    }
    "chime_schedule" Schedule {
        size: u32, flags: u32, first_ns: i64, interval_ns: i64, leeway_ns: i64, tick_limit: u64, missed_policy: u32,
        resume_policy: u32, jitter_ns: i64,
    }
    "chime_timer_options" TimerOptions {
        size: u32, flags: u32, handler: Option<Handler>, registration_handler: Option<Handler>,
        cancel_handler: Option<Handler>, context: *mut c_void, finalizer: Option<Function>, label: *const c_char,
        target: TargetId,
    }
    "chime_timer_info" TimerInfo {
        size: u32, state: u32, queue: QueueId, generation: u64, sequence: u64, next_deadline_ns: i64, remaining_ns: i64,
        interval_ns: i64, leeway_ns: i64, tick_limit: u64, due_count: u64, busy: i32, has_schedule: i32, missed: u64,
        jitter_ns: i64, background: i32, reserved: u32,
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
    pub fn chime_now(clock: u32, now_ns: *mut i64) -> Status;
    pub fn chime_sleep_until(clock: u32, deadline_ns: i64) -> Status;
    pub fn chime_memory_used() -> u64;
    pub fn chime_trace_to_file(path: *const c_char) -> Status;
    pub fn chime_reinitialize() -> Status;
    pub fn chime_queue_create(kind: u32, options: *const QueueOptions, queue: *mut QueueId) -> Status;
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
    pub fn chime_queue_suspend(queue: QueueId) -> Status;
    pub fn chime_queue_resume(queue: QueueId) -> Status;
    pub fn chime_queue_list_timers(queue: QueueId, timers: *mut TimerId, capacity: usize, count: *mut usize) -> Status;
    pub fn chime_queue_process(queue: QueueId, max: u32, count: *mut u32) -> Status;
    pub fn chime_queue_run(queue: QueueId, flags: u32) -> Status;
    pub fn chime_queue_dump(queue: QueueId, text: *mut c_char, capacity: usize, length: *mut usize) -> Status;
    pub fn chime_queue_take_ticks(
        queue: QueueId,
        ticks: *mut Tick,
        tick_size: usize,
        capacity: usize,
        count: *mut usize,
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
    pub fn chime_timer_explain(timer: TimerId, text: *mut c_char, capacity: usize, length: *mut usize) -> Status;
    pub fn chime_timer_cancel_and_wait(timer: TimerId, timeout_ns: i64) -> Status;
    pub fn chime_timer_suspend(timer: TimerId) -> Status;
    pub fn chime_timer_resume(timer: TimerId) -> Status;
    pub fn chime_timer_set_interval(timer: TimerId, interval_ns: i64) -> Status;
    pub fn chime_timer_set_background(timer: TimerId, background: i32) -> Status;
    pub fn chime_timer_get_schedule(timer: TimerId, schedule: *mut Schedule) -> Status;
    pub fn chime_timer_postpone(timer: TimerId, delay_ns: i64) -> Status;
    pub fn chime_timer_postpone_until(timer: TimerId, deadline_ns: i64) -> Status;
    pub fn chime_timer_cancel(timer: TimerId) -> Status;
    pub fn chime_timer_release(timer: TimerId) -> Status;
    pub fn chime_timer_release_and_wait(timer: TimerId, timeout_ns: i64) -> Status;
    pub fn chime_timer_generation(timer: TimerId, generation: *mut u64) -> Status;
    pub fn chime_timer_next_deadline(timer: TimerId, deadline_ns: *mut i64) -> Status;
    pub fn chime_timer_remaining(timer: TimerId, remaining_ns: *mut i64) -> Status;
    pub fn chime_timer_check_generation(timer: TimerId, generation: u64) -> Status;
    pub fn chime_timer_state(timer: TimerId, state: *mut u32) -> Status;
    pub fn chime_timer_get_info(timer: TimerId, info: *mut TimerInfo) -> Status;
    pub fn chime_target_create(object: *mut c_void, destructor: Option<Function>, target: *mut TargetId) -> Status;
    pub fn chime_target_retain(target: TargetId, object: *mut *mut c_void) -> Status;
    pub fn chime_target_release(target: TargetId) -> Status;
}
