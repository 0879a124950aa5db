//! A host-driven queue as one more descriptor of tokio's loop and of async-io's: the two loops are those of the crate's
//! documentation, which ../run copies into the files that are included here.

use async_io::Async;
use chime::{Queue, QueueKind, Schedule, TimerOptions};
use futures_lite::{future, stream, StreamExt};
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, Arc};
use std::thread;
use std::time::Duration;
use tokio::io::{unix::AsyncFd, Interest};

type Ended = Result<(), Box<dyn std::error::Error + Send + Sync>>;

const WATCHDOG: Duration = Duration::from_secs(30);

async fn on_tokio(queue: Arc<Queue>) -> Ended {
    include!("tokio.rs")
}

async fn on_async_io(queue: Arc<Queue>) -> Ended {
    include!("async-io.rs")
}

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Its end takes longer than the sleep of those who wait for it.
struct Slow(mpsc::Sender<()>);

impl Drop for Slow {
    fn drop(&mut self) {
        self.0.send(()).unwrap();
        thread::sleep(millis(60));
    }
}

/// What a program does with such a queue, while something drives it.
async fn program(queue: Arc<Queue>) -> Ended {
    // Sleepers, in order and never early.
    let begin = queue.now()?;
    let (first, second) = (queue.sleep(millis(5)), queue.sleep(millis(10)));
    let (second, first) = future::zip(second, first).await;
    assert!(first?.actual >= begin + millis(5) && second?.actual >= begin + millis(10));

    // Handlers run where the loop does; a handler that makes something due is heard of, too.
    let handled = Arc::new(AtomicUsize::new(0));
    let (counted, inner) = (handled.clone(), queue.clone());
    let schedule = Schedule { limit: 20, ..Schedule::every(millis(1)) };
    let ticking = queue.start(&schedule, &TimerOptions::default(), move |tick| {
        let counted = counted.clone();
        let due = 1 + tick.missed as usize;
        inner.once(millis(0), move |_| {
            counted.fetch_add(due, Ordering::SeqCst);
        })
        .unwrap();
    })?;
    while handled.load(Ordering::SeqCst) < 20 {
        queue.sleep(millis(1)).await?;
    }

    // Another thread adds timers, and moves them, while the loop sleeps.
    for round in 0..50 {
        let far = queue.sleep(WATCHDOG * 10);
        let id = far.timer().unwrap().id();
        let other = queue.clone();
        let mover = thread::spawn(move || {
            if round % 2 == 0 {
                thread::sleep(millis(1)); // the loop sleeps by then
            }
            drop(other.run_soon(|| ()));
            chime::Timer::borrow(id).restart_after(millis(0)).unwrap();
        });
        far.await?;
        mover.join().unwrap();
    }

    // Another thread is inside the queue, to end a timer, when something falls due: the loop is refused, and hears of it again.
    let (begun, is_inside) = mpsc::channel();
    let slow = Slow(begun);
    let ended = queue.after(WATCHDOG * 10, move |_| {
        let _ = &slow;
    })?;
    let due = queue.sleep(millis(20));
    let ender = thread::spawn(move || drop(ended));
    is_inside.recv()?;
    due.await?;
    ender.join().unwrap();

    // Ticks as a Stream.
    let mut ticks = queue.ticks(&Schedule { limit: 5, ..Schedule::every(millis(1)) })?;
    let due: Vec<_> = stream::poll_fn(move |context| ticks.poll_next(context)).map(|tick| 1 + tick.missed).collect().await;
    assert_eq!(due.iter().sum::<u64>(), 5);
    drop(ticking);
    Ok(())
}

fn tokio_runs(runtime: &tokio::runtime::Runtime) -> Ended {
    runtime.block_on(async {
        let queue = Arc::new(Queue::new(QueueKind::Host)?);
        let driver = tokio::spawn(on_tokio(queue.clone()));
        tokio::time::timeout(WATCHDOG, tokio::spawn(program(queue.clone()))).await???;
        driver.abort();
        assert!(driver.await.unwrap_err().is_cancelled());
        let left = Arc::try_unwrap(queue).expect("the driver has let go of the queue");
        assert_eq!(left.stats()?.timers, 0);
        Ok(())
    })
}

fn async_io_runs() -> Ended {
    let queue = Arc::new(Queue::new(QueueKind::Host)?);
    let late = async {
        async_io::Timer::after(WATCHDOG).await;
        Err("too late".into())
    };
    async_io::block_on(or(program(queue.clone()), or(on_async_io(queue.clone()), late)))?;
    assert_eq!(Arc::try_unwrap(queue).expect("the driver has let go of the queue").stats()?.timers, 0);
    Ok(())
}

fn or(one: impl Future<Output = Ended>, other: impl Future<Output = Ended>) -> impl Future<Output = Ended> {
    future::or(one, other)
}

fn main() -> Ended {
    tokio_runs(&tokio::runtime::Builder::new_current_thread().enable_all().build()?)?;
    tokio_runs(&tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?)?;
    async_io_runs()?;
    println!("tokio, async-io");
    Ok(())
}
