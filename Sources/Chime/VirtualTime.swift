import ChimeCore

/// Moves the time of a virtual queue so that all that can happen at an instant has happened before time goes on: what the
/// virtual queues have in common.
package struct VirtualTime: Sendable {
  /// Where handlers run.
  enum Place {
    /// On the thread of whoever moves time.
    case caller
    case queue(SerialContext)
    case mainActor
  }

  private let id: UInt64
  /// Whether the queue's time is virtual; a queue in real time answers `unsupported` to all calls.
  private let isVirtual: Bool
  private let arming: TimerQueueArming
  private let place: Place
  /// Whose jobs are waited for.
  private let tests: RunnableJobs.Tests

  /// Instants at which timers may become due again and again, before `advance` gives up.
  private static var mostRounds: Int { 1000 }

  init(_ queue: AnyTimerQueue, in place: Place) {
    self.place = place
    id = queue.id
    isVirtual = QueueCore.find(queue.id)?.control.isVirtual == true
    arming = TimerQueueArming(queue.id)
    if isVirtual { RunnableJobs.count() }
    tests = RunnableJobs.Tests(isVirtual: isVirtual)
  }

  /// Whose jobs are waited for, if any ever are.
  var testsOfTasks: RunnableJobs.Tests? { isVirtual ? tests : nil }

  private func check(_ duration: Duration) throws(ChimeError) {
    guard isVirtual else { throw ChimeError(.unsupported, "the queue's time is not virtual") }
    if duration < .zero { throw .argument("duration is \(duration): it must be 0 or more") }
  }

  // MARK: At once

  func advance(by duration: Duration) throws(ChimeError) {
    try check(duration)
    _ = try QueueCore.advance(id, by: duration.nanoseconds).outcome()
  }

  func jump(by duration: Duration) throws(ChimeError) {
    try check(duration)
    _ = try QueueCore.jump(id, by: duration.nanoseconds).outcome()
  }

  // MARK: Exactly

  nonisolated(nonsending) func advanceWithTasks(by duration: Duration) async throws {
    try check(duration)
    if duration.nanoseconds == .max { throw Status.endlessAdvance.error }
    guard let now = QueueCore.now(id) else { throw ChimeError.shutDown }
    if let error = await deliver(until: now.saturatingAdd(duration.nanoseconds)) { throw error }
  }

  /// At how many instants something may be due in a run: with a task that reads ticks, some 10 s of real time.
  package static var mostInstants: Int { 100_000 }

  package nonisolated(nonsending) func run(most: Int = VirtualTime.mostInstants) async throws {
    try check(.zero)
    if let error = await RunnableJobs.settle(tests) { throw error }
    var instants = 0
    while let next = arming.nextDeadline {
      try Task.checkCancellation()
      if instants == most {
        throw ChimeError(
          .limit,
          "timers were due at \(most) instants, and more are: does one repeat without end? advance(by:) has an end")
      }
      instants += 1
      if let error = await deliver(until: max(next, QueueCore.now(id) ?? next)) { throw error }
    }
  }

  /// Moves time to a point, and stands still at each deadline on the way until nothing can run.
  ///
  /// Gives its error: Swift 6.3.1 cannot optimise an asynchronous function with a typed error that others call in a loop.
  private nonisolated(nonsending) func deliver(until end: Int64) async -> ChimeError? {
    var (instant, roundsHere) = (Int64.min, 0)
    var hasArrived = false
    while true {
      if let error = await RunnableJobs.settle(tests) { return error }
      guard let now = QueueCore.now(id) else { return .shutDown }
      let next = arming.nextDeadline
      if hasArrived, next.map({ $0 > end }) ?? true { return nil }
      let point = max(now, min(next ?? end, end))
      roundsHere = point == instant ? roundsHere + 1 : 0
      instant = point
      if roundsHere > VirtualTime.mostRounds {
        return ChimeError(.limit, "something became due \(roundsHere) times at one instant, without end")
      }
      let status = await step(to: point)
      if status.isFailure { return status.error }
      hasArrived = point >= end
    }
  }

  private nonisolated(nonsending) func step(to point: Int64) async -> Status {
    var status = Status.busy
    // Another thread may be inside for a moment, to release what a timer held.
    for _ in 0..<VirtualTime.mostRounds where status == .busy {
      switch place {
      case .caller: status = QueueCore.advance(id, to: point)
      case .mainActor: status = await MainActor.run { [id] in QueueCore.advance(id, to: point) }
      case .queue(let context):
        status = await withCheckedContinuation { continuation in
          context.perform { [id, tests] in
            var status = Status.busy
            tests.running { status = QueueCore.advance(id, to: point) }
            continuation.resume(returning: status)
          }
        }
      }
      if status == .busy { await Task.yield() }
    }
    return status
  }

  nonisolated(nonsending) func untilArmed(
    count: Int, within limit: Duration?
  ) async throws -> ChimeTimer.Outcome {
    try check(.zero)
    return try await arming.wait(for: count, within: limit)
  }
}
