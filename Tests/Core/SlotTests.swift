import ChimeTestSupport
import Testing

@testable import Chime
@testable import ChimeCore

/// Slots and control blocks come back, whoever gives them back, and a timer limit is exact.
@Suite final class SlotTests {
  let core: QueueCore

  init() throws { core = try QueueCore.makeForTest() }

  deinit { core.release() }

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
    let timers = Log<UInt64>()
    onNewThreads(4) { [core] _ in timers.add(all: (0..<500).compactMap { _ in try? core.makeTimer() }) }
    let slots = Set(timers.all.compactMap { TimerRef($0)?.slot.index })
    #expect(slots.count == 2000 && core.statistics.timers == 2000)
  }

  // MARK: Limits

  /// Four threads, each with so many timers at most: with a quarter of the limit nobody is refused, with more some are.
  @Test(arguments: [10, 20]) func severalThreadsNeverExceedALimit(share: Int) throws {
    let limit = 40
    let core = try QueueCore.makeForTest(timerLimit: UInt64(limit))
    defer { core.release() }
    let (live, refusals, excesses) = (Counter(), Counter(), Counter())
    onNewThreads(4) { thread in
      var random = SplitMix64(seed: UInt64(thread))
      var mine: [UInt64] = []
      for round in 0..<20_000 {
        if round < 19_000, mine.count < share, random.chance(65) {
          guard let timer = try? core.makeTimer() else {
            refusals.add()
            continue
          }
          if live.add() > limit { excesses.add() }
          mine.append(timer)
        } else if !mine.isEmpty {
          live.add(-1)
          _ = TimerRef.release(mine.remove(at: Int.random(in: mine.indices, using: &random)))
        }
      }
    }
    #expect(excesses.value == 0 && (refusals.value > 0) == (4 * share > limit))
    for _ in 0..<limit { _ = try core.makeTimer() }
    #expect(throws: Status.limit) { try core.makeTimer() }
  }

  // MARK: Control blocks

  /// Thread caches bypass the count, so a control block that served a queue without a limit must not serve one with.
  @Test func controlBlocksServeManyQueuesWithAndWithoutALimitAndOldIdsStayInvalid() throws {
    var ids: Set<UInt64> = []
    var controls: Set<UInt32> = []
    var timers: Set<UInt64> = []
    for round in 0..<600 {
      let options = QueueOptions(timerLimit: round % 2 == 0 ? 0 : 5)
      let made = round % 3 == 0 ? QueueCore.makeSerial(options) : QueueCore.makeVirtual(options)
      let core = try #require(QueueCore.find(made.get()))
      ids.insert(core.id)
      controls.insert(core.control.index)
      for _ in 0..<5 { timers.insert(try core.makeTimer()) }
      if options.timerLimit > 0 { #expect(throws: Status.limit) { try core.makeTimer() } }
      #expect(QueueCore.shutdown(core.id, timeout: .max) == .ok)
    }
    #expect(ids.count == 600 && timers.count == 3000 && controls.count < 100)
    #expect(ids.allSatisfy { QueueCore.find($0) == nil && QueueCore.release($0) == .invalidHandle })
    #expect(timers.allSatisfy { TimerRef($0)?.state == nil && TimerRef.release($0) == .invalidHandle })
  }
}
