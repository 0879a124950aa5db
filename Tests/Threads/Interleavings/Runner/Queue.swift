@testable import ChimeCore

/// A queue of a scenario. `serial` and `concurrent` stand on blocks and threads of the run instead of libdispatch, and
/// the wall clock is not watched.
final class Queue {
  enum Kind: String, CaseIterable {
    case virtual, host, records, precise, serial, concurrent
    /// On the run loop of a thread of its own.
    case loop
    /// On the pool, whose threads are those of the run.
    case pool, poolConcurrent

    /// Whether passes run in calls of the host.
    var isDriven: Bool { self == .virtual || self == .host || self == .records }
  }

  let kind: Kind
  let number: Int
  let isBound: Bool
  let id: UInt64
  let core: QueueCore
  private(set) var loop: Loop?
  unowned let world: World
  /// Callbacks and functions that run now.
  private var running = 0
  var isAlive: Bool { QueueControlBlocks.find(id) != nil }

  init(_ kind: Kind, number: Int, limit: UInt64, isWall: Bool, isBound: Bool, _ world: World) {
    self.isBound = isBound
    self.kind = kind
    self.number = number
    self.world = world
    var options = QueueOptions()
    options.start = Scheduler.start
    options.givesRecords = kind == .records
    options.timerLimit = limit
    options.isBound = isBound
    if kind == .loop { loop = Loop.table.find(try! Loop.start(label: "").get()) }
    let made: Result<UInt64, Status> =
      switch kind {
      case .virtual: QueueCore.makeVirtual(options)
      case .host, .records: QueueCore.makeHost(options)
      case .precise: QueueCore.makePrecise(options)
      case .serial: Queue.makeOnBlocks(options, handsOver: false, world)
      case .concurrent: Queue.makeOnBlocks(options, handsOver: true, world)
      case .pool: QueueCore.makeSerial(options)
      case .poolConcurrent: QueueCore.makeConcurrent(options)
      case .loop: loop!.makeQueue(in: LoopModes([.default]), options)
      }
    id = try! made.get()
    core = QueueCore.find(id)!
    if isWall {
      // As `prepare` does it; nobody knows the queue yet.
      core.control.storage.pointee.isWall.store(true, ordering: .relaxed)
      core.control.wallOffset = WallClock.offset.low
    }
    // Others may still look at the control block that the queue lives in.
    if world.scheduler.preempts { return }
    // So that no later run is the one that needs memory.
    if core.control.chunkCount == 0 {
      let log = TimerLog(world, self, nil)
      log.hasFinalizer = false
      _ = log.create(nil)
      _ = log.ref?.release()
    }
    reset()
  }

  private static func makeOnBlocks(
    _ options: QueueOptions, handsOver: Bool, _ world: World
  ) -> Result<UInt64, Status> {
    let deliveries = BlockQueue()
    let driver = BlockDriver(deliveries: handsOver ? deliveries : nil)
    world.worker("queue's thread") { driver.blocks.work() }
    if handsOver {
      world.worker("handler thread 1") { deliveries.work() }
      world.worker("handler thread 2") { deliveries.work() }
    }
    return QueueCore.make(options, handOver: handsOver ? deliveries : nil) { (core: QueueCore) -> any QueueDriver in
      driver.blocks.whenDue = { [weak core] in core?.pass() }
      return driver
    }
  }

  // MARK: Driving

  /// Whether the host would drive it: its descriptor says so.
  var isReadable: Bool { world.scheduler.files.isReadable(core.control.hostFile, world.scheduler.clock) }

  private var isTaking = false

  /// One call of the host that has what is due run; again while another thread is inside for a moment.
  func drive(_ time: Int64? = nil) -> Status {
    while true {
      let status: Status
      switch kind {
      case .virtual: status = QueueCore.advance(id, to: time ?? core.control.virtualNow)
      case .host:
        switch QueueCore.process(id, most: .max) {
        case .success: status = .ok
        case .failure(let failure): status = failure
        }
      case .records: status = takeTicks()
      case .precise, .serial, .concurrent, .loop, .pool, .poolConcurrent: return .ok
      }
      if status != .busy { return status }
      world.scheduler.giveWay(1)
    }
  }

  /// Taking ends the ticks that were taken before: a thread is done with its own before another one takes.
  private func takeTicks() -> Status {
    while isTaking { world.scheduler.giveWay(1) }
    isTaking = true
    defer { isTaking = false }
    let records = UnsafeMutablePointer<TickRecord>.allocate(capacity: 4)
    defer { records.deallocate() }
    while true {
      switch QueueCore.takeTicks(id, records, stride: MemoryLayout<TickRecord>.size, capacity: 4) {
      case .failure(let failure): return failure
      case .success(let count):
        for i in 0..<count { TimerLog.of(records[i].context).recorded(records[i]) }
        if count < 4 { return .ok }
      }
    }
  }

  /// Runs `body`, which the queue has called: on all queues but concurrent ones nothing else runs meanwhile.
  func exclusively(_ body: () -> Void) {
    world.expect(running == 0 || kind == .concurrent || kind == .poolConcurrent, "two callbacks of a queue at a time")
    running += 1
    body()
    running -= 1
  }

  /// A sync whose function must run if it answers OK, and only then.
  func sync(timeout: Int64) {
    var ran = false
    let status = world.call("sync") {
      QueueCore.sync(id, timeout: timeout) {
        self.exclusively { self.world.scheduler.step("in the function", "", 0) }
        ran = true
      }
    }
    world.expect(ran == (status == .ok), "sync answered \(status.rawValue), its function ran: \(ran)")
  }

  /// Every timer that runs must tick when it is due, and the queue must say so before.
  func settle(_ logs: [TimerLog]) {
    if isBound { return }
    // What is due now, and what other threads left.
    world.expect(drive() == .ok, "the queue cannot be driven")
    if !kind.isDriven { world.sleep(until: world.scheduler.clock + 1000) }
    let running = logs.filter { $0.ref?.snapshot?.state == .running }
    let waiting = running.map { log in (log: log, due: log.ref?.nextDeadline ?? .max, before: log.ticks) }
      .filter { $0.due != .max }
    guard let last = waiting.map(\.due).max(), let first = waiting.map(\.due).min() else { return }
    if kind == .host || kind == .records, case .success(let next) = QueueCore.nextDeadline(id) {
      // Rounded up to a tick of the wheel, and moved within the leeway that a scenario gives.
      world.expect(
        next <= max(first, world.scheduler.clock) + 200_000,
        "the queue says that it is next due at \(next), a timer says \(first)")
    }
    switch kind {
    case .virtual: world.expect(drive(last) == .ok, "the queue cannot be advanced")
    case .host, .records:
      let end = max(last, world.scheduler.clock) + 10_000
      while world.scheduler.clock <= end {
        guard case .success(let file) = QueueCore.file(id) else {
          return world.expect(false, "the queue has no descriptor")
        }
        let isReadable = world.scheduler.poll(file, until: max(last, world.scheduler.clock) + 10_000_000)
        if !isReadable { break }
        world.expect(drive() == .ok, "the queue cannot be driven")
        if waiting.allSatisfy({ $0.log.ticks > $0.before }) { break }
      }
    // The clock may be beyond that, which held the queue's threads up.
    case .precise, .serial, .concurrent, .loop, .pool, .poolConcurrent:
      world.sleep(until: max(last, world.scheduler.clock) + 10_000_000)
    }
    for (log, due, before) in waiting {
      world.expect(log.ticks > before, "no tick of a timer that was due at \(due)")
    }
  }

  /// Releases the queue and waits for its end; of one that was released already, too.
  func end() {
    if kind.isDriven {
      // What is released comes as records, too, and those only while the queue lives.
      if kind == .records, isAlive { for _ in 0..<2 { _ = drive() } }
      _ = QueueCore.release(id)
    } else {
      _ = QueueCore.shutdown(id, timeout: .max)
      _ = loop?.release()
    }
  }

  /// The memory of the control block as it was before the first timer: a run finds what every other has found.
  func reset() {
    let wasOn = Seam.isOn
    Seam.isOn = false
    defer { Seam.isOn = wasOn }
    let control = core.control
    control.storage.pointee.slots.withLock { store in
      var first: UInt32?
      for chunk in store.chunks {
        for i in 0..<UInt32(Slab.slotsPerChunk) {
          let index = UInt32(chunk * Slab.slotsPerChunk) + i
          // The first of all slots is never given out; so none of a chunk is, that all control blocks are alike.
          if i > 0 { first = first ?? index }
          let slot = Slab.slot(index)
          guard slot.word.bits != 0 || slot.versionAndFlags != 0 || slot.context.pointer != nil else { continue }
          _ = slot.swap(slot.word, for: TimerWord(0))
          slot.versionAndFlags = 0
          slot.context = .none
          slot.deadline = 0
          Slab.link(of: index).pointee.store(0, ordering: .relaxed)
        }
        Slab.slotsOut(of: chunk).pointee = 0
        if let first { store.fresh = first..<UInt32((chunk + 1) * Slab.slotsPerChunk) }
      }
      store.firstFree = 0
      store.freeCount = 0
      store.live = 0
    }
    // A thread that was late may have pushed a slot into the inbox of a queue that had ended: the next one's then.
    control.storage.pointee.inbox.store(0, ordering: .relaxed)
    // This thread's cache of the control block is empty from here on.
    if let cache = ThreadState.existing?.cache(of: control) { while cache.takeOldest() != nil {} }
  }
}

/// Blocks that run in the order in which they come, on as many threads as call `work`, and what runs at a time.
final class BlockQueue: ChimeCore.BlockQueue, @unchecked Sendable {
  private let condition = Condition()
  private var blocks: [() -> Void] = []
  private var due = Int64.max
  private var isClosed = false
  var whenDue: (() -> Void)?

  func makeRunner(_ body: @escaping @Sendable () -> Void) -> any ChimeCore.Runner { BlockRunner(self, body) }

  func submit(_ block: @escaping () -> Void) {
    condition.withLock {
      blocks.append(block)
      condition.signal()
    }
  }

  func arm(_ time: Int64) {
    condition.withLock {
      due = time
      condition.signal()
    }
  }

  func close() {
    condition.withLock {
      isClosed = true
      for _ in 0..<4 { condition.signal() }
    }
  }

  func work() {
    while true {
      let block: (() -> Void)? = condition.withLock {
        while true {
          if !blocks.isEmpty { return blocks.removeFirst() }
          if Scheduler.shared.clock >= due {
            due = .max
            return whenDue
          }
          if isClosed { return nil }
          condition.wait(until: due)
        }
      }
      guard let block else { return }
      block()
    }
  }
}

/// A closure on such a queue, at most once at a time, as a dispatch source is.
final class BlockRunner: ChimeCore.Runner, @unchecked Sendable {
  private let blocks: BlockQueue
  private let body: @Sendable () -> Void
  private let state = Locked((isWanted: false, isOnQueue: false))

  init(_ blocks: BlockQueue, _ body: @escaping @Sendable () -> Void) {
    self.blocks = blocks
    self.body = body
  }

  func run() {
    let isFirst = state.withLock { state in
      state.isWanted = true
      defer { state.isOnQueue = true }
      return !state.isOnQueue
    }
    if isFirst { submit() }
  }

  private func submit() {
    blocks.submit { [self] in
      state.withLock { $0.isWanted = false }
      body()
      let isWanted = state.withLock { state in
        state.isOnQueue = state.isWanted
        return state.isWanted
      }
      if isWanted { submit() }
    }
  }

  func close() {}
}

/// A serial queue as libdispatch has one: a timer source and blocks on one queue, FIFO.
final class BlockDriver: QueueDriver, @unchecked Sendable {
  let blocks = BlockQueue()
  private let deliveries: BlockQueue?

  init(deliveries: BlockQueue?) { self.deliveries = deliveries }

  func arm(at time: Int64?) { blocks.arm(time ?? .max) }
  func wake(_ core: QueueCore) { blocks.submit { core.pass() } }
  func close() {
    blocks.close()
    deliveries?.close()
  }
  func tellObstacle(_ core: QueueCore, sinceLastPass: Int64?, _ text: inout TextWriter) {}
}
