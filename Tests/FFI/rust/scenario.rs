//! The scenario of ../README.md in Rust, without crates.
//!
//! Its middle part, "The wrapper", is what one would copy: queues and timers that own their ids, and closures. Chime owns
//! a closure from the call that takes it, and its finalizer drops it, once, after the last call. Closures are `Send`, since
//! on most queues they are called on other threads. A panic must not leave a callback: `guard` ends the process instead.
//! What the wrapper does not have (targets, records, information) is called by its C names, with the objects' ids. Those
//! calls are `unsafe` for their pointers only: any number may be passed as an id.

use std::ffi::{c_void, CStr};
use std::mem::{size_of, zeroed, MaybeUninit};
use std::os::raw::{c_char, c_int, c_short, c_ulong};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::{addr_of, null, null_mut};
use std::sync::{Arc, Mutex};

// ---- chime.h --------------------------------------------------------------------------------------------------------

type Status = i32;
type QueueId = u64;
type TimerId = u64;
type TargetId = u64;
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
    fn chime_version() -> u32;
    fn chime_status_name(status: Status) -> *const c_char;
    fn chime_last_error_detail() -> *const c_char;
    fn chime_queue_create(kind: i32, options: *const QueueOptions, queue: *mut QueueId) -> Status;
    fn chime_queue_shutdown(queue: QueueId, timeout_ns: i64) -> Status;
    fn chime_queue_async(
        queue: QueueId,
        function: Option<Function>,
        context: *mut c_void,
        finalizer: Option<Function>,
    ) -> Status;
    fn chime_queue_now(queue: QueueId, now_ns: *mut i64) -> Status;
    fn chime_queue_advance(queue: QueueId, duration_ns: i64) -> Status;
    fn chime_queue_jump(queue: QueueId, duration_ns: i64) -> Status;
    fn chime_queue_fd(queue: QueueId, fd: *mut i32) -> Status;
    fn chime_queue_process(queue: QueueId, max: u32, count: *mut u32) -> Status;
    fn chime_queue_take_ticks(
        queue: QueueId,
        ticks: *mut Tick,
        tick_size: u32,
        capacity: u32,
        count: *mut u32,
    ) -> Status;
    fn chime_timer_start(
        queue: QueueId,
        options: *const TimerOptions,
        schedule: *const Schedule,
        timer: *mut TimerId,
    ) -> Status;
    fn chime_timer_after(
        queue: QueueId,
        delay_ns: i64,
        handler: Option<Handler>,
        context: *mut c_void,
        finalizer: Option<Function>,
        timer: *mut TimerId,
    ) -> Status;
    fn chime_timer_every(
        queue: QueueId,
        interval_ns: i64,
        handler: Option<Handler>,
        context: *mut c_void,
        finalizer: Option<Function>,
        timer: *mut TimerId,
    ) -> Status;
    fn chime_timer_activate(timer: TimerId, schedule: *const Schedule) -> Status;
    fn chime_timer_suspend(timer: TimerId) -> Status;
    fn chime_timer_resume(timer: TimerId) -> Status;
    fn chime_timer_postpone(timer: TimerId, delay_ns: i64) -> Status;
    fn chime_timer_cancel(timer: TimerId) -> Status;
    fn chime_timer_release(timer: TimerId) -> Status;
    fn chime_timer_check_generation(timer: TimerId, generation: u64) -> Status;
    fn chime_timer_state(timer: TimerId, state: *mut i32) -> Status;
    fn chime_timer_get_info(timer: TimerId, info: *mut TimerInfo) -> Status;
    fn chime_target_create(object: *mut c_void, destructor: Option<Function>, target: *mut TargetId) -> Status;
    fn chime_target_retain(target: TargetId, object: *mut *mut c_void) -> Status;
    fn chime_target_release(target: TargetId) -> Status;
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

// ---- The wrapper ----------------------------------------------------------------------------------------------------

fn name(status: Status) -> &'static str {
    // SAFETY: the string is static.
    unsafe { CStr::from_ptr(chime_status_name(status)) }.to_str().unwrap()
}

/// A call that failed: its status, and Chime's sentence on the argument, if it has one for that.
struct Error(Status, String);

impl std::fmt::Debug for Error {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(out, "{} {}", name(self.0), self.1)
    }
}

/// What did not fail is an answer: OK, IGNORED, RUNNING and the like.
fn checked(status: Status) -> Result<Status, Error> {
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

type Call = Box<dyn FnMut(Option<&Tick>) + Send>;

// SAFETY, of all three: the pointer came from `Queue::pass`; calls of one timer never overlap; the finalizer is called once
// and last.
unsafe extern "C" fn on_tick(tick: *const Tick, context: *mut c_void) {
    guard(|| (*context.cast::<Call>())(Some(&*tick)))
}
unsafe extern "C" fn on_function(context: *mut c_void) {
    guard(|| (*context.cast::<Call>())(None))
}
unsafe extern "C" fn finalize(context: *mut c_void) {
    guard(|| drop(Box::from_raw(context.cast::<Call>())))
}

/// A queue of one's own: shut down when it is dropped; its closures have ended then.
struct Queue(QueueId);

/// A timer of one's own: released when it is dropped. Its queue may end before.
struct Timer(TimerId);

impl Queue {
    fn new(kind: i32, options: Option<&QueueOptions>) -> Result<Queue, Error> {
        let mut id = 0;
        let options = options.map_or(null(), |options| options as *const QueueOptions);
        checked(unsafe { chime_queue_create(kind, options, &mut id) }).map(|_| Queue(id))
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
    fn start(
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

    fn after(&self, delay_ns: i64, function: impl FnMut(&Tick) + Send + 'static) -> Result<Timer, Error> {
        let mut id = 0;
        Queue::pass(Queue::ticks(function), |context| unsafe {
            chime_timer_after(self.0, delay_ns, Some(on_tick), context, Some(finalize), &mut id)
        })
        .map(|_| Timer(id))
    }

    fn every(&self, interval_ns: i64, function: impl FnMut(&Tick) + Send + 'static) -> Result<Timer, Error> {
        let mut id = 0;
        Queue::pass(Queue::ticks(function), |context| unsafe {
            chime_timer_every(self.0, interval_ns, Some(on_tick), context, Some(finalize), &mut id)
        })
        .map(|_| Timer(id))
    }

    /// Nobody holds the timer.
    fn once(&self, delay_ns: i64, function: impl FnMut(&Tick) + Send + 'static) -> Result<Status, Error> {
        Queue::pass(Queue::ticks(function), |context| unsafe {
            chime_timer_after(self.0, delay_ns, Some(on_tick), context, Some(finalize), null_mut())
        })
    }

    fn run_soon(&self, mut function: impl FnMut() + Send + 'static) -> Result<Status, Error> {
        Queue::pass(Box::new(move |_| function()), |context| unsafe {
            chime_queue_async(self.0, Some(on_function), context, Some(finalize))
        })
    }

    fn advance(&self, duration_ns: i64) -> Result<Status, Error> {
        checked(unsafe { chime_queue_advance(self.0, duration_ns) })
    }

    fn process(&self) -> Result<Status, Error> {
        checked(unsafe { chime_queue_process(self.0, 0, null_mut()) })
    }

    fn shutdown(self) -> Status {
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
    fn suspend(&self) -> Status {
        unsafe { chime_timer_suspend(self.0) }
    }
    fn resume(&self) -> Status {
        unsafe { chime_timer_resume(self.0) }
    }
    fn postpone(&self, delay_ns: i64) -> Status {
        unsafe { chime_timer_postpone(self.0, delay_ns) }
    }
    fn cancel(&self) -> Status {
        unsafe { chime_timer_cancel(self.0) }
    }
    fn activate(&self) -> Status {
        unsafe { chime_timer_activate(self.0, null()) }
    }
    fn state(&self) -> i32 {
        made(|state| unsafe { chime_timer_state(self.0, state) })
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        unsafe { chime_timer_release(self.0) };
    }
}

// ---- The scenario ---------------------------------------------------------------------------------------------------

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

/// What a closure captures; it says when the closure is dropped.
struct Captured(usize);

impl Drop for Captured {
    fn drop(&mut self) {
        println!("finalizer {}", self.0);
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

// SAFETY: the pointer came from a box of that type; called once.
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

fn printing(number: usize) -> impl FnMut(&Tick) + Send {
    let captured = Captured(number);
    move |tick| {
        let captured = &captured; // all of it, and not only its number
        describe(captured.0, tick)
    }
}

fn virtual_time() -> Result<(), Error> {
    let queue = Queue::new(QUEUE_VIRTUAL, None)?;

    println!("- one-shot");
    let timer = queue.after(100, printing(1))?;
    let stale = timer.0;
    queue.advance(99)?;
    queue.advance(1)?;
    println!("state {}", timer.state());
    drop(timer);
    let again = unsafe { chime_timer_release(stale) };
    println!("release {} of 0 {}", name(again), name(unsafe { chime_timer_release(0) }));

    println!("- repeat");
    let timer = queue.every(10, printing(2))?;
    queue.advance(25)?;
    ok(unsafe { chime_queue_jump(queue.0, 30) });
    println!("now {}", made(|now_ns| unsafe { chime_queue_now(queue.0, now_ns) }));
    queue.advance(0)?;

    println!("- suspend and resume, the grid stands");
    let suspended = timer.suspend();
    println!("suspend {} again {}", name(suspended), name(timer.suspend()));
    queue.advance(20)?;
    let resumed = timer.resume();
    println!("resume {} again {}", name(resumed), name(timer.resume()));
    queue.advance(0)?;
    drop(timer);

    println!("- suspend and resume, what was left is kept");
    let options =
        TimerOptions { registration_handler: Some(on_tick), cancel_handler: Some(on_tick), ..Default::default() };
    let schedule = Schedule { first_ns: 50, interval_ns: 50, resume_policy: RESUME_REMAINING, ..Default::default() };
    let timer = queue.start(options, &schedule, printing(3))?;
    queue.advance(20)?;
    ok(timer.suspend());
    queue.advance(1005)?;
    let info: TimerInfo = made(|info| unsafe { chime_timer_get_info(timer.0, info) });
    println!("state {} remaining {}", info.state, info.remaining_ns);
    ok(timer.resume());
    queue.advance(30)?;
    let cancelled = timer.cancel();
    println!("cancel {} again {}", name(cancelled), name(timer.cancel()));
    queue.advance(0)?;
    drop(timer);

    println!("- postpone");
    let timer = queue.after(100, printing(4))?;
    queue.advance(60)?;
    println!("postpone {}", name(timer.postpone(100)));
    queue.advance(99)?;
    queue.advance(1)?;
    println!("postpone {}", name(timer.postpone(100)));
    drop(timer);

    println!("- target");
    let object = Box::into_raw(Box::new(Object { number: 77 })).cast();
    let target = made(|target| unsafe { chime_target_create(object, Some(destroy), target) });
    let schedule = Schedule { first_ns: 10, interval_ns: 10, ..Default::default() };
    let timer = queue.start(TimerOptions { target, ..Default::default() }, &schedule, printing(5))?;
    queue.advance(10)?;
    let mut retained = null_mut();
    ok(unsafe { chime_target_retain(target, &mut retained) });
    // SAFETY: the reference just made keeps the object alive.
    println!("retain {}", unsafe { &*retained.cast::<Object>() }.number);
    ok(unsafe { chime_target_release(target) });
    queue.advance(10)?;
    ok(unsafe { chime_target_release(target) });
    let activated = timer.activate();
    let gone = unsafe { chime_target_retain(target, null_mut()) };
    println!("state {} activate {} retain {}", timer.state(), name(activated), name(gone));
    drop(timer);

    println!("- nobody holds it");
    queue.once(10, printing(6))?;
    queue.advance(10)?;
    queue.once(10, printing(7))?;
    let id = queue.0;
    println!("shutdown {}", name(queue.shutdown()));
    println!("advance {}", name(unsafe { chime_queue_advance(id, 10) }));
    Ok(())
}

fn wait_readable(queue: &Queue) {
    let fd = made(|fd| unsafe { chime_queue_fd(queue.0, fd) });
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

fn host_driven() -> Result<(), Error> {
    println!("- host-driven, callbacks");
    let queue = Queue::new(QUEUE_HOST, None)?;
    let counts = Arc::new(Mutex::new(Counts::default()));
    let counting = |number, count: fn(&mut Counts, u64)| {
        let (counts, captured) = (counts.clone(), Captured(number));
        move |tick: &Tick| {
            let _ = &captured;
            let mut counts = counts.lock().unwrap();
            count(&mut counts, 1 + tick.missed);
            counts.early += u64::from(tick.actual_ns < tick.scheduled_ns);
        }
    };
    let one_shot = queue.after(1_000_000, counting(8, |counts, due| counts.one_shot += due))?;
    let schedule = Schedule { first_ns: 1_000_000, interval_ns: 1_000_000, tick_limit: 5, ..Default::default() };
    let repeating =
        queue.start(TimerOptions::default(), &schedule, counting(9, |counts, due| counts.repeating += due))?;
    let (shared, captured) = (counts.clone(), Captured(10));
    queue.run_soon(move || {
        let _ = &captured;
        shared.lock().unwrap().functions += 1;
    })?;

    let finished = || {
        let counts = counts.lock().unwrap();
        counts.one_shot >= 1 && counts.repeating >= 5 && counts.functions >= 1
    };
    while !finished() {
        wait_readable(&queue);
        queue.process()?;
    }
    let Counts { one_shot: once, repeating: five, early, functions } = *counts.lock().unwrap();
    println!("due times {once} {five} early {early} functions {functions}");
    println!("states {} {}", one_shot.state(), repeating.state());
    let mut record = MaybeUninit::<Tick>::uninit();
    let taken = unsafe { chime_queue_take_ticks(queue.0, record.as_mut_ptr(), size_of::<Tick>() as u32, 1, &mut 0) };
    println!("take_ticks {}", name(taken));
    drop(one_shot);
    drop(repeating);
    ok(queue.shutdown());
    Ok(())
}

/// Takes until that many records came, acts on each, prints each. Contexts are plain numbers here.
fn take(queue: &Queue, expected: usize, second: TimerId) {
    // SAFETY: zero is a value of each member.
    let mut records: [Tick; 16] = unsafe { zeroed() };
    let mut seen = 0;
    while seen < expected {
        wait_readable(queue);
        let count: u32 = made(|count| unsafe {
            chime_queue_take_ticks(queue.0, records.as_mut_ptr(), size_of::<Tick>() as u32, 16, count)
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

fn records() -> Result<(), Error> {
    println!("- host-driven, records");
    let options = QueueOptions { flags: QUEUE_RECORDS, ..Default::default() };
    let queue = Queue::new(QUEUE_HOST, Some(&options))?;
    let start = |number: usize, first_ns, interval_ns, tick_limit| {
        let options =
            TimerOptions { flags: RECORD_ALL, context: number as *mut c_void, ..Default::default() };
        let schedule =
            Schedule { flags: SCHEDULE_DEADLINE, first_ns, interval_ns, tick_limit, ..Default::default() };
        Timer(made(|timer| unsafe { chime_timer_start(queue.0, &options, &schedule, timer) }))
    };
    let first = start(11, 1, 1, 4);
    let second = start(12, 2, 1_000_000_000_000_000_000, 0);
    take(&queue, 4, second.0);
    take(&queue, 1, second.0);
    ok(unsafe { chime_queue_async(queue.0, None, 13 as *mut c_void, None) });
    take(&queue, 1, second.0);
    drop(first);
    take(&queue, 1, second.0);
    let gone = second.0;
    drop(second);
    take(&queue, 1, gone);
    println!("process {}", name(queue.process().unwrap_err().0));
    Ok(())
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

fn main() -> Result<(), Error> {
    check_layout();
    let version = unsafe { chime_version() };
    println!("version {}.{}.{}", version >> 16, version >> 8 & 255, version & 255);
    virtual_time()?;
    host_driven()?;
    records()
}
