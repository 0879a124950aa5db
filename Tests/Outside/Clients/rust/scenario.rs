//! The scenario of ../README.md in Rust, with the crate of Sources/Bindings/rust. What its types do not have (targets, records)
//! is called by its C names, with the objects' ids.

use chime::sys::{self, *};
use chime::{Error, Outcome, Queue, QueueKind, QueueOptions, ResumePolicy, Schedule, Tick, Timer, TimerOptions, FOREVER};
use std::ffi::{c_void, CStr};
use std::mem::{size_of, zeroed};
use std::os::raw::{c_int, c_short, c_ulong};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex};
use std::time::Duration;

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

// ---- The scenario ---------------------------------------------------------------------------------------------------

fn name(status: Status) -> &'static str {
    // SAFETY: the string is static.
    unsafe { CStr::from_ptr(chime_status_name(status)) }.to_str().unwrap()
}

/// The name of a call's status, of a failure's, too.
fn said(answer: Result<Outcome, Error>) -> &'static str {
    answer.map_or_else(|error| error.name(), |outcome| name(outcome as Status))
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

fn ns(nanoseconds: u64) -> Duration {
    Duration::from_nanos(nanoseconds)
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
    drop(Box::from_raw(object.cast::<Object>()))
}

fn describe(number: usize, tick: &Tick) {
    // SAFETY: a tick's target lives until its handler returns.
    let target = unsafe { (tick.target as *const Object).as_ref() }
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
    let queue = Queue::new(QueueKind::Virtual)?;

    println!("- one-shot");
    let timer = queue.after(ns(100), printing(1))?;
    let stale = timer.id();
    queue.advance(ns(99))?;
    queue.advance(ns(1))?;
    println!("state {}", timer.state() as i32);
    drop(timer);
    let again = unsafe { chime_timer_release(stale) };
    println!("release {} of 0 {}", name(again), name(unsafe { chime_timer_release(0) }));

    println!("- repeat");
    let timer = queue.every(ns(10), printing(2))?;
    queue.advance(ns(25))?;
    queue.jump(ns(30))?;
    println!("now {}", queue.now_ns()?);
    queue.advance(ns(0))?;

    drop(timer);

    println!("- suspend and resume, with a target");
    let object = Box::into_raw(Box::new(Object { number: 77 })).cast();
    let target = made(|target| unsafe { chime_target_create(object, Some(destroy), target) });
    let options = TimerOptions { armed: true, cancelled: true, target, ..Default::default() };
    let schedule = Schedule { resume: ResumePolicy::Remaining, ..Schedule::every(ns(50)) };
    let timer = queue.start(&schedule, &options, printing(3))?;
    queue.advance(ns(20))?;
    let suspended = timer.suspend();
    println!("suspend {} again {}", said(suspended), said(timer.suspend()));
    queue.advance(ns(1005))?;
    let info = timer.info()?;
    println!("state {} remaining {}", info.state as i32, info.remaining.unwrap().as_nanos());
    timer.resume()?;
    queue.advance(ns(30))?;
    let mut retained = null_mut();
    ok(unsafe { chime_target_retain(target, &mut retained) });
    // SAFETY: the reference just made keeps the object alive.
    println!("retain {}", unsafe { &*retained.cast::<Object>() }.number);
    ok(unsafe { chime_target_release(target) });
    ok(unsafe { chime_target_release(target) });
    let activated = timer.activate();
    let gone = unsafe { chime_target_retain(target, null_mut()) };
    println!("state {} activate {} retain {}", timer.state() as i32, said(activated), name(gone));
    queue.advance(ns(0))?;
    drop(timer);

    println!("- nobody holds it");
    queue.once(ns(10), printing(6))?;
    queue.advance(ns(10))?;
    queue.once(ns(10), printing(7))?;
    let id = queue.id();
    println!("shutdown {}", said(queue.shutdown(FOREVER)));
    println!("advance {}", name(unsafe { chime_queue_advance(id, 10) }));
    Ok(())
}

fn wait_readable(queue: &Queue) {
    let fd = made(|fd| unsafe { chime_queue_fd(queue.id(), fd) });
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
    let queue = Queue::new(QueueKind::Host)?;
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
    let one_shot = queue.after(ns(1_000_000), counting(8, |counts, due| counts.one_shot += due))?;
    let schedule = Schedule { limit: 5, ..Schedule::every(ns(1_000_000)) };
    let repeating =
        queue.start(&schedule, &TimerOptions::default(), counting(9, |counts, due| counts.repeating += due))?;
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
    println!("states {} {}", one_shot.state() as i32, repeating.state() as i32);
    drop(one_shot);
    drop(repeating);
    assert_eq!(queue.shutdown(FOREVER)?, Outcome::Ok);
    Ok(())
}

/// Takes until that many records came, acts on each, prints each. Contexts are plain numbers here.
fn take(queue: &Queue, expected: usize, second: TimerId) {
    // SAFETY: zero is a value of each member.
    let mut records: [sys::Tick; 16] = unsafe { zeroed() };
    let mut seen = 0;
    while seen < expected {
        wait_readable(queue);
        let count: u32 = made(|count| unsafe {
            chime_queue_take_ticks(queue.id(), records.as_mut_ptr(), size_of::<sys::Tick>() as u32, 16, count)
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
    let options = QueueOptions { records: true, ..Default::default() };
    let queue = Queue::with(QueueKind::Host, &options)?;
    let start = |number: usize, first_ns, interval_ns, tick_limit| {
        let options =
            sys::TimerOptions { flags: RECORD_ALL, context: number as *mut c_void, ..Default::default() };
        let schedule =
            sys::Schedule { flags: SCHEDULE_DEADLINE, first_ns, interval_ns, tick_limit, ..Default::default() };
        Timer::adopt(made(|timer| unsafe { chime_timer_start(queue.id(), &options, &schedule, timer) }))
    };
    let first = start(11, 1, 1, 4);
    let second = start(12, 2, 1_000_000_000_000_000_000, 0);
    take(&queue, 4, second.id());
    take(&queue, 1, second.id());
    ok(unsafe { chime_queue_async(queue.id(), None, 13 as *mut c_void, None) });
    take(&queue, 1, second.id());
    drop(first);
    take(&queue, 1, second.id());
    let gone = second.id();
    drop(second);
    take(&queue, 1, gone);
    Ok(())
}

/// Compares the structures above with the header's, as the record of the ABI has them.
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
    let (major, minor, patch) = chime::version();
    println!("version {major}.{minor}.{patch}");
    virtual_time()?;
    host_driven()?;
    records()
}
