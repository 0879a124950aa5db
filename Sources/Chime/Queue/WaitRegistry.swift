import Synchronization

/// Threads that wait for callbacks to end, and what each waits for; so that a wait that could never end is noticed
/// before it begins. Waiting is rare: whoever ends a callback looks at one counter.
enum WaitRegistry {
  enum Subject: Equatable {
    case timer(UInt32)
    case queue(QueueCell)
  }

  private struct Waiter {
    let subject: Subject
    /// The callbacks that the waiting thread is inside, and so keeps from ending.
    let inside: FrameChain
    let wakeUp: WakeUp
  }

  /// What a waiting thread sleeps by.
  private final class WakeUp: @unchecked Sendable {
    // Unchecked for the count, which is guarded by the condition.
    private let condition = Condition()
    private var signals = 0

    func signal() {
      condition.withLock {
        signals += 1
        condition.signal()
      }
    }

    /// Waits for a signal that nothing has waited for yet, until a time on the monotonic clock.
    func wait(until time: Int64) {
      condition.withLock {
        while signals == 0, time == .max || Clock.monotonic.now < time { condition.wait(until: time) }
        signals = 0
      }
    }
  }

  private static let waiters = Locked<[Waiter]>([])
  /// Pairs with the word (or the queue's state): a waiter adds itself, then looks whether what it waits for is over;
  /// whoever ends it does so, then reads this. Both sequentially consistent, so one sees the other.
  private static let count = Atomic<Int>(0)

  static func reinitialize() {
    waiters.reinitialize([])
    count.store(0, ordering: .relaxed)
  }

  /// Waits until `isOver`, asked for again each time a callback has ended.
  /// - Returns: ok, timedOut, or wouldDeadlock without having waited.
  static func wait(for subject: Subject, timeout: Int64, until isOver: () -> Bool) -> Status {
    let inside = ThreadState.frames
    let waiter = Waiter(subject: subject, inside: inside, wakeUp: WakeUp())
    let mayWait = waiters.withLock { waiters in
      if isBlocked(subject, by: inside, waiters) { return false }
      waiters.append(waiter)
      count.add(1, ordering: .sequentiallyConsistent)
      return true
    }
    guard mayWait else { return .wouldDeadlock }
    defer {
      waiters.withLock { waiters in
        waiters.removeAll { $0.wakeUp === waiter.wakeUp }
        count.subtract(1, ordering: .sequentiallyConsistent)
      }
    }
    let end = Clock.monotonic.now.saturatingAdd(timeout)
    while !isOver() {
      if Clock.monotonic.now >= end { return .timedOut }
      waiter.wakeUp.wait(until: end)
    }
    return .ok
  }

  /// Whether a wait for `subject` by a thread inside those callbacks could never end.
  static func wouldDeadlock(waitingFor subject: Subject) -> Bool {
    let inside = ThreadState.frames
    if inside.isEmpty { return false }
    return waiters.withLock { isBlocked(subject, by: inside, $0) }
  }

  /// Tells the waiters that a callback, or a queue, has ended.
  @inline(__always)
  static func somethingEnded() {
    if count.load(ordering: .sequentiallyConsistent) != 0 { wakeAll() }
  }

  @inline(never)
  private static func wakeAll() {
    let all = waiters.withLock { $0.map(\.wakeUp) }
    for one in all { one.signal() }
  }

  /// Follows "is held up by a thread that waits for" from the subject back to the caller.
  private static func isBlocked(_ subject: Subject, by inside: FrameChain, _ waiters: [Waiter]) -> Bool {
    if inside.holds(subject) { return true }
    var open = [subject]
    var seen: [Subject] = []
    while let next = open.popLast() {
      if seen.contains(next) { continue }
      seen.append(next)
      for waiter in waiters where waiter.inside.holds(next) {
        if inside.holds(waiter.subject) { return true }
        open.append(waiter.subject)
      }
    }
    return false
  }
}

extension FrameChain {
  /// Whether the thread is inside a callback of the subject.
  func holds(_ subject: WaitRegistry.Subject) -> Bool {
    switch subject {
    case .timer(let index): contains { $0.slot == index }
    case .queue(let cell): contains { $0.cell == cell }
    }
  }
}
