@testable import ChimeCore

/// A queue of a scenario. Its wall clock is not watched.
final class Queue {
  enum Kind: String, CaseIterable {
    case virtual, host, records, precise
    /// On the pool, whose threads are those of the run.
    case serial, concurrent
    /// On the run loop of a thread of its own.
    case loop

    /// Whether passes run in calls of the host.
    var isDriven: Bool { self == .virtual || self == .host || self == .records }
  }

  let kind: Kind
  let number: Int
  let id: UInt64
  let core: QueueCore
  private(set) var loop: Loop?
  unowned let world: World
  /// Callbacks and functions that run now.
  private var running = 0
  var isAlive: Bool { QueueControlBlocks.find(id) != nil }

  init(_ kind: Kind, number: Int, limit: UInt64, isWall: Bool, _ world: World) {
    self.kind = kind
    self.number = number
    self.world = world
    var options = QueueOptions()
    options.start = Scheduler.start
    options.givesRecords = kind == .records
    options.timerLimit = limit
    if kind == .loop { loop = Loop.table.find(try! Loop.start(label: "")) }
    id =
      switch kind {
      case .virtual: try! QueueCore.makeVirtual(options)
      case .host, .records: try! QueueCore.makeHost(options)
      case .precise: try! QueueCore.makePrecise(options)
      case .serial: try! QueueCore.makeSerial(options)
      case .concurrent: try! QueueCore.makeConcurrent(options)
      case .loop: try! loop!.makeQueue(in: LoopModes([.default]), options)
      }
    core = QueueCore.find(id)!
    if isWall {
      // As `prepare` does it; nobody knows the queue yet.
      core.control.traits.insert(.wall)
      core.ticksAreRare = true
      core.control.beginWallClock()
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

  /// Leaves free slots of the second chunk beside the list, so that no run need map one.
  func leaveSlotsBesideList(_ count: Int) {
    let wasOn = Seam.isOn
    Seam.isOn = false
    defer { Seam.isOn = wasOn }
    if core.control.chunkCount == 1 { _ = core.control.grow(by: 1) }
    var chunks = ChunkCursor()
    _ = chunks.next(of: core.control)
    let second = chunks.next(of: core.control)!
    second.head.out.store(UInt32(count), ordering: .relaxed)
    var slots = SlotChain()
    for index in second.slots.prefix(count) { slots.push(index) }
    slots.leave(in: core.control.storage.returned)
  }

  /// In the list, beside it, and never given out.
  var freeSlotCount: Int {
    let wasOn = Seam.isOn
    Seam.isOn = false
    defer { Seam.isOn = wasOn }
    return core.control.storage.slots.withLock { store in
      core.control.listReturned(&store)
      core.control.listSpare(&store)
      return store.free.count + Int(store.fresh.count)
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
        status = .of { () throws(Status) in
          _ = try QueueCore.process(id, most: .max)
          return .ok
        }
      case .records: status = takeTicks()
      case .precise, .serial, .concurrent, .loop: return .ok
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
    let records = UnsafeMutablePointer<CoreTick>.allocate(capacity: 4)
    defer { records.deallocate() }
    return .of { () throws(Status) in
      while true {
        let count = try QueueCore.takeTicks(id, records, stride: MemoryLayout<CoreTick>.size, capacity: 4)
        for i in 0..<count { TimerLog.of(records[i].context).recorded(records[i]) }
        if count < 4 { return .ok }
      }
    }
  }

  /// Runs `body`, which the queue has called: on all queues but concurrent ones nothing else runs meanwhile.
  func exclusively(_ body: () -> Void) {
    world.expect(running == 0 || kind == .concurrent, "two callbacks of a queue at a time")
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
    // What is due now, and what other threads left.
    world.expect(drive() == .ok, "the queue cannot be driven")
    if !kind.isDriven { world.sleep(until: world.scheduler.clock + 1000) }
    let running = logs.filter { $0.ref?.snapshot?.state == .running }
    let waiting = running.map { log in (log: log, due: log.ref?.nextDeadline ?? .max, before: log.ticks) }
      .filter { $0.due != .max }
    guard let last = waiting.map(\.due).max(), let first = waiting.map(\.due).min() else { return }
    if kind == .host || kind == .records, let next = try? QueueCore.nextDeadline(id) {
      // Rounded up to a tick of the wheel, moved within the leeway that a scenario gives, and perhaps held back for a writer.
      let late = 200_000 + (core.batch.heldBack == nil ? 0 : Tunables.writer)
      world.expect(
        next <= max(first, world.scheduler.clock) + late,
        "the queue says that it is next due at \(next), a timer says \(first)")
    }
    switch kind {
    case .virtual: world.expect(drive(last) == .ok, "the queue cannot be advanced")
    case .host, .records:
      // What was held back for a writer comes in two passes: its pending callback, then the tick.
      let end = max(last, world.scheduler.clock) + Tunables.writer + 10_000
      while world.scheduler.clock <= end {
        guard let file = try? QueueCore.file(id) else {
          return world.expect(false, "the queue has no descriptor")
        }
        let isReadable = world.scheduler.poll(file, until: max(last, world.scheduler.clock) + 10_000_000)
        if !isReadable { break }
        world.expect(drive() == .ok, "the queue cannot be driven")
        if waiting.allSatisfy({ $0.log.ticks > $0.before }) { break }
      }
    // The clock may be beyond that, which held the queue's threads up.
    case .precise, .serial, .concurrent, .loop:
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
    control.storage.slots.withLock { store in
      var chunks = ChunkCursor()
      var isFirst = true
      while let chunk = chunks.next(of: control) {
        chunk.head.out.store(0, ordering: .relaxed)
        // The others are in nobody's use; see `leaveSlotsBesideList`.
        defer { isFirst = false }
        if !isFirst { continue }
        for index in chunk.slots {
          let slot = Slab.slot(index)
          guard slot.word.bits != 0 || slot.versionAndFlags != 0 || slot.context.pointer != nil else { continue }
          _ = slot.swap(slot.word, for: TimerWord(0))
          let writing = Writing(free: slot)
          writing.versionAndFlags = 0
          writing.context = .none
          writing.deadline = 0
          writing.forget()
          slot.inboxLink.pointee.store(.none, ordering: .relaxed)
        }
        if chunk.head.pages == .left { _ = Slab.countPages(of: chunk) }
        chunk.head.pages = .inUse
        for index in chunk.slots where Slab.position(of: index).left.isThere { Slab.position(of: index).clear() }
      }
      // The first of all slots is never given out; so none of a chunk is, that all control blocks are alike.
      var first = ChunkCursor()
      store.fresh = first.next(of: control)?.slots ?? .none
      _ = store.fresh.next()
      control.showGivenOut(store)
      store.free = FreeSlots()
      control.storage.returned.store(.none, ordering: .relaxed)
      control.storage.givenOut.store(GivenOut(), ordering: .relaxed)
      (store.nextLeft, store.freshHaveLeft) = (nil, false)
    }
    // A thread that was late may have pushed a slot into the inbox of a queue that had ended: the next one's then.
    control.storage.inbox.store(.none, ordering: .relaxed)
    // This thread's cache of the control block is empty from here on.
    if let cache = ThreadState.existing?.cache(of: control) { while cache.takeOldest() != nil {} }
  }
}
