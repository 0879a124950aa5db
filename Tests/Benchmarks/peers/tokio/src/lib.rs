//! tokio: a `Sleep` for each timer, on runtimes of one thread. Sleeps may be made, reset and dropped by any thread.
//!
//! A `Sleep` does nothing until it is polled, and needs a task to call somebody back. Timers that will be moved are
//! sleeps that were polled once; timers that will tick are tasks that wait for one: which of the two is wanted is known
//! by `bench.expected`.
//!
//! One object in the archive: the harness must have `peer_open`, and gets with it those that it may lack.

use std::ffi::{c_char, c_int};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::time::{interval_at, sleep_until, Instant, Sleep};

#[repr(C)]
pub struct Offset {
    ns: i64,
    seconds: f64,
}

#[repr(C)]
struct State {
    base_ns: i64,
    leeway_ns: i64,
    offsets: *const Offset,
    interval_ns: i64,
    late_ns: *mut i64,
    expected: u64,
}

extern "C" {
    static bench: State; // as harness.h declares it, its first members
    fn bench_tick_call(i: usize) -> c_int;
    fn bench_beat_call(due_times: u64) -> c_int;
    fn clock_gettime(clock: c_int, time: *mut [i64; 2]) -> c_int;
    fn printf(format: *const c_char, ...) -> c_int;
}

struct Nobody;
impl Wake for Nobody {
    fn wake(self: Arc<Self>) {}
}

struct Peer {
    runtimes: Vec<Runtime>,
    sleeps: Vec<Pin<Box<Sleep>>>,
    done: Notify,
}

// Made by `peer_open`, before the threads of a load begin, and never freed.
static mut PEER: *mut Peer = std::ptr::null_mut();

fn peer() -> &'static Peer {
    unsafe { &*PEER }
}

fn waker() -> Waker {
    Arc::new(Nobody).into()
}

/// `bench.base_ns` as tokio's clock has it, which is CLOCK_MONOTONIC too.
fn base() -> Instant {
    let mut time = [0; 2];
    let now = Instant::now();
    unsafe { clock_gettime(1, &mut time) };
    now - Duration::from_nanos((time[0] * 1_000_000_000 + time[1] - unsafe { bench.base_ns }) as u64)
}

fn due(base: Instant, offset: &Offset) -> Instant {
    base + Duration::from_nanos(offset.ns as u64)
}

/// Starts a sleep: the first poll puts it among the pending ones.
fn start(mut sleep: Pin<&mut Sleep>, context: &mut Context) {
    assert!(matches!(sleep.as_mut().poll(context), Poll::Pending));
}

unsafe fn slice<'a, T>(first: *const T, count: usize) -> &'a [T] {
    std::slice::from_raw_parts(first, count)
}

#[no_mangle]
#[allow(non_upper_case_globals)]
pub static peer_traits: c_int = 1; // PEER_THREAD_SAFE

/// On C's standard output, where the rest of the line is.
#[no_mangle]
pub unsafe extern "C" fn peer_print_version() {
    printf(concat!(env!("TOKIO_VERSION"), "\0").as_ptr().cast());
}

#[no_mangle]
pub unsafe extern "C" fn peer_open(count: usize) {
    let runtime = || Builder::new_current_thread().enable_time().build().unwrap();
    let runtimes = std::iter::repeat_with(runtime).take(count).collect();
    PEER = Box::into_raw(Box::new(Peer { runtimes, sleeps: Vec::new(), done: Notify::new() }));
}

#[no_mangle]
pub unsafe extern "C" fn peer_fill(offsets: *const Offset, count: usize) {
    let base = base();
    let _inside = peer().runtimes[0].enter();
    let waker = waker();
    let mut context = Context::from_waker(&waker);
    let mut sleeps = Vec::with_capacity(if bench.expected > 0 { 0 } else { count });
    for (i, offset) in slice(offsets, count).iter().enumerate() {
        let due = due(base, offset);
        if bench.expected > 0 {
            peer().runtimes[0].spawn(async move {
                sleep_until(due).await;
                if bench_tick_call(i) != 0 {
                    peer().done.notify_one();
                }
            });
        } else {
            let mut sleep = Box::pin(sleep_until(due));
            start(sleep.as_mut(), &mut context);
            sleeps.push(sleep);
        }
    }
    if bench.expected > 0 {
        peer().runtimes[0].block_on(tokio::task::yield_now()); // begins to poll them
    }
    (*PEER).sleeps = sleeps;
}

#[no_mangle]
pub unsafe extern "C" fn peer_create(queue: usize, offsets: *const Offset, count: usize) {
    let base = base();
    let _inside = peer().runtimes[queue].enter();
    let waker = waker();
    let mut context = Context::from_waker(&waker);
    for offset in slice(offsets, count) {
        start(Box::pin(sleep_until(due(base, offset))).as_mut(), &mut context);
    }
}

#[no_mangle]
pub unsafe extern "C" fn peer_postpone(which: *const u32, offsets: *const Offset, count: usize) {
    let base = base();
    let sleeps = &mut (*PEER).sleeps;
    for (i, offset) in slice(which, count).iter().zip(slice(offsets, count)) {
        sleeps[*i as usize].as_mut().reset(due(base, offset));
    }
}

#[no_mangle]
pub unsafe extern "C" fn peer_run() {
    peer().runtimes[0].block_on(peer().done.notified());
}

#[no_mangle]
pub unsafe extern "C" fn peer_repeat(interval_ns: i64) {
    let base = base();
    let period = Duration::from_nanos(interval_ns as u64);
    peer().runtimes[0].spawn(async move {
        let mut beat = interval_at(base + period, period);
        loop {
            beat.tick().await;
            if bench_beat_call(1) != 0 {
                peer().done.notify_one();
            }
        }
    });
}
