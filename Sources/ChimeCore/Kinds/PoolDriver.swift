import Synchronization

/// Wakes a queue that lives on the threads of the pool: its passes are the turns of one item.
final class PoolDriver: QueueDriver {
  private let control: QueueControlBlock
  private let item: PoolItem
  private let isConcurrent: Bool
  /// Whose turns the queue shares; `nil` if they are its own.
  private let work: PoolWork?

  init(_ core: QueueCore, _ qos: QualityOfService, isConcurrent: Bool) {
    control = core.control
    self.isConcurrent = isConcurrent
    work = nil
    item = PoolItem(qos)
    // Holds the queue until `close`.
    item.open { _ throws(Forked) in try core.pass() }
  }

  init(_ core: QueueCore, sharing work: PoolWork) {
    control = core.control
    isConcurrent = false
    self.work = work
    item = work.item
    work.share { () throws(Forked) in try core.pass() }
  }

  func arm(at time: Int64?) { item.arm(at: control.monotonicTime(time ?? .max)) }

  func wake(_ core: QueueCore) { withoutCancellation { item.run() } }

  func close() {
    guard let work else { return item.close() }
    item.arm(at: .max)
    work.share(nil)
  }

  func runInTurn(_ core: QueueCore, timeout: Int64, _ body: @escaping () -> Void) -> Status {
    guard work == nil, item.borrowTurn() else { return SyncCall.wait(core, timeout: timeout, body) }
    let hasEnded = core.closing.hasBegun
    var isNext = !hasEnded && core.functions.isEmpty
    return .of { () throws(Forked) in
      if isNext { isNext = try core.runOutsidePass { () throws(Forked) in try core.runHere(body) } }
      withoutCancellation { item.giveTurnBack() }
      return isNext ? .ok : hasEnded ? .queueHasEnded : SyncCall.wait(core, timeout: timeout, body)
    }
  }

  func runStarvingTurn(_ core: QueueCore) throws(Forked) -> Bool {
    if try item.runStarvingTurn() { return true }
    return try core.handOver?.runStarvingTurn() ?? false
  }

  func tellObstacle(_ core: QueueCore, sinceLastPass: Int64?, _ text: inout TextWriter) {
    text.add(isConcurrent ? "it waits for a thread of Chime's" : "its queue is busy, or about to call it")
  }
  var isOnQueue: Bool { work?.isCurrent == true }
  var executionContext: ExecutionContext? { work.map { .thread($0.threadNumber) } }
}

extension QueueCore {
  /// A serial queue whose handlers exclude other work of the host's.
  package static func makeSerial(_ options: QueueOptions, sharing work: PoolWork) throws(Status) -> UInt64 {
    if Fork.isChild { throw .inChild }
    ExecutionContexts.hasRunLoops.store(true, ordering: .relaxed)
    return try make(options) { PoolDriver($0, sharing: work) }
  }

  /// A queue on Chime's own threads.
  static func makeOnPool(_ options: QueueOptions, isConcurrent: Bool) throws(Status) -> UInt64 {
    if Fork.isChild { throw .inChild }
    try Pool.prepare().orThrow()
    do {
      return try make(options, makeWorker: isConcurrent ? { PoolItem.makeWorker(options.qos, $0) } : nil) {
        PoolDriver($0, options.qos, isConcurrent: isConcurrent)
      }
    } catch {
      Pool.unprepare()
      throw error
    }
  }
}
