//! Waits of async code, on an executor of the test's own: a thread that parks.

use chime::{Error, ErrorKind, Queue, QueueKind, Schedule, Sleep, State, Ticks, FOREVER};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

const WATCHDOG: Duration = Duration::from_secs(30);
const ALL: [QueueKind; 5] = [QueueKind::Serial, QueueKind::Concurrent, QueueKind::Host, QueueKind::Precise, QueueKind::Virtual];

struct Parked(Thread, AtomicUsize);

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.unpark();
    }
}

fn drive(queue: &Queue, kind: QueueKind) {
    match kind {
        QueueKind::Virtual => queue.advance(Duration::from_millis(1)).unwrap(),
        QueueKind::Host => drop(queue.process().unwrap()),
        _ => (),
    }
    thread::park_timeout(Duration::from_millis(1));
}

/// Runs a future, and between its polls what drives.
fn block_on<F: Future>(future: F, drive: impl Fn()) -> F::Output {
    let mut future = Box::pin(future);
    let waker = Waker::from(Arc::new(Parked(thread::current(), AtomicUsize::new(0))));
    let begin = Instant::now();
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        assert!(begin.elapsed() < WATCHDOG);
        drive();
    }
}

fn is_send_and_unpin<T: Send + Unpin>(_: &T) {}

#[test]
fn a_sleep_is_never_early_and_counts_from_its_call() -> Result<(), Error> {
    for kind in ALL {
        let queue = Queue::new(kind)?;
        for round in 0..20 {
            let begin = queue.now()?;
            let sleep = queue.sleep(Duration::from_millis(2));
            is_send_and_unpin(&sleep);
            if round % 2 == 0 {
                drive(&queue, kind);
            }
            let tick = block_on(sleep, || drive(&queue, kind))?;
            let end = begin + Duration::from_millis(2);
            assert!(tick.scheduled >= end && queue.now()? >= end);
        }
        assert!(block_on(queue.sleep_until(queue.now()? - Duration::from_nanos(1)), || drive(&queue, kind)).is_ok());
        assert_eq!(queue.stats()?.timers, 0);
    }
    Ok(())
}

/// Else a task that makes, polls and drops a wait each time it is polled would be polled for ever.
#[test]
fn a_wait_that_is_dropped_wakes_nobody() -> Result<(), Error> {
    for kind in ALL {
        let (queue, parked) = (Queue::new(kind)?, Arc::new(Parked(thread::current(), AtomicUsize::new(0))));
        let waker = Waker::from(parked.clone());
        for _ in 0..20 {
            let mut sleep = queue.sleep(FOREVER);
            assert!(Pin::new(&mut sleep).poll(&mut Context::from_waker(&waker)).is_pending());
            let mut ticks = queue.ticks(&Schedule::every(FOREVER))?;
            assert!(ticks.poll_next(&mut Context::from_waker(&waker)).is_pending());
        }
        drop(queue); // what is called at the end of the timers has been called
        assert_eq!((parked.1.load(Ordering::SeqCst), Arc::strong_count(&parked)), (0, 2));
    }
    Ok(())
}

#[test]
fn ticks_that_nobody_took_are_one_and_a_limit_ends_them() -> Result<(), Error> {
    let queue = Queue::new(QueueKind::Virtual)?;
    let ns = Duration::from_nanos;
    let mut ticks = queue.ticks(&Schedule { limit: 6, ..Schedule::every(ns(10)) })?;
    is_send_and_unpin(&ticks);
    let mut next = |advance| {
        queue.advance(ns(advance)).unwrap();
        block_on(ticks.next(), || panic!("nothing is there")).map(|tick| (tick.sequence, tick.missed, tick.scheduled.as_nanos()))
    };
    assert_eq!(next(10), Some((1, 0, 10)));
    assert_eq!(next(35), Some((4, 2, 40)));
    assert_eq!(next(100), Some((6, 1, 60)));
    assert_eq!((next(100), next(0)), (None, None));
    Ok(())
}

/// What ends a wait that is not over: the queue, a cancellation, each before it is polled and while it waits.
#[test]
fn a_wait_ends_with_its_queue_and_when_it_is_cancelled() -> Result<(), Error> {
    for kind in ALL {
        for (is_polled, ends) in [(false, "queue"), (true, "queue"), (false, "timer"), (true, "timer")] {
            let queue = Mutex::new(Some(Queue::new(kind)?));
            let with = |call: &dyn Fn(&Queue)| queue.lock().unwrap().iter().for_each(call);
            let mut waits = Vec::new();
            with(&|queue| assert!(queue.timers().unwrap().is_empty()));
            if let Some(queue) = queue.lock().unwrap().as_ref() {
                waits.push((queue.sleep(FOREVER), queue.ticks(&Schedule::every(WATCHDOG))?));
            }
            let (mut sleep, mut ticks): (Sleep, Ticks) = waits.remove(0);
            let woken = Arc::new(Parked(thread::current(), AtomicUsize::new(0)));
            let waker = Waker::from(woken.clone());
            let mut context = Context::from_waker(&waker);
            if is_polled {
                assert!(Pin::new(&mut sleep).poll(&mut context).is_pending() && ticks.poll_next(&mut context).is_pending());
            }
            if ends == "queue" {
                drop(queue.lock().unwrap().take());
            } else {
                sleep.timer().unwrap().cancel()?;
                ticks.timer().cancel()?;
            }
            let driven = || with(&|queue| drive(queue, kind));
            assert_eq!(block_on(&mut sleep, driven).unwrap_err().kind(), ErrorKind::ShutDown);
            assert_eq!(block_on(ticks.next(), driven), None);
            if ends == "queue" {
                assert_eq!(woken.1.load(Ordering::SeqCst), if is_polled { 2 } else { 0 }, "{kind:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_dropped_wait_takes_its_timer_back_and_drops_its_waker() -> Result<(), Error> {
    let queue = Queue::new(QueueKind::Serial)?;
    let woken = Arc::new(Parked(thread::current(), AtomicUsize::new(0)));
    let waker = Waker::from(woken.clone());
    let mut sleep = queue.sleep(WATCHDOG);
    assert!(Pin::new(&mut sleep).poll(&mut Context::from_waker(&waker)).is_pending());
    drop((sleep, waker));
    assert_eq!(queue.stats()?.timers, 0);
    drop(queue);
    assert_eq!((Arc::strong_count(&woken), woken.1.load(Ordering::SeqCst)), (1, 0));
    Ok(())
}

#[test]
fn a_wait_that_cannot_be_made_says_why() -> Result<(), Error> {
    let queue = Queue::with(QueueKind::Virtual, &chime::QueueOptions { timer_limit: 1, ..Default::default() })?;
    let _first = queue.sleep(FOREVER);
    let mut second = queue.sleep(FOREVER);
    assert!(second.timer().is_none());
    assert_eq!(block_on(&mut second, || ()).unwrap_err().kind(), ErrorKind::Limit);
    assert!(queue.ticks(&Schedule { leeway: WATCHDOG, ..Schedule::every(Duration::from_nanos(1)) }).is_err());
    Ok(())
}

/// As those of tokio: `select!` polls it by reference, and an idle timeout is set anew when it was over.
#[test]
fn a_sleep_that_is_over_stays_so_until_it_is_set_anew() -> Result<(), Error> {
    for kind in ALL {
        let queue = Queue::new(kind)?;
        let driven = || drive(&queue, kind);
        let mut sleep = queue.sleep(Duration::from_millis(1));
        let mut last = block_on(&mut sleep, driven)?;
        for round in 0..100 {
            assert_eq!(block_on(&mut sleep, || panic!("it was over"))?, last);
            sleep.timer().unwrap().restart_after(Duration::from_micros(round % 3))?;
            if round % 4 == 0 {
                driven(); // it may have ticked before it is polled
            }
            let next = block_on(&mut sleep, driven)?;
            assert!(next.generation != last.generation && next.scheduled >= last.scheduled, "{kind:?}");
            last = next;
        }
        sleep.timer().unwrap().restart_after(FOREVER)?;
        let waker = Waker::from(Arc::new(Parked(thread::current(), AtomicUsize::new(0))));
        assert!(Pin::new(&mut sleep).poll(&mut Context::from_waker(&waker)).is_pending());
        sleep.timer().unwrap().cancel()?;
        assert_eq!(block_on(&mut sleep, driven).unwrap_err().kind(), ErrorKind::ShutDown);
    }
    Ok(())
}

/// A message comes while the time ends: `select!` takes the message, which sets the timeout anew.
#[test]
fn a_sleep_that_was_over_and_is_set_anew_before_it_is_polled_is_not_over() -> Result<(), Error> {
    for kind in ALL {
        let queue = Queue::new(kind)?;
        let driven = || drive(&queue, kind);
        let waker = Waker::from(Arc::new(Parked(thread::current(), AtomicUsize::new(0))));
        let over = |sleep: &Sleep| -> Result<(), Error> {
            let begin = Instant::now();
            loop {
                let info = sleep.timer().unwrap().info()?;
                if info.state == State::Finished && !info.busy {
                    return Ok(());
                }
                assert!(begin.elapsed() < WATCHDOG);
                driven();
            }
        };
        let mut sleep = queue.sleep(Duration::ZERO);
        for polled in [false, true] {
            over(&sleep)?;
            sleep.timer().unwrap().restart_after(FOREVER)?;
            if polled {
                assert!(Pin::new(&mut sleep).poll(&mut Context::from_waker(&waker)).is_pending(), "{kind:?}");
            }
            let second = queue.now()? + Duration::from_millis(1);
            sleep.timer().unwrap().restart_until(second)?;
            over(&sleep)?;
            assert_eq!(block_on(&mut sleep, || panic!("it was over"))?.scheduled, second, "{kind:?}");
            sleep.timer().unwrap().restart_after(Duration::ZERO)?;
        }
        over(&sleep)?;
        sleep.timer().unwrap().reschedule(&Schedule::once(FOREVER))?; // which starts nothing
        assert!(block_on(&mut sleep, || panic!("it was over")).is_ok());
        sleep.timer().unwrap().restart_after(Duration::ZERO)?;
        over(&sleep)?;
        sleep.timer().unwrap().restart_after(FOREVER)?;
        assert!(Pin::new(&mut sleep).poll(&mut Context::from_waker(&waker)).is_pending(), "{kind:?}");
        sleep.timer().unwrap().restart_after(Duration::ZERO)?;
        over(&sleep)?;
        sleep.timer().unwrap().restart_after(FOREVER)?;
        sleep.timer().unwrap().cancel()?;
        assert_eq!(block_on(&mut sleep, driven).unwrap_err().kind(), ErrorKind::ShutDown, "{kind:?}");
    }
    Ok(())
}

#[test]
fn ticks_go_on_when_their_timer_was_suspended_or_is_started_again() -> Result<(), Error> {
    for kind in ALL {
        let queue = Queue::new(kind)?;
        let driven = || drive(&queue, kind);
        let mut ticks = queue.ticks(&Schedule { limit: 2, ..Schedule::every(Duration::from_millis(1)) })?;
        let mut due = 0;
        while let Some(tick) = block_on(ticks.next(), driven) {
            due += 1 + tick.missed;
        }
        assert_eq!((due, block_on(ticks.next(), || panic!("it has ended"))), (2, None));
        ticks.timer().restart_with(&Schedule::every(Duration::from_millis(1)))?;
        assert!(block_on(ticks.next(), driven).is_some());
        ticks.timer().suspend()?;
        let waker = Waker::from(Arc::new(Parked(thread::current(), AtomicUsize::new(0))));
        while ticks.poll_next(&mut Context::from_waker(&waker)).is_ready() {} // one that had come
        ticks.timer().resume()?;
        assert!(block_on(ticks.next(), driven).is_some());
    }
    Ok(())
}
