import ChimeTestSupport
import Testing

@testable import Chime
@testable import ChimeCore

/// Slots come back, and control blocks serve queue after queue; how long a slot's versions last. (Threads at a timer limit:
/// Interleavings. What names nothing, through every function: `ids.c`.)
@Suite final class SlotTests {
  let core: QueueCore
  private var others: [QueueCore] = []

  /// On a control block that served no queue before, whose free slots would come first.
  init() throws {
    var made = try QueueCore.makeForTest()
    while made.control.chunkCount > 0 {
      others.append(made)
      made = try QueueCore.makeForTest()
    }
    core = made
  }

  deinit {
    core.release()
    for other in others { other.release() }
  }

  /// Control blocks share the four entries of a thread's caches by their index.
  @Test func aThreadThatUsesManyQueuesLosesNoSlots() throws {
    let cores = try (0..<8).map { _ in try QueueCore.makeForTest() }
    defer { for core in cores { core.release() } }
    var chunks: [Int] = []
    var strays = 0
    for round in 0..<700 {
      // By then each has what it lacked, where other threads keep slots of a control block that was another queue's.
      if round == 100 { chunks = cores.map(\.control.chunkCount) }
      for core in cores {
        let timer = try core.makeTimer()
        if TimerRef(timer)?.control != core.control { strays += 1 }
        _ = TimerRef.release(timer)
      }
    }
    // Where another thread gives back slots that it has kept since then, one more may come.
    #expect(zip(cores, chunks).allSatisfy { $0.control.chunkCount <= $1 + 1 })
    #expect(strays == 0)
  }

  /// The cache stays with the first queue as long as that uses it, and goes to the second with its ninth miss in a row.
  @Test func aCacheIsNotClaimedByAQueueThatIsUsedInTurn() throws {
    let other = try queueThatSharesTheCache()
    defer { other.release() }
    let (first, second) = (other.control, core.control)
    let thread = try #require(ThreadState.obtain())
    func isFirsts() -> Bool { thread.cache(of: first) != nil && thread.cache(of: second) == nil }
    for _ in 0..<40 {
      try first.takeSlot(thread).forget()
      #expect(thread.claimCacheIfWorthIt(for: second) == nil && isFirsts())
    }
    for _ in 2..<ThreadCache.missesBeforeClaim { #expect(thread.claimCacheIfWorthIt(for: second) == nil && isFirsts()) }
    #expect(thread.claimCacheIfWorthIt(for: second) != nil && !isFirsts())
    // What an ended queue has left there is in nobody's use.
    #expect(QueueCore.shutdown(core.id, timeout: .max) == .ok)
    #expect(thread.claimCacheIfWorthIt(for: first) != nil && isFirsts())
  }

  /// A thread that is held up in a call would have to sleep through that many timers before it meets another one in the
  /// slot (P14e), however many the queue has.
  @Test(arguments: [false, true]) func aSlotIsUsedAgainBehindManyOthers(cacheIsAnothers: Bool) throws {
    var releases: [UInt32: Int] = [:]
    let other = cacheIsAnothers ? try queueThatSharesTheCache() : nil
    defer { other?.release() }
    for round in 0..<500 {
      // Uses the cache, so that it stays its own.
      if let other { _ = TimerRef.release(try other.makeTimer()) }
      let timer = try core.makeTimer()
      let slot = try #require(Handle(timer, kind: .timer)).index
      #expect(round - (releases[slot] ?? -28) >= 28)
      if round % 2 == 0 { continue }
      releases[slot] = round
      #expect(TimerRef.release(timer) == .ok)
    }
  }

  /// The ninth miss in a row may be a release, whose slot is then the only one in the cache.
  @Test func aSlotThatClaimsACacheIsUsedAgainBehindTheOthers() throws {
    let other = try queueThatSharesTheCache()
    defer { other.release() }
    var (changes, releases) = (0, [UInt32: Int]())
    // Eight misses, and the ninth is a release.
    var timers = try (0..<8).map { _ in try core.makeTimer() }
    for _ in 0..<100 {
      if let timer = timers.popLast() {
        #expect(TimerRef.release(timer) == .ok)
        releases[try #require(Handle(timer, kind: .timer)).index] = changes
      }
      changes += 1
      let timer = try core.makeTimer()
      #expect(changes - (releases[try #require(Handle(timer, kind: .timer)).index] ?? -28) >= 28)
    }
  }

  /// Slots that are given back meanwhile lie beside the list; what is needed comes from there, behind many others, or is new
  /// (P14h). No slot is lost, and none is twice among the free ones.
  @Test(arguments: [false, true]) func slotsBesideAListThatStandsStillAreUsedAgain(isLimited: Bool) throws {
    let core = try QueueCore.makeForTest(timerLimit: isLimited ? 1000 : 0)
    defer { core.release() }
    let thread = try #require(ThreadState.obtain())
    func freeSlots() -> [SlotIndex] {
      if let cache = thread.cache(of: core.control) { thread.evict(cache) }
      return core.control.storage.slots.withLock { store in
        core.control.listReturned(&store)
        core.control.listSpare(&store)
        let free = (0..<store.free.count).compactMap { _ in store.free.popFirst() }
        for index in free { store.free.append(index) }
        return free + Array(store.fresh)
      }
    }
    _ = TimerRef.release(try core.makeTimer())
    let (before, chunks) = (freeSlots(), core.control.chunkCount)
    var (changes, tooSoon) = (0, 0)
    var releases: [UInt32: Int] = [:]
    try core.control.storage.slots.withLock { _ in
      for round in 0..<100 {
        var timers: [UInt64] = []
        for _ in 0...round % 3 * 20 {
          let timer = try core.makeTimer()
          timers.append(timer)
          if let release = releases[slot(of: timer)], changes - release < 28 { tooSoon += 1 }
          changes += 1
        }
        for timer in timers {
          _ = TimerRef.release(timer)
          changes += 1
          releases[slot(of: timer)] = changes
        }
      }
    }
    #expect(tooSoon == 0)
    let after = freeSlots()
    let added = core.control.chunkCount - chunks
    #expect(added <= 1)
    #expect(after.count == before.count + added * Slab.slotsPerChunk)
    #expect(Set(after.map(\.number)).count == after.count)
  }

  /// Threads that lose their processor with the list, one after another, cost no chunk each (P14h).
  @Test(arguments: [false, true]) func aListThatStandsStillAgainAndAgainMakesNoChunkEachTime(isLimited: Bool) throws {
    let core = try QueueCore.makeForTest(timerLimit: isLimited ? 1000 : 0)
    defer { core.release() }
    _ = TimerRef.release(try core.makeTimer())
    let before = core.control.chunkCount
    for _ in 0..<40 {
      let timers = try core.control.storage.slots.withLock { _ in
        try (0..<200).map { _ in try core.makeTimer() }
      }
      for timer in timers { _ = TimerRef.release(timer) }
    }
    #expect(core.control.chunkCount - before <= 4)
  }

  /// A list that has too little takes back what is kept beside it before a chunk is made (P14h).
  @Test func aListTakesBackWhatIsKeptBesideIt() throws {
    let core = try QueueCore.makeForTest(timerLimit: 10_000)
    defer { core.release() }
    _ = TimerRef.release(try core.makeTimer())
    core.control.storage.spareWanted.store(SpareSlots.initialCount, ordering: .relaxed)
    let chunks = core.control.chunkCount
    for _ in 0..<3 {
      let timers = try (0..<chunks * 200).map { _ in try core.makeTimer() }
      for timer in timers { _ = TimerRef.release(timer) }
    }
    #expect(core.control.chunkCount == chunks)
  }

  /// What a grower leaves who comes late, behind one that has left more (P14i). A pass with too little ends the process.
  @Test func aPassKeepsTheLargerRoom() throws {
    let timers = try (0..<600).map { _ in try core.makeTimer() }
    for timer in timers { #expect(TimerRef(timer)?.activate(Schedule(first: 9)) == .ok) }
    #expect(QueueCore.advance(core.id, by: 1) == .ok && !core.control.hasScratch)
    try #require(core.control.makeScratch(slots: Slab.slotsPerChunk))
    for timer in timers { #expect(TimerRef(timer)?.restart(Schedule(first: 1)) == .ok) }
    #expect(QueueCore.advance(core.id, by: 1) == .ok)
    #expect(timers.allSatisfy { TimerRef($0)?.state == .finished })
  }

  private func slot(of timer: UInt64) -> UInt32 { Handle(timer, kind: .timer)?.index ?? 0 }

  private func queueThatSharesTheCache() throws -> QueueCore {
    while true {
      let other = try QueueCore.makeForTest()
      if other.control.index & 3 == core.control.index & 3 {
        let thread = try #require(ThreadState.obtain())
        _ = thread.claimCache(for: other.control)
        return other
      }
      // Its control block stays in use.
      others.append(other)
    }
  }

  /// Thread caches bypass the count, so a control block that served a queue without a limit must not serve one with.
  @Test func controlBlocksServeManyQueuesWithAndWithoutALimit() throws {
    var controls: Set<UInt32> = []
    for round in 0..<600 {
      var options = QueueOptions()
      options.timerLimit = round % 2 == 0 ? 0 : 5
      let made = try round % 3 == 0 ? QueueCore.makeSerial(options) : QueueCore.makeVirtual(options)
      let core = try #require(QueueCore.find(made))
      controls.insert(core.control.index)
      for _ in 0..<5 { _ = try core.makeTimer() }
      if options.timerLimit > 0 { #expect(throws: Status.limit) { try core.makeTimer() } }
      #expect(QueueCore.shutdown(core.id, timeout: .max) == .ok)
    }
    #expect(controls.count < 100)
  }

  @Test func aSlotThatWasNeverGivenOutHasNoTimer() throws {
    // The control block may be one whose slots have all been given out before, to a queue that has ended, too.
    var unused: UInt32?
    for _ in 0..<1000 where unused == nil {
      _ = try core.makeTimer()
      unused = core.control.storage.slots.withLock { store in
        store.freshHaveLeft ? nil : Array(store.fresh).last?.number
      }
    }
    let id = Handle.id(.timer, index: try #require(unused), version: 0)
    #expect(TimerRef(id)?.state == nil)
    #expect(TimerRef.cancel(id) == .invalidHandle && TimerRef.release(id) == .invalidHandle)
  }

  @Test func aChunkWhoseVersionsAreUsedUpServesOnUnderAnotherNumber() throws {
    var ids: Set<UInt64> = []
    let old = try core.makeTimer()
    _ = TimerRef.release(old)
    // Slots that other threads have kept since the control block was another queue's hold a few chunks.
    let most = core.control.chunkCount + 4
    // Each slot that is free now has one version left; those that come later begin anew.
    func age() {
      for number in 0..<core.control.chunkCount {
        core.control.forEachSlot(inOneOfItsChunks: number) { slot in
          guard slot.word.isFree else { return }
          let writing = Writing(free: slot)
          writing.versionAndFlags = Handle.versionMask - 1
          writing.forget()
        }
      }
    }
    for _ in 0..<12 {
      age()
      for _ in 0..<2 * core.control.chunkCount * Slab.slotsPerChunk {
        let timer = try core.makeTimer()
        #expect(ids.insert(timer).inserted)
        #expect(TimerRef.release(timer) == .ok)
      }
    }
    #expect(core.control.chunkCount <= most)
    // What a number that is no more in use names is looked up, and found to be nothing.
    #expect(TimerRef.release(old) == .invalidHandle && ids.allSatisfy { TimerRef($0)?.state == nil })
    // Nor does it name the timers that are in the same memory now, whose versions are the same (P14d).
    age()
    let timers = try (0..<2 * Slab.slotsPerChunk).map { _ in try core.makeTimer() }
    #expect(ids.isDisjoint(with: timers) && ids.allSatisfy { TimerRef($0)?.state == nil })
    for timer in timers { #expect(TimerRef.release(timer) == .ok) }
  }
}
