import CChime
import Testing

/// Promise 14: what cancelled, postponed and re-activated timers leave in the wheel does not grow.
@Suite(.tags(.promise14Bounded)) struct BoundedEntriesTests {
  /// A million, or ten for each of `CHIME_STEPS`.
  static let operations = RandomModelTests.steps * 10
  static let timers = 100
  /// Entries that are allowed: two for each slot that was ever in use at once, or is kept at hand by the thread, which
  /// uses them in turn, and a constant.
  static let most = UInt64(2 * (timers + 64) + 1100)

  enum Change: String, CaseIterable {
    case postpone, cancelAndActivate, restart, reschedule, suspendAndResume, releaseAndStart, fire, all
  }

  @Test(arguments: Change.allCases, [false, true])
  func entriesStayBounded(change: Change, withAdvances: Bool) {
    let queue = makeVirtualQueue()
    defer { _ = chime_queue_release(queue) }
    var timers = (0..<Self.timers).map { start(queue, Int64($0)) }
    var worst: UInt64 = 0
    var random = SplitMix64(seed: 14)
    for operation in 0..<Self.operations / 2 {
      let index = Int(random.next() % UInt64(Self.timers))
      var change = change
      if change == .all { change = Change.allCases[Int(random.next() % 7)] }
      make(change, on: &timers[index], queue, Int64(random.next() % 100_000))
      if withAdvances, operation % 1000 == 0 { _ = chime_queue_advance(queue, 100) }
      if operation % 500 == 0 { worst = max(worst, stats(of: queue).entries) }
    }
    worst = max(worst, stats(of: queue).entries)
    #expect(worst <= Self.most)
    #expect(stats(of: queue).timers == Self.timers)

    for timer in timers { _ = chime_timer_release(timer) }
    _ = chime_queue_advance(queue, 1_000_000)
    #expect(stats(of: queue).timers == 0)
    #expect(stats(of: queue).entries <= Self.most)
  }

  @Test func slotsThatWereReleasedAreUsedAgain() {
    let queue = makeVirtualQueue()
    defer { _ = chime_queue_release(queue) }
    for _ in 0..<100 {
      let timers = (0..<1000).map { start(queue, Int64($0)) }
      for timer in timers { _ = chime_timer_release(timer) }
    }
    #expect(stats(of: queue).timers == 0)
    #expect(stats(of: queue).entries <= 2 * 1000 + 1100)
  }

  @Test func repeatingTimersKeepOneEntryEach() {
    let queue = makeVirtualQueue()
    defer { _ = chime_queue_release(queue) }
    for interval in 1...100 as ClosedRange<Int64> {
      _ = chime_timer_every(queue, interval, silent, nil, nil, nil)
    }
    #expect(chime_queue_advance(queue, 10_000) == ok)
    #expect(stats(of: queue).entries <= Self.most)
    #expect(stats(of: queue).ticks == (1...100).reduce(0) { $0 + 10_000 / UInt64($1) })
  }

  // MARK: Changes, two calls each, so that all of them make 10^6

  private func start(_ queue: chime_queue_t, _ delay: Int64) -> chime_timer_t {
    var timer: chime_timer_t = 0
    var options = chime_timer_options()
    options.size = UInt32(MemoryLayout<chime_timer_options>.size)
    options.handler = silent
    var schedule = makeSchedule(first: 1000 + delay, interval: 50_000)
    let status = chime_timer_start(queue, &options, &schedule, &timer)
    precondition(status == ok, "chime_timer_start: \(name(of: status))")
    return timer
  }

  private func make(_ change: Change, on timer: inout chime_timer_t, _ queue: chime_queue_t, _ delay: Int64) {
    var schedule = makeSchedule(first: delay, interval: 50_000)
    switch change {
    case .postpone:
      _ = chime_timer_postpone(timer, delay)
      _ = chime_timer_postpone(timer, delay + 1)
    case .cancelAndActivate:
      _ = chime_timer_cancel(timer)
      _ = chime_timer_activate(timer, &schedule)
    case .restart:
      _ = chime_timer_restart(timer, &schedule)
      _ = chime_timer_restart(timer, nil)
    case .reschedule:
      _ = chime_timer_reschedule(timer, &schedule)
      _ = chime_timer_reschedule(timer, nil)
    case .suspendAndResume:
      _ = chime_timer_suspend(timer)
      _ = chime_timer_resume(timer)
    case .releaseAndStart:
      _ = chime_timer_release(timer)
      timer = start(queue, delay)
    case .fire:
      _ = chime_timer_fire(timer)
      _ = chime_timer_restart(timer, &schedule)
    case .all: break
    }
  }
}

private let silent: chime_handler = { _, _ in }
