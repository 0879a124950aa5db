//! The scenario of ../README.md in Rust, without crates.
//!
//! A context is a box: Chime owns it from the call that takes it, the finalizer drops it, and `Drop` prints. What goes
//! into it is `Send`, since on most queues handlers run on other threads. A panic must not leave a callback: `guard`
//! ends the process instead. The calls are `unsafe` for their pointers only: any number may be passed as an id.

use std::ffi::{c_void, CStr};
use std::mem::{size_of, zeroed, MaybeUninit};
use std::os::raw::{c_char, c_int, c_short, c_ulong};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::{addr_of, null, null_mut};
use std::sync::{Arc, Mutex};

// ---- chime.h --------------------------------------------------------------------------------------------------------

type Status = i32;
type Queue = u64;
type Timer = u64;
type Target = u64;
type Handler = unsafe extern "C" fn(*const Tick, *mut c_void);
type Function = unsafe extern "C" fn(*mut c_void); // finalizers too

const OK: Status = 0;
const FOREVER: i64 = i64::MAX;
const QUEUE_HOST: i32 = 2;
const QUEUE_VIRTUAL: i32 = 4;
const QUEUE_RECORDS: u32 = 4;
const SCHEDULE_DEADLINE: u32 = 1;
const RESUME_REMAINING: i32 = 1;
const RECORD_ALL: u32 = 2 | 4 | 8; // CHIME_TIMER_RECORD_ARMED, _CANCELLED, _FINALIZE
const KINDS: [&str; 6] = ["DUE", "FIRED", "ARMED", "CANCELLED", "FINALIZE", "FUNCTION"];

/// Declares structures as C does, and `layout`, which lists their sizes and offsets under the names of C.
macro_rules! structures {
    ($($c_name:literal $name:ident { $($member:ident: $type:ty,)* })*) => {
        $(#[repr(C)] #[derive(Clone, Copy)] #[allow(dead_code)] struct $name { $($member: $type,)* })*

        fn layout() -> Vec<(String, usize)> {
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
        timer: Timer, generation: u64, sequence: u64, missed: u64, scheduled_ns: i64, actual_ns: i64,
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
        target: Target,
    }
    "chime_timer_info" TimerInfo {
        size: u32, state: i32, queue: Queue, generation: u64, sequence: u64, next_deadline_ns: i64, remaining_ns: i64,
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
    fn chime_version() -> u32;
    fn chime_status_name(status: Status) -> *const c_char;
    fn chime_queue_create(kind: i32, options: *const QueueOptions, queue: *mut Queue) -> Status;
    fn chime_queue_shutdown(queue: Queue, timeout_ns: i64) -> Status;
    fn chime_queue_async(
        queue: Queue,
        function: Option<Function>,
        context: *mut c_void,
        finalizer: Option<Function>,
    ) -> Status;
    fn chime_queue_now(queue: Queue, now_ns: *mut i64) -> Status;
    fn chime_queue_advance(queue: Queue, duration_ns: i64) -> Status;
    fn chime_queue_jump(queue: Queue, duration_ns: i64) -> Status;
    fn chime_queue_fd(queue: Queue, fd: *mut i32) -> Status;
    fn chime_queue_process(queue: Queue, max: u32, count: *mut u32) -> Status;
    fn chime_queue_take_ticks(
        queue: Queue,
        ticks: *mut Tick,
        tick_size: u32,
        capacity: u32,
        count: *mut u32,
    ) -> Status;
    fn chime_timer_start(
        queue: Queue,
        options: *const TimerOptions,
        schedule: *const Schedule,
        timer: *mut Timer,
    ) -> Status;
    fn chime_timer_after(
        queue: Queue,
        delay_ns: i64,
        handler: Option<Handler>,
        context: *mut c_void,
        finalizer: Option<Function>,
        timer: *mut Timer,
    ) -> Status;
    fn chime_timer_every(
        queue: Queue,
        interval_ns: i64,
        handler: Option<Handler>,
        context: *mut c_void,
        finalizer: Option<Function>,
        timer: *mut Timer,
    ) -> Status;
    fn chime_timer_activate(timer: Timer, schedule: *const Schedule) -> Status;
    fn chime_timer_suspend(timer: Timer) -> Status;
    fn chime_timer_resume(timer: Timer) -> Status;
    fn chime_timer_postpone(timer: Timer, delay_ns: i64) -> Status;
    fn chime_timer_cancel(timer: Timer) -> Status;
    fn chime_timer_release(timer: Timer) -> Status;
    fn chime_timer_check_generation(timer: Timer, generation: u64) -> Status;
    fn chime_timer_state(timer: Timer, state: *mut i32) -> Status;
    fn chime_timer_get_info(timer: Timer, info: *mut TimerInfo) -> Status;
    fn chime_target_create(object: *mut c_void, destructor: Option<Function>, target: *mut Target) -> Status;
    fn chime_target_retain(target: Target, object: *mut *mut c_void) -> Status;
    fn chime_target_release(target: Target) -> Status;
}

#[repr(C)]
struct PollEntry {
    fd: c_int,
    events: c_short,
    revents: c_short,
}
const POLLIN: c_short = 1;
extern "C" {
    fn poll(entries: *mut PollEntry, count: c_ulong, timeout_ms: c_int) -> c_int;
}

// ---- Statuses -------------------------------------------------------------------------------------------------------

fn name(status: Status) -> &'static str {
    // SAFETY: the string is static.
    unsafe { CStr::from_ptr(chime_status_name(status)) }.to_str().unwrap()
}

/// For a call that can only succeed here.
#[track_caller]
fn ok(status: Status) {
    assert!(status == OK, "{}", name(status));
}

/// What the call writes through its last parameter.
#[track_caller]
fn made<T: Default>(call: impl FnOnce(*mut T) -> Status) -> T {
    let mut value = T::default();
    ok(call(&mut value));
    value
}

// ---- Callbacks ------------------------------------------------------------------------------------------------------

/// What Chime's `void *context` points to.
struct Context {
    number: usize,
    on_tick: Box<dyn FnMut(usize, &Tick) + Send>,
}

impl Drop for Context {
    fn drop(&mut self) {
        println!("finalizer {}", self.number);
    }
}

/// A target's object.
struct Object {
    number: usize,
}

impl Drop for Object {
    fn drop(&mut self) {
        println!("destructor {}", self.number);
    }
}

fn boxed<T>(value: T) -> *mut c_void {
    Box::into_raw(Box::new(value)).cast()
}

fn guard(body: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(body)).is_err() {
        std::process::abort(); // the panic has printed its message
    }
}

// SAFETY, of all four: the pointer came from `boxed` with that type; handlers of one timer never overlap; the finalizer
// is called once and last.
unsafe extern "C" fn on_tick(tick: *const Tick, context: *mut c_void) {
    guard(|| {
        let (tick, context) = (&*tick, &mut *context.cast::<Context>());
        assert!(std::ptr::eq(tick.context.cast(), context));
        (context.on_tick)(context.number, tick)
    })
}
unsafe extern "C" fn on_function(context: *mut c_void) {
    guard(|| {
        let context = &mut *context.cast::<Context>();
        (context.on_tick)(context.number, &zeroed())
    })
}
unsafe extern "C" fn finalize(context: *mut c_void) {
    guard(|| drop(Box::from_raw(context.cast::<Context>())))
}
unsafe extern "C" fn destroy(object: *mut c_void) {
    guard(|| drop(Box::from_raw(object.cast::<Object>())))
}

fn describe(number: usize, tick: &Tick) {
    // SAFETY: a tick's target lives until its handler returns.
    let target = unsafe { tick.target.cast::<Object>().as_ref() }
        .map_or(String::new(), |object| format!(" target {}", object.number));
    println!(
        "tick {number}: {} sequence {} missed {} due {} at {}{target}",
        KINDS[tick.kind as usize], tick.sequence, tick.missed, tick.scheduled_ns, tick.actual_ns
    );
}

fn printing(number: usize) -> *mut c_void {
    boxed(Context { number, on_tick: Box::new(describe) })
}

// ---- The scenario ---------------------------------------------------------------------------------------------------

fn virtual_time() {
    let queue = made(|queue| unsafe { chime_queue_create(QUEUE_VIRTUAL, null(), queue) });
    let advance = |duration_ns| ok(unsafe { chime_queue_advance(queue, duration_ns) });
    let after = |delay_ns, number, timer| unsafe {
        chime_timer_after(queue, delay_ns, Some(on_tick), printing(number), Some(finalize), timer)
    };
    let start = |options: TimerOptions, schedule: Schedule| {
        made(|timer| unsafe { chime_timer_start(queue, &options, &schedule, timer) })
    };
    let state = |timer| made(|state| unsafe { chime_timer_state(timer, state) });

    println!("- one-shot");
    let timer = made(|timer| after(100, 1, timer));
    advance(99);
    advance(1);
    println!("state {}", state(timer));
    ok(unsafe { chime_timer_release(timer) });
    let again = unsafe { chime_timer_release(timer) };
    println!("release {} of 0 {}", name(again), name(unsafe { chime_timer_release(0) }));

    println!("- repeat");
    let timer = made(|timer| unsafe {
        chime_timer_every(queue, 10, Some(on_tick), printing(2), Some(finalize), timer)
    });
    advance(25);
    ok(unsafe { chime_queue_jump(queue, 30) });
    println!("now {}", made(|now_ns| unsafe { chime_queue_now(queue, now_ns) }));
    advance(0);

    println!("- suspend and resume, the grid stands");
    let suspended = unsafe { chime_timer_suspend(timer) };
    println!("suspend {} again {}", name(suspended), name(unsafe { chime_timer_suspend(timer) }));
    advance(20);
    let resumed = unsafe { chime_timer_resume(timer) };
    println!("resume {} again {}", name(resumed), name(unsafe { chime_timer_resume(timer) }));
    advance(0);
    ok(unsafe { chime_timer_release(timer) });

    println!("- suspend and resume, what was left is kept");
    let timer = start(
        TimerOptions {
            handler: Some(on_tick),
            registration_handler: Some(on_tick),
            cancel_handler: Some(on_tick),
            context: printing(3),
            finalizer: Some(finalize),
            ..Default::default()
        },
        Schedule { first_ns: 50, interval_ns: 50, resume_policy: RESUME_REMAINING, ..Default::default() },
    );
    advance(20);
    ok(unsafe { chime_timer_suspend(timer) });
    advance(1005);
    let info: TimerInfo = made(|info| unsafe { chime_timer_get_info(timer, info) });
    println!("state {} remaining {}", info.state, info.remaining_ns);
    ok(unsafe { chime_timer_resume(timer) });
    advance(30);
    let cancelled = unsafe { chime_timer_cancel(timer) };
    println!("cancel {} again {}", name(cancelled), name(unsafe { chime_timer_cancel(timer) }));
    advance(0);
    ok(unsafe { chime_timer_release(timer) });

    println!("- postpone");
    let timer = made(|timer| after(100, 4, timer));
    advance(60);
    println!("postpone {}", name(unsafe { chime_timer_postpone(timer, 100) }));
    advance(99);
    advance(1);
    println!("postpone {}", name(unsafe { chime_timer_postpone(timer, 100) }));
    ok(unsafe { chime_timer_release(timer) });

    println!("- target");
    let object = boxed(Object { number: 77 });
    let target = made(|target| unsafe { chime_target_create(object, Some(destroy), target) });
    let timer = start(
        TimerOptions {
            handler: Some(on_tick),
            context: printing(5),
            finalizer: Some(finalize),
            target,
            ..Default::default()
        },
        Schedule { first_ns: 10, interval_ns: 10, ..Default::default() },
    );
    advance(10);
    let mut retained = null_mut();
    ok(unsafe { chime_target_retain(target, &mut retained) });
    // SAFETY: the reference just made keeps the object alive.
    println!("retain {}", unsafe { &*retained.cast::<Object>() }.number);
    ok(unsafe { chime_target_release(target) });
    advance(10);
    ok(unsafe { chime_target_release(target) });
    let activated = unsafe { chime_timer_activate(timer, null()) };
    let gone = unsafe { chime_target_retain(target, null_mut()) };
    println!("state {} activate {} retain {}", state(timer), name(activated), name(gone));
    ok(unsafe { chime_timer_release(timer) });

    println!("- nobody holds it");
    ok(after(10, 6, null_mut()));
    advance(10);
    ok(after(10, 7, null_mut()));
    println!("shutdown {}", name(unsafe { chime_queue_shutdown(queue, FOREVER) }));
    println!("advance {}", name(unsafe { chime_queue_advance(queue, 10) }));
}

fn wait_readable(queue: Queue) {
    let fd = made(|fd| unsafe { chime_queue_fd(queue, fd) });
    let mut entry = PollEntry { fd, events: POLLIN, revents: 0 };
    assert_eq!(unsafe { poll(&mut entry, 1, 10_000) }, 1, "the descriptor was not readable within 10 s");
}

#[derive(Default)]
struct Counts {
    one_shot: u64,
    repeating: u64,
    early: u64,
    functions: u64,
}

fn host_driven() {
    println!("- host-driven, callbacks");
    let queue = made(|queue| unsafe { chime_queue_create(QUEUE_HOST, null(), queue) });
    let counts = Arc::new(Mutex::new(Counts::default()));
    let counting = |number, count: fn(&mut Counts, &Tick)| {
        let counts = counts.clone();
        boxed(Context { number, on_tick: Box::new(move |_, tick| count(&mut counts.lock().unwrap(), tick)) })
    };
    fn early(tick: &Tick) -> u64 {
        (tick.actual_ns < tick.scheduled_ns).into()
    }

    let context = counting(8, |counts, tick| {
        counts.one_shot += 1 + tick.missed;
        counts.early += early(tick);
    });
    let one_shot = made(|timer| unsafe {
        chime_timer_after(queue, 1_000_000, Some(on_tick), context, Some(finalize), timer)
    });
    let options = TimerOptions {
        handler: Some(on_tick),
        context: counting(9, |counts, tick| {
            counts.repeating += 1 + tick.missed;
            counts.early += early(tick);
        }),
        finalizer: Some(finalize),
        ..Default::default()
    };
    let schedule = Schedule { first_ns: 1_000_000, interval_ns: 1_000_000, tick_limit: 5, ..Default::default() };
    let repeating = made(|timer| unsafe { chime_timer_start(queue, &options, &schedule, timer) });
    let context = counting(10, |counts, _| counts.functions += 1);
    ok(unsafe { chime_queue_async(queue, Some(on_function), context, Some(finalize)) });

    let finished = || {
        let counts = counts.lock().unwrap();
        counts.one_shot >= 1 && counts.repeating >= 5 && counts.functions >= 1
    };
    while !finished() {
        wait_readable(queue);
        ok(unsafe { chime_queue_process(queue, 0, null_mut()) });
    }
    let Counts { one_shot: once, repeating: five, early, functions } = *counts.lock().unwrap();
    println!("due times {once} {five} early {early} functions {functions}");
    let state = |timer| made(|state| unsafe { chime_timer_state(timer, state) });
    println!("states {} {}", state(one_shot), state(repeating));
    let mut record = MaybeUninit::<Tick>::uninit();
    let taken = unsafe { chime_queue_take_ticks(queue, record.as_mut_ptr(), size_of::<Tick>() as u32, 1, &mut 0) };
    println!("take_ticks {}", name(taken));
    ok(unsafe { chime_timer_release(one_shot) });
    ok(unsafe { chime_timer_release(repeating) });
    ok(unsafe { chime_queue_shutdown(queue, FOREVER) });
}

/// Takes until that many records came, acts on each, prints each. Contexts are plain numbers here.
fn take(queue: Queue, expected: usize, second: Timer) {
    // SAFETY: zero is a value of each member.
    let mut records: [Tick; 16] = unsafe { zeroed() };
    let mut seen = 0;
    while seen < expected {
        wait_readable(queue);
        let count: u32 = made(|count| unsafe {
            chime_queue_take_ticks(queue, records.as_mut_ptr(), size_of::<Tick>() as u32, 16, count)
        });
        for tick in &records[..count as usize] {
            seen += 1;
            let (number, kind) = (tick.context as usize, KINDS[tick.kind as usize]);
            if kind != "DUE" {
                println!("record {number}: {kind}");
                continue;
            }
            let current = unsafe { chime_timer_check_generation(tick.timer, tick.generation) };
            println!(
                "record {number}: DUE sequence {} missed {} due {} generation {}",
                tick.sequence, tick.missed, tick.scheduled_ns, name(current)
            );
            if number == 11 {
                println!("cancel {}", name(unsafe { chime_timer_cancel(second) }));
            }
        }
    }
}

fn records() {
    println!("- host-driven, records");
    let options = QueueOptions { flags: QUEUE_RECORDS, ..Default::default() };
    let queue = made(|queue| unsafe { chime_queue_create(QUEUE_HOST, &options, queue) });
    let start = |number: usize, first_ns, interval_ns, tick_limit| {
        let options =
            TimerOptions { flags: RECORD_ALL, context: number as *mut c_void, ..Default::default() };
        let schedule =
            Schedule { flags: SCHEDULE_DEADLINE, first_ns, interval_ns, tick_limit, ..Default::default() };
        made(|timer| unsafe { chime_timer_start(queue, &options, &schedule, timer) })
    };
    let first = start(11, 1, 1, 4);
    let second = start(12, 2, 1_000_000_000_000_000_000, 0);
    take(queue, 4, second);
    take(queue, 1, second);
    ok(unsafe { chime_queue_async(queue, None, 13 as *mut c_void, None) });
    take(queue, 1, second);
    ok(unsafe { chime_timer_release(first) });
    take(queue, 1, second);
    ok(unsafe { chime_timer_release(second) });
    take(queue, 1, second);
    println!("process {}", name(unsafe { chime_queue_process(queue, 0, null_mut()) }));
    ok(unsafe { chime_queue_shutdown(queue, FOREVER) });
}

/// Compares the structures above with the header's, as the C compiler lays them out (layout.c).
fn check_layout() {
    let ours = layout();
    let path = std::env::var("CHIME_LAYOUT").expect("CHIME_LAYOUT");
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let (name, number) = line.split_once(' ').unwrap();
        let found = ours.iter().find(|(ours, _)| ours == name).expect(name);
        assert_eq!(found.1, number.parse::<usize>().unwrap(), "{name}");
    }
}

fn main() {
    check_layout();
    let version = unsafe { chime_version() };
    println!("version {}.{}.{}", version >> 16, version >> 8 & 255, version & 255);
    virtual_time();
    host_driven();
    records();
}
