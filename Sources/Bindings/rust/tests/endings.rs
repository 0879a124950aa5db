//! How a process ends that panics or exits inside a closure: each case in a process of its own, which is this program again.

use chime::{Queue, QueueKind, Schedule, TimerOptions, FOREVER};
use std::cell::RefCell;
use std::panic::{catch_unwind, panic_any, AssertUnwindSafe};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::thread::{park, sleep};
use std::time::{Duration, Instant};

const WATCHDOG: Duration = Duration::from_secs(60);
const VARIABLE: &str = "CHIME_RUST_ENDING";
const NOW: Duration = Duration::from_secs(0);

/// A payload that panics when it is dropped.
struct Worse;
impl Drop for Worse {
    fn drop(&mut self) {
        panic!("worse");
    }
}

/// Calls its function when it is dropped.
struct OnDrop<F: FnMut()>(F);
impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)()
    }
}

fn for_ever() -> ! {
    loop {
        park()
    }
}

/// How the case leaves its closure.
fn leave(how: &str) {
    match how {
        "panic" => panic!("boom"),
        "payload" => panic_any(Worse),
        _ => std::process::exit(5),
    }
}

fn end(place: &str, how: &'static str) {
    let queue = |kind| Queue::new(kind).unwrap();
    match place {
        "advance" => {
            let queue = queue(QueueKind::Virtual);
            queue.once(NOW, move |_| leave(how)).unwrap();
            queue.advance(NOW).unwrap();
        }
        "run" => {
            let queue = queue(QueueKind::Host);
            queue.once(NOW, move |_| leave(how)).unwrap();
            queue.run().unwrap();
        }
        "thread" => {
            let queue = queue(QueueKind::Serial);
            queue.once(NOW, move |_| leave(how)).unwrap();
            for_ever()
        }
        "soon" => {
            let queue = queue(QueueKind::Concurrent);
            queue.run_soon(move || leave(how)).unwrap();
            for_ever()
        }
        "sync" => {
            queue(QueueKind::Precise).sync(FOREVER, || leave(how)).unwrap();
        }
        // A captured value that panics in its drop, and a closure that is told of its timer's end: inside each call that ends
        // a timer, on each kind of queue whose callbacks run there.
        _ if place.starts_with("ends ") => {
            let words: Vec<_> = place.split_whitespace().collect();
            let queue = queue(if words[1] == "host" { QueueKind::Host } else { QueueKind::Virtual });
            let options = TimerOptions { cancelled: true, ..Default::default() };
            let tells = words[2] == "cancelled";
            let mut held = (!tells).then(|| OnDrop(|| leave(how)));
            let function = move |_: &chime::Tick| (&mut held, tells.then(|| leave(how))).1.unwrap_or_default();
            let timer = queue.start(&Schedule::once(FOREVER), &options, function).unwrap();
            match words[3] {
                "release" => drop(timer.release()),
                "release_and_wait" => drop(timer.release_and_wait(FOREVER)),
                "drop" => drop(timer),
                "shutdown" => drop(queue.shutdown(FOREVER)),
                "unwinding" => leave(how), // and drops the timer, whose closure panics, too
                _ => {
                    drop(queue);
                    drop(timer)
                }
            }
        }
        "cancelled" => {
            let queue = queue(QueueKind::Virtual);
            let options = TimerOptions { cancelled: true, ..Default::default() };
            let timer = queue.start(&Schedule::once(FOREVER), &options, move |_| leave(how)).unwrap();
            timer.cancel().unwrap();
            queue.advance(NOW).unwrap();
        }
        // While other threads create, wait and tick.
        _ => {
            let queue: &'static Queue = Box::leak(Box::new(queue(QueueKind::Serial)));
            for _ in 0..3 {
                std::thread::spawn(move || loop {
                    let timer = queue.every(Duration::from_nanos(1), |_| ()).unwrap();
                    let _ = timer.release_and_wait(FOREVER);
                    let _ = queue.sync(FOREVER, || ());
                });
            }
            queue.once(Duration::from_millis(5), move |_| leave(how)).unwrap();
            for_ever()
        }
    }
}

#[cfg(unix)]
fn is_of_abort(status: ExitStatus) -> bool {
    std::os::unix::process::ExitStatusExt::signal(&status) == Some(6)
}
#[cfg(not(unix))]
fn is_of_abort(status: ExitStatus) -> bool {
    status.code() == Some(0xC000_0409_u32 as i32) // STATUS_STACK_BUFFER_OVERRUN, of __fastfail
}

#[test]
fn a_panic_comes_out_of_the_call_or_ends_the_process_and_so_does_an_exit() {
    if let Ok(case) = std::env::var(VARIABLE) {
        let (place, how) = case.rsplit_once(' ').unwrap();
        let how = ["panic", "payload", "exit"].into_iter().find(|known| *known == how).unwrap();
        // What comes out of a call is the closure's own payload, which is not dropped on the way.
        let carried = catch_unwind(AssertUnwindSafe(|| end(place, how))).unwrap_err();
        let is_own = if how == "panic" { carried.downcast_ref::<&str>() == Some(&"boom") } else { carried.is::<Worse>() };
        std::mem::forget(carried);
        std::process::exit(if is_own { 6 } else { 7 });
    }
    let mut places: Vec<String> = ["advance", "run", "thread", "soon", "sync", "cancelled", "storm"].map(String::from).into();
    for ends in ["release", "release_and_wait", "drop", "shutdown", "unwinding", "queue"] {
        for kind in ["virtual", "host"] {
            places.extend(["captured", "cancelled"].map(|what| format!("ends {kind} {what} {ends}")));
        }
    }
    for how in ["panic", "payload", "exit"] {
        for place in &places {
            let case = format!("{place} {how}");
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "--nocapture", "a_panic_comes_out_of_the_call_or_ends_the_process_and_so_does_an_exit"])
                .env(VARIABLE, &case)
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let begun = Instant::now();
            while child.try_wait().unwrap().is_none() {
                if begun.elapsed() > WATCHDOG {
                    child.kill().unwrap();
                    panic!("{case}: hangs");
                }
                sleep(Duration::from_millis(2));
            }
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            let status = output.status;
            // In a Rust of old a panic while another one unwinds is the end, caught or not.
            let is_old = place.ends_with("unwinding") && said.contains("thread panicked while panicking. aborting");
            let is_right = match (how, place.as_str()) {
                ("exit", _) => status.code() == Some(5),
                _ if is_old => is_of_abort(status),
                (_, "advance" | "run" | "sync" | "cancelled") => status.code() == Some(6),
                (_, ends) if ends.starts_with("ends ") => status.code() == Some(6),
                _ => is_of_abort(status),
            };
            assert!(is_right, "{case}: {status}: {said}");
            assert!(!said.contains("worse"), "{case}: the payload was dropped: {said}");
            assert_eq!(said.contains("boom"), how == "panic", "{case}: {said}");
        }
    }
}

/// Calls a queue when its thread ends.
struct Last(RefCell<Vec<Queue>>);
impl Drop for Last {
    fn drop(&mut self) {
        for queue in self.0.borrow_mut().drain(..) {
            let (ticks, ticked) = channel();
            queue.once(NOW, move |_| ticks.send(()).unwrap()).unwrap();
            let driven = [queue.advance(NOW).is_ok(), queue.process().is_ok(), queue.run().is_ok()];
            let is_serial = queue.sync(FOREVER, || ()).is_ok();
            assert_eq!(driven.contains(&true), !is_serial);
            ticked.recv_timeout(WATCHDOG).unwrap();
        }
    }
}
thread_local! {
    static BEFORE: Last = Last(RefCell::default()); // the crate's own thread-locals are set up in between
    static BEHIND: Last = Last(RefCell::default());
}

#[test]
fn calls_work_in_the_destructor_of_a_thread_local() {
    let calls = || {
        for last in [&BEFORE, &BEHIND] {
            for kind in [QueueKind::Virtual, QueueKind::Host, QueueKind::Serial] {
                let queue = Queue::new(kind).unwrap();
                // On Windows no thread begins while a destructor runs: those that its tick needs have begun by then.
                if matches!(kind, QueueKind::Serial) {
                    let (ticks, ticked) = channel();
                    queue.once(NOW, move |_| ticks.send(()).unwrap()).unwrap();
                    ticked.recv_timeout(WATCHDOG).unwrap();
                }
                last.with(|last| last.0.borrow_mut().push(queue));
            }
            Queue::new(QueueKind::Virtual).unwrap().advance(NOW).unwrap();
        }
    };
    std::thread::spawn(calls).join().unwrap();
}
