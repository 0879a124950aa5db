//! What call.c measures, from Rust, without crates.

use std::ffi::c_void;
use std::time::Instant;

const OK: i32 = 0;
const QUEUE_HOST: i32 = 2;
const HOUR: i64 = 3_600_000_000_000;

type Handler = unsafe extern "C" fn(*const c_void, *mut c_void);

#[link(name = "chime")]
extern "C" {
    fn chime_queue_create(kind: i32, options: *const c_void, queue: *mut u64) -> i32;
    fn chime_queue_now(queue: u64, now_ns: *mut i64) -> i32;
    fn chime_timer_after(queue: u64, delay_ns: i64, handler: Handler, context: *mut c_void, finalizer: *const c_void,
                         timer: *mut u64) -> i32;
    fn chime_timer_state(timer: u64, state: *mut i32) -> i32;
    fn chime_timer_postpone_until(timer: u64, deadline_ns: i64) -> i32;
}

unsafe extern "C" fn on_tick(_tick: *const c_void, _context: *mut c_void) {}

fn require(status: i32) {
    assert_eq!(status, OK);
}

fn least(operations: u32, mut work: impl FnMut()) -> f64 {
    (0..5)
        .map(|_| {
            let begun = Instant::now();
            (0..operations).for_each(|_| work());
            begun.elapsed().as_nanos() as f64 / f64::from(operations)
        })
        .fold(f64::INFINITY, f64::min)
}

fn main() {
    let operations = std::env::args().nth(1).unwrap().parse().unwrap();
    let (mut queue, mut timer, mut state, mut deadline) = (0, 0, 0, 0);
    // SAFETY: the pointers are to variables of these types; any number may be passed as an id.
    unsafe {
        require(chime_queue_create(QUEUE_HOST, std::ptr::null(), &mut queue));
        require(chime_timer_after(queue, HOUR, on_tick, std::ptr::null_mut(), std::ptr::null(), &mut timer));
        require(chime_queue_now(queue, &mut deadline));
    }
    deadline += HOUR;
    // SAFETY: as above.
    let states = least(operations, || require(unsafe { chime_timer_state(timer, &mut state) }));
    let postpones = least(operations, || {
        deadline += 1000;
        // SAFETY: as above.
        require(unsafe { chime_timer_postpone_until(timer, deadline) })
    });
    println!("{{\"state\": {states:.1}, \"postpone_until\": {postpones:.1}}}");
}
