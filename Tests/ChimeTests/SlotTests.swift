import ChimeTestSupport
import Testing

@testable import Chime
@testable import ChimeCore

/// Slots and control blocks come back, whoever gives them back, and a timer limit is exact.
@Suite struct SlotTests {
  @Test func aMillionTimersOneAfterTheOtherNeedOneSlot() throws {
    let core = try QueueCore.makeForTest()
    defer { core.release() }
    _ = try core.makeTimer()
    let chunks = core.control.chunkCount
    for _ in 0..<1_000_000 { _ = TimerRef.release(try core.makeTimer()) }
    #expect(core.control.chunkCount == chunks)
    #expect(core.statistics.timers == 1)
  }

  @Test func slotsReleasedOnAnotherThreadComeBack() throws {
    let core = try QueueCore.makeForTest()
    defer { core.release() }
    let chunks = max(core.control.chunkCount, 2)
    for _ in 0..<200 {
      let timers = try (0..<200).map { _ in try core.makeTimer() }
      onNewThreads { _ in for timer in timers { _ = TimerRef.release(timer) } }
    }
    #expect(core.control.chunkCount <= chunks)
    #expect(core.statistics.timers == 0)
  }

  @Test func aThreadThatEndsGivesItsCacheBack() throws {
    let core = try QueueCore.makeForTest()
    defer { core.release() }
    _ = try core.makeTimer()
    let chunks = core.control.chunkCount
    let made = Counter()
    for _ in 0..<500 {
      onNewThreads { _ in
        guard let timer = try? core.makeTimer() else { return }
        made.add(1)
        _ = TimerRef.release(timer)
      }
    }
    #expect(made.value == 500)
    #expect(core.control.chunkCount == chunks)
  }

  /// Control blocks share the four entries of a thread's caches by their index.
  @Test func aThreadThatUsesManyQueuesLosesNoSlots() throws {
    let cores = try (0..<16).map { _ in try QueueCore.makeForTest() }
    defer { for core in cores { core.release() } }
    for core in cores { _ = try core.makeTimer() }
    let chunks = cores.map(\.control.chunkCount)
    var strays = 0
    for _ in 0..<2000 {
      for core in cores {
        let timer = try core.makeTimer()
        if TimerRef(timer)?.control != core.control { strays += 1 }
        _ = TimerRef.release(timer)
      }
    }
    #expect(cores.map(\.control.chunkCount) == chunks)
    #expect(strays == 0)
  }

  @Test func noSlotIsGivenOutTwice() throws {
    let core = try QueueCore.makeForTest()
    defer { core.release() }
    let timers = Findings<UInt64>()
    onNewThreads(4) { _ in
      timers.add((0..<2000).compactMap { _ in try? core.makeTimer() })
    }
    let slots = Set(timers.all.compactMap { TimerRef($0)?.slot.index })
    #expect(slots.count == 8000 && core.statistics.timers == 8000)
  }

  // MARK: Limits

  @Test func aLimitIsReachedExactlyAndReleaseMakesRoom() throws {
    for limit in [1, 2, 255, 256, 257] as [UInt64] {
      let core = try QueueCore.makeForTest(timerLimit: limit)
      defer { core.release() }
      let timers = try (0..<limit).map { _ in try core.makeTimer() }
      for timer in timers.prefix(10) {
        #expect(throws: Status.limit) { try core.makeTimer() }
        #expect(TimerRef.release(timer) == .ok)
        _ = try core.makeTimer()
      }
    }
  }

  @Test func severalThreadsNeverExceedALimit() throws {
    let (limit, threads) = (40, 4)
    let core = try QueueCore.makeForTest(timerLimit: UInt64(limit))
    defer { core.release() }
    let (live, refusals, excesses) = (Counter(), Counter(), Counter())
    onNewThreads(threads) { thread in
      var random = SplitMix64(seed: UInt64(thread))
      var mine: [UInt64] = []
      for _ in 0..<20_000 {
        if mine.count < limit / 2, random.chance(60) {
          if let timer = try? core.makeTimer() {
            if live.add(1) > limit { excesses.add(1) }
            mine.append(timer)
          } else {
            refusals.add(1)
          }
        } else if !mine.isEmpty {
          live.add(-1)
          _ = TimerRef.release(mine.remove(at: Int.random(in: mine.indices, using: &random)))
        }
      }
      for timer in mine {
        live.add(-1)
        _ = TimerRef.release(timer)
      }
    }
    #expect(excesses.value == 0 && refusals.value > 0)
    for _ in 0..<limit { _ = try core.makeTimer() }
    #expect(throws: Status.limit) { try core.makeTimer() }
  }

  @Test func aThreadThatKeepsToItsShareIsNeverRefused() throws {
    let (share, threads) = (10, 4)
    let core = try QueueCore.makeForTest(timerLimit: UInt64(share * threads))
    defer { core.release() }
    let refusals = Counter()
    onNewThreads(threads) { thread in
      var random = SplitMix64(seed: UInt64(thread))
      var mine: [UInt64] = []
      for _ in 0..<20_000 {
        if mine.count < share, random.chance(70) {
          if let timer = try? core.makeTimer() { mine.append(timer) } else { refusals.add(1) }
        } else if let timer = mine.popLast() {
          _ = TimerRef.release(timer)
        }
      }
    }
    #expect(refusals.value == 0)
  }

  // MARK: Control blocks

  @Test(arguments: [0, 3] as [UInt64])
  func controlBlocksServeManyQueuesAndOldIdsStayInvalid(timerLimit: UInt64) throws {
    var ids: Set<UInt64> = []
    var controls: Set<UInt32> = []
    var timers: Set<UInt64> = []
    for _ in 0..<2000 {
      let core = try QueueCore.makeForTest(timerLimit: timerLimit)
      ids.insert(core.id)
      controls.insert(core.control.index)
      timers.insert(try core.makeTimer())
      #expect(QueueCore.shutdown(core.id, timeout: 0) == .ok)
    }
    #expect(ids.count == 2000 && timers.count == 2000)
    #expect(controls.count < 200)
    #expect(ids.allSatisfy { QueueCore.find($0) == nil && QueueCore.release($0) == .invalidHandle })
    #expect(timers.allSatisfy { TimerRef($0)?.state == nil && TimerRef.release($0) == .invalidHandle })
  }

  @Test func serialQueuesGiveTheirControlBlocksBackToo() throws {
    var ids: Set<UInt64> = []
    var controls: Set<UInt32> = []
    for _ in 0..<500 {
      let id = try QueueCore.makeSerial(QueueOptions()).get()
      ids.insert(id)
      controls.insert(try #require(QueueCore.find(id)).control.index)
      #expect(QueueCore.shutdown(id, timeout: .max) == .ok)
    }
    #expect(ids.count == 500 && controls.count < 100)
    #expect(ids.allSatisfy { QueueCore.find($0) == nil })
  }

  /// Thread caches bypass the count, so a control block that served a queue without a limit must not serve one with.
  @Test func aLimitHoldsOnAControlBlockThatServedBefore() throws {
    for round in 0..<20 {
      let core = try QueueCore.makeForTest(timerLimit: round % 2 == 0 ? 0 : 5)
      defer { core.release() }
      for _ in 0..<5 { _ = try core.makeTimer() }
      if round % 2 == 1 { #expect(throws: Status.limit) { try core.makeTimer() } }
    }
  }
}
