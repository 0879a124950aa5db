import Synchronization

/// Wakes a queue that lives on the threads of the pool: its passes, and the functions that threads wait for, are the turns
/// of one item.
final class PoolDriver: QueueDriver {
  private let item: PoolItem
  /// `nil`: no pass comes any more, though the turns go on.
  private let calls = Locked<[SyncCall]?>([])
  private let isConcurrent: Bool
  /// Whose turns the queue shares; `nil` if they are its own.
  private let work: PoolWork?

  init(_ core: QueueCore, _ qos: QualityOfService, isConcurrent: Bool) {
    self.isConcurrent = isConcurrent
    work = nil
    item = PoolItem(qos)
    // Holds both until `close`.
    item.open { [self] wants in turn(core, wants) }
  }

  init(_ core: QueueCore, sharing work: PoolWork) {
    isConcurrent = false
    self.work = work
    item = work.item
    work.share { [self] wants in turn(core, wants) }
  }

  /// The pass comes first: a thread's functions that were put on the queue before its `sync` have run when that runs.
  private func turn(_ core: QueueCore, _ wants: PoolItem.Wants) {
    let calls = wants.contains(.calls) ? self.calls.withLock { $0?.takeAll() } : nil
    // Whoever has woken the queue for a function need not have asked for the pass yet.
    if wants.contains(.pass) || calls != nil && !core.functions.isEmpty { core.pass() }
    for call in calls ?? [] where !core.isAbandoned { call.run() }
  }

  func arm(at time: Int64?) { item.arm(at: time ?? .max) }

  func wake(_ core: QueueCore) { withoutCancellation { item.run() } }

  func close() {
    let late = calls.withLock { $0.take() }
    if let work {
      item.arm(at: .max)
      work.share(nil)
    } else {
      item.close()
    }
    // Those that came too late for a turn are refused; they hold the queue.
    for call in late ?? [] { call.run() }
  }

  func sync(_ core: QueueCore, timeout: Int64, _ body: @escaping () -> Void) -> Status {
    if work == nil, item.takeTurn() {
      let isOpen = !core.closing.hasBegun
      let isNext = core.functions.isEmpty
      if isOpen, isNext { ThreadState.inside(core.control) { _ in body() } }
      if core.isAbandoned { return .ok }
      withoutCancellation { item.endTurn() }
      if !isOpen { return .shutDown }
      if isNext { return .ok }
    }
    return SyncCall.wait(core, timeout: timeout, body) { call in
      let status = calls.withLock { $0?.add(call) ?? .shutDown }
      if status == .ok { withoutCancellation { item.run(.calls) } }
      return status
    }
  }

  func tellObstacle(_ core: QueueCore, sinceLastPass: Int64?, _ text: inout TextWriter) {
    text.add(isConcurrent ? "it waits for a thread of Chime's" : "its queue is busy, or about to call it")
  }
  var isOnQueue: Bool { work?.isCurrent == true }
  var executionContext: ExecutionContext? { work.map { .thread($0.threadNumber) } }
}

extension QueueCore {
  /// A serial queue whose handlers exclude other work of the host's.
  package static func makeSerial(_ options: QueueOptions, sharing work: PoolWork) -> Result<UInt64, Status> {
    if Fork.isChild { return .failure(.forked) }
    guard options.clock != .boottime else { return .failure(.noBootTime) }
    ExecutionContexts.hasRunLoops.store(true, ordering: .relaxed)
    return make(options) { PoolDriver($0, sharing: work) }
  }

  /// A queue on Chime's own threads.
  static func makeOnPool(_ options: QueueOptions, _ qos: QualityOfService, isConcurrent: Bool) -> Result<UInt64, Status>
  {
    if Fork.isChild { return .failure(.forked) }
    guard options.clock != .boottime else { return .failure(.noBootTime) }
    let status = Pool.prepare()
    if status != .ok { return .failure(status) }
    let made = make(options, handOver: isConcurrent ? PoolQueue(qos) : nil) {
      PoolDriver($0, qos, isConcurrent: isConcurrent)
    }
    if case .failure = made { Pool.unprepare() }
    return made
  }
}
