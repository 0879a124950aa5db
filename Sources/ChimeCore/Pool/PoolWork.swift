import Synchronization

/// A serial place on the pool for work of the host's, such as an actor's, which a queue may share: then the work and the
/// queue's handlers exclude each other. It outlives the queue. Any thread.
package final class PoolWork: Sendable {
  private struct State {
    var jobs: [@Sendable () -> Void] = []
    var pass: (@Sendable () -> Void)?
  }

  /// What the turns do; held by their item, so that the last job may release the work.
  private final class TurnBody: Sendable {
    let state = Locked(State())
    /// The number of the thread that has the turn; 0: none. Compared only with the caller's own (P18b).
    let thread = Atomic<UInt64>(0)

    func run(_ wants: PoolItem.Wants) {
      let (jobs, pass) = state.withLock { state in (state.jobs.takeAll(), state.pass) }
      thread.store(ThreadNumber.current, ordering: .relaxed)
      for job in jobs { job() }
      if wants.contains(.pass) { pass?() }
      thread.store(0, ordering: .relaxed)
    }
  }

  let item: PoolItem
  private let turn = TurnBody()

  private init(_ qos: QualityOfService) {
    item = PoolItem(qos)
    item.open { [turn] wants in turn.run(wants) }
  }

  deinit { item.close() }

  /// A new one, or why there is none: resource, noMemory, forked.
  package static func make(_ qos: QualityOfService) -> Result<PoolWork, Status> {
    if Fork.isChild { return .failure(.inChild) }
    let status = Pool.prepare()
    return status == .ok ? .success(PoolWork(qos)) : .failure(status)
  }

  /// Runs a job in a turn, later, in the order of the calls.
  package func async(_ job: @escaping @Sendable () -> Void) {
    turn.state.withLock { $0.jobs.append(job) }
    item.run(.jobs)
  }

  /// Whether the caller is inside a turn.
  package var isCurrent: Bool { threadNumber == ThreadNumber.current }

  var threadNumber: UInt64 { turn.thread.load(ordering: .relaxed) }

  /// Sets what a queue does in the turns; `nil` for nothing any more.
  func share(_ pass: (@Sendable () -> Void)?) {
    // The old one is released outside the lock.
    _ = turn.state.withLock { state in
      defer { state.pass = pass }
      return state.pass
    }
  }
}
