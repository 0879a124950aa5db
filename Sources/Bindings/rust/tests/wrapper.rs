//! What the crate adds to chime.h: ownership, types, errors. What timers do is tested in Tests/C.

use chime::{
    Class, Clock, Error, Instant, MissedPolicy, Outcome, Queue, QueueKind, QueueOptions, ResumePolicy, Schedule, State, Tick, TickKind, Timer,
    TimerOptions, FOREVER,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

const WATCHDOG: Duration = Duration::from_secs(30);

fn at(nanoseconds: i64) -> Instant {
    Instant::from_nanos(nanoseconds)
}

fn ns(nanoseconds: u64) -> Duration {
    Duration::from_nanos(nanoseconds)
}

/// Ticks that a closure has had, and whether the closure is still there.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<Tick>>>);

impl Seen {
    fn closure(&self) -> impl FnMut(&Tick) + Send + 'static {
        let seen = self.0.clone();
        move |tick| seen.lock().unwrap().push(*tick)
    }
    fn times(&self) -> Vec<i64> {
        self.0.lock().unwrap().iter().map(|tick| tick.scheduled.as_nanos()).collect()
    }
    fn kinds(&self) -> Vec<TickKind> {
        self.0.lock().unwrap().iter().map(|tick| tick.kind).collect()
    }
    fn holders(&self) -> usize {
        Arc::strong_count(&self.0) - 1
    }
}

/// Where the record of the ABI is, which is not in the crate: `make -C Tests/Outside/Clients run` names it.
#[test]
fn structures_are_laid_out_as_recorded() {
    let layout = chime::sys::layout();
    let recorded = std::env::var("CHIME_LAYOUT").map_or(String::new(), |path| std::fs::read_to_string(path).unwrap());
    for line in recorded.lines() {
        let (place, number) = line.split_once(' ').unwrap();
        assert!(layout.contains(&(place.to_string(), number.parse().unwrap())), "{line}");
    }
}

/// The same for the constants.
#[test]
fn numbers_are_those_of_the_header() {
    let numbers = chime::sys::numbers();
    let recorded = std::env::var("CHIME_NUMBERS").map_or(String::new(), |path| std::fs::read_to_string(path).unwrap());
    let mut found = 0;
    for line in recorded.lines() {
        let (name, number) = line.strip_prefix("CHIME_").unwrap().split_once(' ').unwrap();
        let number: i64 = number.parse().unwrap();
        match numbers.iter().find(|(ours, _)| *ours == name) {
            Some((_, ours)) => assert_eq!(*ours, number, "{name}"),
            None => assert!(!name.starts_with("ERROR_"), "{name}"),
        }
        found += numbers.iter().any(|(ours, _)| *ours == name) as usize;
    }
    assert!(recorded.is_empty() || found == numbers.len(), "a name that is none of the header's");
}

/// On every kind of queue, in the closure itself.
#[test]
fn an_outcome_says_whether_a_tick_was_taken_back_and_whether_a_closure_runs() -> Result<(), Error> {
    let both = Outcome::IGNORED | Outcome::RUNNING;
    assert!(both.is_ignored() && both.is_running() && !both.is_stopped());
    assert_eq!(format!("{both} {both:?}"), "CHIME_IGNORED | CHIME_RUNNING CHIME_IGNORED | CHIME_RUNNING");
    for kind in [QueueKind::Serial, QueueKind::Concurrent, QueueKind::Host, QueueKind::Precise, QueueKind::Virtual] {
        let queue = Queue::new(kind)?;
        let (send, seen) = channel();
        let _timer = queue.after(ns(0), move |tick| {
            let timer = Timer::borrow(tick.timer);
            let first = [timer.postpone(ns(5)), timer.suspend(), timer.cancel()];
            let again = timer.restart_after(FOREVER);
            send.send((first, [again, timer.cancel(), timer.cancel()])).unwrap();
        })?;
        match kind {
            QueueKind::Host => drop(queue.run()?),
            QueueKind::Virtual => queue.advance(ns(0))?,
            _ => (),
        }
        let (first, then) = seen.recv_timeout(WATCHDOG).unwrap();
        assert_eq!(first.map(Result::unwrap), [both; 3], "{kind:?}");
        assert_eq!(then.map(Result::unwrap), [Outcome::RUNNING, Outcome::RUNNING, both], "{kind:?}");
    }
    Ok(())
}

#[test]
fn a_timer_gives_its_schedule_and_whether_it_has_one_or_is_in_the_background() -> Result<(), Error> {
    let queue = Queue::new(QueueKind::Virtual)?;
    let timer = queue.create(&TimerOptions { background: true, ..Default::default() }, |_| ())?;
    assert_eq!(timer.schedule()?, None);
    assert_eq!((timer.info()?.background, timer.info()?.has_schedule), (true, false));
    timer.set_background(false)?;
    let given = Schedule { leeway: ns(5), limit: 7, jitter: ns(10), ..Schedule::every(ns(25)) };
    let moved = Schedule { first: ns(40), ..given };
    let never = Schedule { resume: ResumePolicy::Remaining, ..Schedule::once(FOREVER) };
    type Step<'a> = (Box<dyn Fn() -> Result<Outcome, Error> + 'a>, Schedule);
    let steps: [Step<'_>; 6] = [
        (Box::new(|| timer.reschedule(&given)), given),
        (Box::new(|| timer.restart_after(ns(40))), moved),
        (Box::new(|| timer.postpone(ns(100))), moved),
        (Box::new(|| timer.set_interval(ns(10))), Schedule { interval: ns(10), ..moved }),
        (Box::new(|| timer.restart_until(at(3))), Schedule { interval: ns(10), first: ns(0), deadline: Some(at(3)), ..moved }),
        (Box::new(|| timer.restart_with(&never)), never),
    ];
    for (number, (call, schedule)) in steps.iter().enumerate() {
        assert_eq!(call()?, Outcome::OK, "{number}");
        assert_eq!(timer.schedule()?, Some(*schedule), "{number}");
        assert_eq!((timer.info()?.background, timer.info()?.has_schedule, timer.info()?.jitter), (false, true, schedule.jitter));
    }
    Ok(())
}

#[test]
fn a_queue_lists_its_timers_and_runs_until_it_has_called_something() -> Result<(), Error> {
    let (queue, seen) = (Queue::new(QueueKind::Host)?, Seen::default());
    assert!(queue.timers()?.is_empty() && queue.run_once()?.is_ignored());
    let held = [queue.after(ns(0), seen.closure())?, queue.after(FOREVER, seen.closure())?];
    let background = queue.start(&Schedule::once(FOREVER), &TimerOptions { background: true, ..Default::default() }, |_| ())?;
    queue.once(FOREVER, |_| ())?;
    let ids: Vec<_> = queue.timers()?.iter().map(|timer| timer.id()).collect();
    assert!(ids.len() == 4 && held.iter().chain([&background]).all(|timer| ids.contains(&timer.id())));
    for count in 1..3 {
        assert_eq!((queue.run_once()?, seen.times().len()), (Outcome::OK, count));
        if count == 1 {
            held[1].restart_after(Duration::from_millis(5))?; // not before: on a slow machine both would be due at once
        }
    }
    assert!(queue.run_once()?.is_ignored());
    Ok(())
}

#[test]
fn a_tick_has_its_timers_target() -> Result<(), Error> {
    use chime::sys;
    let (queue, seen, mut target) = (Queue::new(QueueKind::Virtual)?, Seen::default(), 0);
    // SAFETY: the object is a number, and nobody destroys it.
    assert_eq!(unsafe { sys::chime_target_create(77 as *mut _, None, &mut target) }, sys::OK);
    let timer = queue.start(&Schedule::once(ns(10)), &TimerOptions { target, ..Default::default() }, seen.closure())?;
    queue.advance(ns(10))?;
    // SAFETY: the only reference to it is given back.
    assert_eq!(unsafe { sys::chime_target_release(target) }, sys::OK);
    assert_eq!(seen.0.lock().unwrap()[0].target, 77);
    assert_eq!(timer.restart().unwrap_err().status(), sys::ERROR_TARGET_GONE);
    Ok(())
}

#[test]
fn a_repeating_timer_has_its_grid_and_counts_what_it_missed() -> Result<(), Error> {
    let (queue, seen) = (Queue::new(QueueKind::Virtual)?, Seen::default());
    let timer = queue.every(ns(10), seen.closure())?;
    queue.advance(ns(25))?;
    queue.jump(ns(30))?;
    queue.advance(ns(0))?;
    assert_eq!(seen.times(), [10, 20, 50]);
    assert_eq!(queue.now()?, at(55));
    let info = timer.info()?;
    assert_eq!((info.missed, info.sequence, info.interval, info.state), (2, 3, ns(10), State::Running));
    assert_eq!(timer.next_deadline()?, Some(at(60)));
    assert_eq!(timer.remaining()?, Some(ns(5)));
    assert_eq!(queue.next_deadline()?, Some(at(60)));
    let stats = queue.stats()?;
    assert_eq!((stats.timers, stats.ticks, stats.missed, stats.lateness.iter().sum::<u64>()), (1, 3, 2, 3));
    Ok(())
}

#[test]
fn an_advance_without_end_is_refused() -> Result<(), Error> {
    let queue = Queue::new(QueueKind::Virtual)?;
    let (send, ticks) = channel();
    let _timer = queue.every(ns(10), move |tick| {
        send.send(tick.sequence).unwrap();
        if tick.sequence == 5 {
            Timer::borrow(tick.timer).cancel().unwrap();
        }
    })?;
    for endless in [FOREVER, Duration::MAX] {
        let refused = queue.advance(endless).unwrap_err();
        assert_eq!(refused.kind(), chime::ErrorKind::InvalidArgument);
        assert!(refused.to_string().contains("an advance needs an end"), "{refused}");
    }
    assert_eq!((ticks.try_iter().count(), queue.now()?), (0, at(0)));
    while let Some(next) = queue.next_deadline()? {
        queue.advance(next - queue.now()?)?;
    }
    assert_eq!((ticks.try_iter().count(), queue.now()?), (5, at(50)));
    Ok(())
}

#[test]
fn an_idle_timeout_is_postponed() -> Result<(), Error> {
    let (queue, seen) = (Queue::new(QueueKind::Virtual)?, Seen::default());
    let timer = queue.after(ns(100), seen.closure())?;
    queue.advance(ns(60))?;
    assert_eq!(timer.postpone(ns(100))?, Outcome::OK);
    assert_eq!(timer.postpone_until(at(200))?, Outcome::OK);
    queue.advance(ns(139))?;
    assert_eq!(seen.times(), []);
    queue.advance(ns(1))?;
    assert_eq!(seen.times(), [200]);
    assert_eq!(timer.postpone(ns(100))?, Outcome::IGNORED);
    Ok(())
}

#[test]
fn a_timer_is_set_again_in_any_state() -> Result<(), Error> {
    let (queue, seen) = (Queue::new(QueueKind::Virtual)?, Seen::default());
    let timer = queue.create(&TimerOptions::default(), seen.closure())?;
    assert_eq!(timer.restart_after(ns(10))?, Outcome::OK); // idle
    assert_eq!(timer.restart_after(ns(5))?, Outcome::OK); // running
    queue.advance(ns(20))?;
    assert_eq!(timer.restart_until(at(30))?, Outcome::OK); // finished
    timer.suspend()?;
    assert_eq!(timer.restart_until(at(25))?, Outcome::OK); // suspended
    queue.advance(ns(20))?;
    assert_eq!(seen.times(), [5, 25]);
    let mut push = seen.closure();
    let _repeating = queue.every(ns(10), move |tick| {
        push(tick);
        if tick.sequence == 1 && tick.scheduled == at(50) {
            assert_eq!(Timer::borrow(tick.timer).restart_after(ns(3)).unwrap(), Outcome::RUNNING);
        }
    })?;
    queue.advance(ns(25))?;
    assert_eq!(seen.times(), [5, 25, 50, 53, 63]);
    let schedule = Schedule { resume: ResumePolicy::Remaining, ..Schedule::once(ns(5)) };
    let remaining = queue.start(&schedule, &TimerOptions::default(), seen.closure())?;
    assert_eq!(remaining.restart_until(at(100)).unwrap_err().status(), chime::sys::ERROR_INVALID_ARGUMENT);
    Ok(())
}

#[test]
fn suspend_and_resume_by_either_policy() -> Result<(), Error> {
    for (resume, rest, expected) in [(ResumePolicy::Coalesce, 0, 120), (ResumePolicy::Remaining, 30, 150)] {
        let (queue, seen) = (Queue::new(QueueKind::Virtual)?, Seen::default());
        let schedule = Schedule { resume, ..Schedule::every(ns(50)) };
        let timer = queue.start(&schedule, &TimerOptions::default(), seen.closure())?;
        queue.advance(ns(20))?;
        assert_eq!((timer.suspend()?, timer.suspend()?), (Outcome::OK, Outcome::IGNORED));
        assert_eq!(timer.state(), State::Suspended);
        assert_eq!(timer.info()?.remaining, if rest > 0 { Some(ns(rest)) } else { None });
        queue.advance(ns(100))?;
        assert_eq!((timer.resume()?, timer.resume()?), (Outcome::OK, Outcome::IGNORED));
        queue.advance(ns(rest))?;
        let times: Vec<i64> = seen.0.lock().unwrap().iter().map(|tick| tick.actual.as_nanos()).collect();
        assert_eq!(times, [expected]);
    }
    Ok(())
}

#[test]
fn a_timer_is_created_idle_activated_restarted_and_rescheduled() -> Result<(), Error> {
    let (queue, seen) = (Queue::labelled(QueueKind::Virtual, "work")?, Seen::default());
    let options = TimerOptions { label: "idle".into(), armed: true, cancelled: true, ..Default::default() };
    let timer = queue.create(&options, seen.closure())?;
    assert_eq!(timer.state(), State::Idle);
    let dump = queue.dump()?;
    assert!(dump.contains("work") && dump.contains("idle"), "{dump}");
    assert!(!timer.explain()?.is_empty());
    assert_eq!(timer.activate_with(&Schedule::at(at(10)))?, Outcome::OK);
    assert_eq!(timer.activate()?, Outcome::IGNORED);
    queue.advance(ns(10))?;
    assert_eq!(timer.state(), State::Finished);
    let generation = timer.generation()?;
    assert_eq!(timer.restart_with(&Schedule::once(ns(5)))?, Outcome::OK);
    assert_ne!(timer.generation()?, generation);
    assert_eq!(timer.reschedule(&Schedule { limit: 2, ..Schedule::every(ns(7)) })?, Outcome::OK);
    queue.advance(ns(7))?;
    assert_eq!(timer.fire()?, Outcome::OK);
    queue.advance(ns(0))?;
    assert_eq!(timer.cancel()?, Outcome::OK);
    queue.advance(ns(100))?;
    use TickKind::*;
    assert_eq!(seen.kinds(), [Armed, Due, Armed, Due, Fired, Cancelled]);
    assert_eq!(timer.restart()?, Outcome::OK);
    assert_eq!(timer.cancel_and_wait(FOREVER)?, Outcome::OK);
    assert_eq!(timer.release()?, Outcome::OK);
    Ok(())
}

#[test]
fn a_closure_reaches_its_own_timer_and_spacing_is_no_grid() -> Result<(), Error> {
    let (queue, seen) = (Arc::new(Queue::new(QueueKind::Virtual)?), Seen::default());
    let (inner, mut push) = (queue.clone(), seen.closure());
    let schedule = Schedule { missed: MissedPolicy::Delay, ..Schedule::every(ns(10)) };
    let timer = queue.start(&schedule, &TimerOptions::default(), move |tick| {
        push(tick);
        inner.jump(ns(25)).unwrap(); // a slow handler
        if tick.sequence == 2 {
            assert_eq!(Timer::borrow(tick.timer).cancel().unwrap(), Outcome::RUNNING);
        }
    })?;
    queue.advance(ns(200))?;
    assert_eq!(seen.times(), [10, 45]);
    assert_eq!(timer.state(), State::Cancelled);
    drop(timer); // or the closure, which holds the queue, would outlive this function
    Ok(())
}

#[test]
fn a_closure_is_dropped_with_its_timer_or_when_it_is_refused() -> Result<(), Error> {
    let (queue, seen) = (Queue::new(QueueKind::Virtual)?, Seen::default());
    let schedule = Schedule { first: ns(1), ..Schedule::every(ns(10)) };
    let timer = queue.start(&schedule, &TimerOptions::default(), seen.closure())?;
    queue.once(ns(2), seen.closure())?;
    assert_eq!(seen.holders(), 2);
    queue.advance(ns(15))?;
    assert_eq!((seen.times(), seen.holders()), (vec![1, 2, 11], 1));
    drop(timer);
    assert_eq!(seen.holders(), 0);
    let refused = queue.every(ns(0), seen.closure()).unwrap_err();
    assert_eq!(seen.holders(), 0);
    assert_eq!(refused.status(), chime::sys::ERROR_INVALID_ARGUMENT);
    assert!(refused.to_string().starts_with("CHIME_ERROR_INVALID_ARGUMENT: interval_ns (0 ns)"), "{refused}");
    Ok(())
}

#[test]
fn errors_have_a_sentence() -> Result<(), Error> {
    let queue = Queue::new(QueueKind::Serial)?;
    let schedule = Schedule { leeway: ns(5_000_000), ..Schedule::every(ns(1_000_000)) };
    let error = queue.start(&schedule, &TimerOptions::default(), |_| ()).unwrap_err();
    assert!(error.detail().contains("leeway_ns (5 ms)"), "{error}");
    let error = queue.advance(ns(1)).unwrap_err();
    assert_eq!(error.name(), "CHIME_ERROR_UNSUPPORTED");
    assert!(!error.detail().is_empty());
    let timer = queue.after(FOREVER, |_| ())?;
    assert_eq!(timer.next_deadline()?, None);
    assert_eq!(timer.remaining()?, None);
    assert_eq!(queue.shutdown(FOREVER)?, Outcome::OK);
    let error = timer.suspend().unwrap_err();
    assert_eq!(error.status(), chime::sys::ERROR_INVALID_HANDLE);
    assert!(error.detail().ends_with("was released"), "{error}");
    assert_eq!(timer.state(), State::Cancelled);
    assert_eq!(timer.release()?, Outcome::IGNORED); // it has ended with its queue
    let refused = Queue::with(QueueKind::Virtual, &QueueOptions { realtime_priority: 5, ..Default::default() });
    assert!(refused.is_err());
    let driven = Queue::new(QueueKind::Virtual)?; // what to do is said by the crate's names
    assert!(driven.sync(FOREVER, || ()).unwrap_err().detail().contains("use run_soon"));
    let idle = driven.create(&TimerOptions::default(), |_| ())?;
    assert!(idle.activate().unwrap_err().detail().starts_with("no schedule is given"));
    let error = chime::trace_to_file(Some("trace\0.json")).unwrap_err();
    assert_eq!((error.kind(), error.detail()), (chime::ErrorKind::InvalidArgument, "the path has a zero byte in it"));
    Ok(())
}

#[test]
fn closures_run_on_another_thread_and_never_early() -> Result<(), Error> {
    let queue = Queue::with(QueueKind::Serial, &QueueOptions { clock: Clock::Monotonic, ..Default::default() })?;
    let (send, ticks) = channel();
    let timer = queue.every(ns(1_000_000), move |tick| {
        let _ = send.send((*tick, std::thread::current().id()));
    })?;
    for _ in 0..3 {
        let (tick, thread) = ticks.recv_timeout(WATCHDOG).unwrap();
        assert!(tick.actual >= tick.scheduled);
        assert_ne!(thread, std::thread::current().id());
    }
    assert_eq!(timer.release_and_wait(FOREVER)?, Outcome::OK);
    assert!(chime::now(Clock::Monotonic)? > Instant::default());
    Ok(())
}

#[test]
fn the_queue_is_a_mutex() -> Result<(), Error> {
    let queue = Queue::new(QueueKind::Serial)?;
    let borrowed = String::from("borrowed");
    assert_eq!(queue.sync(FOREVER, || borrowed.len())?, 8);
    let (inside, entered) = channel();
    let (end, ended) = channel();
    let timer = queue.after(ns(0), move |_| {
        inside.send(()).unwrap();
        let _: Result<(), _> = ended.recv_timeout(WATCHDOG);
    })?;
    entered.recv_timeout(WATCHDOG).unwrap();
    let brief = ns(1_000_000);
    for error in [
        queue.sync(brief, || ()).unwrap_err(),
        timer.cancel_and_wait(brief).unwrap_err(),
        timer.release_and_wait(brief).unwrap_err(),
        queue.shutdown(brief).unwrap_err(),
    ] {
        assert_eq!((error.kind(), error.detail().contains(" for ")), (chime::ErrorKind::TimedOut, true), "{error}");
    }
    end.send(()).unwrap();
    Ok(())
}

#[test]
fn a_host_driven_queue_runs_until_its_timers_have_finished_or_it_is_stopped() -> Result<(), Error> {
    let queue = Arc::new(Queue::with(QueueKind::Host, &QueueOptions { bound: true, ..Default::default() })?);
    let due = Arc::new(AtomicUsize::new(0));
    let counted = due.clone();
    let schedule = Schedule { limit: 3, ..Schedule::every(ns(1_000_000)) };
    let _timer = queue.start(&schedule, &TimerOptions::default(), move |tick| {
        counted.fetch_add(1 + tick.missed as usize, Ordering::Relaxed);
    })?;
    assert_eq!(queue.run()?, Outcome::OK);
    assert_eq!(due.load(Ordering::Relaxed), 3);
    let stopping = Arc::downgrade(&queue);
    queue.once(ns(0), move |_| {
        stopping.upgrade().unwrap().stop().unwrap();
    })?;
    assert_eq!(queue.run_until_stopped()?, Outcome::STOPPED);
    assert_eq!(queue.process()?, 0);
    assert_eq!(queue.run()?, Outcome::OK); // no stop is left over
    assert!(queue.descriptor()? >= 0);
    #[cfg(unix)]
    {
        use std::os::unix::io::AsRawFd;
        assert_eq!(queue.try_as_fd()?.as_raw_fd(), queue.descriptor()?);
        let other = Queue::with(QueueKind::Serial, &QueueOptions { class: Class::Background, ..Default::default() })?;
        assert_eq!(other.try_as_fd().unwrap_err().kind(), chime::ErrorKind::Unsupported);
    }
    Ok(())
}

#[test]
fn a_panic_comes_out_of_advance_when_the_other_ticks_have_come() {
    let queue = Queue::new(QueueKind::Virtual).unwrap();
    let ticks = Arc::new(AtomicUsize::new(0));
    for failing in [true, false, true, false] {
        let (ticks, owned) = (ticks.clone(), String::from("moved into a FnOnce"));
        let function = move |_: &Tick| {
            drop(owned);
            ticks.fetch_add(1, Ordering::SeqCst);
            assert!(!failing, "mine");
        };
        queue.once(Duration::from_nanos(1), function).unwrap();
    }
    let advance = || queue.advance(Duration::from_nanos(5));
    let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(advance)).unwrap_err();
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"mine"));
    assert_eq!((ticks.load(Ordering::SeqCst), queue.now().unwrap()), (4, at(5)));
    advance().unwrap();
}

#[test]
fn jitter_is_of_the_queue_s_seed_and_a_failure_says_its_kind() {
    let run = |seed| {
        let queue = Queue::with(QueueKind::Virtual, &QueueOptions { seed, ..Default::default() }).unwrap();
        let (send, ticks) = channel();
        let schedule = Schedule { jitter: Duration::from_nanos(50), ..Schedule::every(Duration::from_nanos(100)) };
        let _timer = queue.start(&schedule, &TimerOptions::default(), move |tick| send.send(tick.scheduled.as_nanos()).unwrap()).unwrap();
        queue.advance(Duration::from_nanos(2000)).unwrap();
        ticks.try_iter().collect::<Vec<_>>()
    };
    let ticks = run(0);
    assert_eq!(ticks, run(0));
    assert_ne!(ticks, run(7));
    assert!(ticks.iter().zip(1..).all(|(time, k)| (0..=50).contains(&(time - k * 100))) && ticks.iter().any(|time| time % 100 != 0));
    let queue = Queue::new(QueueKind::Virtual).unwrap();
    let refused = queue.sync(FOREVER, || ()).unwrap_err();
    assert_eq!((refused.kind(), refused.name()), (chime::ErrorKind::Unsupported, "CHIME_ERROR_UNSUPPORTED"));
    assert_eq!(queue.every(Duration::from_nanos(0), |_| ()).unwrap_err().kind(), chime::ErrorKind::InvalidArgument);
}

#[test]
fn points_in_time_saturate_and_come_from_those_of_std() -> Result<(), Error> {
    let ends = [at(i64::MIN), at(i64::MAX)];
    assert_eq!((at(5) + ns(7), at(5) - ns(7), at(5) - at(7), at(7) - at(5)), (at(12), at(-2), ns(0), ns(2)));
    assert_eq!([ends[1] + ns(1), at(1) + Duration::MAX, ends[0] - ns(1), at(0) + FOREVER], [ends[1], ends[1], ends[0], ends[1]]);
    assert_eq!((ends[1] - ends[0], at(1).checked_duration_since(at(2))), (ns(u64::MAX), None));
    let mut moved = at(1);
    moved += ns(3);
    moved -= ns(1);
    assert_eq!((moved, moved.as_nanos(), Instant::default()), (at(3), 3, at(0)));

    // Windows counts the time of day in 100 ns.
    for nanoseconds in [0, 1_700_000_000_000_000_000, -1_700_000_000_000_000_100, i64::MAX / 100 * 100, i64::MIN / 100 * 100] {
        assert_eq!(Instant::from(SystemTime::from(at(nanoseconds))), at(nanoseconds));
    }
    assert_eq!(Instant::from(SystemTime::UNIX_EPOCH + ns(700)), at(700));
    for distance in [ns(0), Duration::from_millis(10)] {
        let (before, std) = (chime::now(Clock::Monotonic)?, std::time::Instant::now());
        let (later, earlier) = (Instant::from(std + distance), Instant::from(std - distance));
        assert!(before + distance <= later && before <= earlier + distance, "never early");
        assert!(later <= chime::now(Clock::Monotonic)? + distance);
    }

    let queue = Queue::with(QueueKind::Virtual, &QueueOptions { start: at(1_000), ..Default::default() })?;
    let seen = Seen::default();
    let timer = queue.start(&Schedule::at(queue.now()? + ns(5)), &TimerOptions::default(), seen.closure())?;
    assert_eq!((timer.info()?.next_deadline, queue.next_deadline()?), (Some(at(1_005)), Some(at(1_005))));
    queue.advance(ns(5))?;
    assert_eq!(seen.times(), [1_005]);
    let wall = Queue::with(QueueKind::Serial, &QueueOptions { clock: Clock::Wall, ..Default::default() })?;
    let day = wall.start(&Schedule::at((SystemTime::now() + Duration::from_secs(86_400)).into()), &TimerOptions::default(), |_| ())?;
    assert!(matches!(day.remaining()?, Some(left) if left > Duration::from_secs(80_000) && left <= Duration::from_secs(86_400)));
    Ok(())
}
