import Testing

@testable import Chime
@testable import ChimeCore

/// Ids: what lies in which bit, and what is not an id.
@Suite struct HandleTests {
  static let largest = (index: UInt32(1 << 26 - 1), version: UInt32(1 << 24 - 1))
  static let indices: [UInt32] = [0, 1, 255, 256, 0x155_5555, largest.index]
  static let forged: [UInt64] = [
    0, 1, 1 << 26, 1 << 50 - 1, 3 << 50, 5 << 50, 1 << 53, 1 << 53 | 1 << 50, 1 << 63 | 1 << 50, .max,
  ]

  @Test(arguments: [Handle.Kind.timer, .queue], indices)
  func anIdComesApartIntoWhatItWasMadeOf(kind: Handle.Kind, index: UInt32) throws {
    for version in [0, 1, 0xAA_AAAA, Self.largest.version] {
      let id = Handle.id(kind, index: index, version: version)
      let handle = try #require(Handle(id, kind: kind))
      #expect(handle.index == index && handle.version == version)
      #expect(id < 1 << 53 && id != 0)
    }
  }

  @Test func kindVersionAndIndexAreWhereTheCommentSays() {
    #expect(Handle.id(.timer, index: 0, version: 0) == 1 << 50)
    #expect(Handle.id(.queue, index: 0, version: 0) == 2 << 50)
    #expect(Handle.id(.timer, index: 0, version: 1) == 1 << 50 | 1 << 26)
    #expect(Handle.id(.timer, index: 1, version: 0) == 1 << 50 | 1)
    #expect(Handle.id(.timer, index: Self.largest.index, version: Self.largest.version) == 1 << 51 - 1)
  }

  @Test func anIdOfOneKindIsNoneOfTheOther() {
    #expect(Handle(Handle.id(.timer, index: 5, version: 5), kind: .queue) == nil)
    #expect(Handle(Handle.id(.queue, index: 5, version: 5), kind: .timer) == nil)
  }

  @Test(arguments: forged)
  func aForgedNumberIsNoId(number: UInt64) {
    #expect(Handle(number, kind: .timer) == nil)
    #expect(Handle(number, kind: .queue) == nil)
    #expect(TimerRef(number) == nil && QueueCore.find(number) == nil)
  }

  @Test func aLiveIdWithOneBitChangedNamesNothing() throws {
    let core = try QueueCore.makeForTest()
    defer { core.release() }
    let timer = try core.makeTimer()
    #expect(TimerRef(timer)?.state == .idle)
    // Lower bits of the index could name a timer of somebody else.
    for bit in UInt64(20)..<64 {
      #expect(TimerRef(timer ^ 1 << bit)?.state == nil, "bit \(bit)")
      #expect(QueueCore.find(core.id ^ 1 << bit) == nil, "bit \(bit)")
    }
  }

  @Test func aSlotThatWasNeverGivenOutHasNoTimer() throws {
    let core = try QueueCore.makeForTest()
    defer { core.release() }
    // The control block may be one whose slots have all been given out before.
    var unused: UInt32?
    for _ in 0..<1000 where unused == nil {
      _ = try core.makeTimer()
      unused = unsafe core.control.storage.pointee.slots.withLock { $0.fresh.last }
    }
    let id = Handle.id(.timer, index: try #require(unused), version: 0)
    #expect(TimerRef(id)?.state == nil)
    #expect(TimerRef.cancel(id) == .invalidHandle && TimerRef.release(id) == .invalidHandle)
  }

  @Test func aReleasedIdStaysInvalidWhenItsSlotIsUsedAgain() throws {
    let core = try QueueCore.makeForTest()
    defer { core.release() }
    let first = try core.makeTimer()
    #expect(TimerRef.release(first) == .ok)
    var second = try core.makeTimer()
    while TimerRef(first)?.slot.index != TimerRef(second)?.slot.index {
      #expect(TimerRef.release(second) == .ok)
      second = try core.makeTimer()
    }
    #expect(first != second)
    #expect(TimerRef.release(first) == .invalidHandle)
    #expect(TimerRef(second)?.state == .idle)
  }

  @Test func aSlotWhoseVersionsAreUsedUpIsNotGivenOutAgain() throws {
    let core = try QueueCore.makeForTest()
    defer { core.release() }
    let slot = try #require(TimerRef(core.makeTimer())).slot
    slot.versionAndFlags = Handle.versionMask - 1
    let last = Handle.id(.timer, index: slot.index, version: Handle.versionMask - 1)
    #expect(TimerRef(last)?.state == .idle)
    #expect(TimerRef.release(last) == .ok)
    for _ in 0..<600 { #expect(try TimerRef(core.makeTimer())?.slot.index != slot.index) }
  }

  /// So that a slot's generation goes round as seldom as can be.
  @Test func slotsAreUsedAgainFirstInFirstOut() throws {
    let core = try QueueCore.makeForTest()
    defer { core.release() }
    var last: [UInt32: Int] = [:]
    var shortest = Int.max
    for turn in 0..<2000 {
      let timer = try core.makeTimer()
      let slot = try #require(TimerRef(timer)).slot.index
      if let before = last[slot] { shortest = min(shortest, turn - before) }
      last[slot] = turn
      _ = TimerRef.release(timer)
    }
    #expect(shortest > ThreadCache.kept)
  }

  @Test func aChunkWhoseVersionsAreUsedUpServesOnUnderAnotherNumber() throws {
    let core = try QueueCore.makeForTest()
    defer { core.release() }
    let old = try core.makeTimer()
    let chunks = core.control.chunkCount
    var ids: Set<UInt64> = [old]
    _ = TimerRef.release(old)
    // Slots that other threads have kept since the control block was another queue's hold a few chunks.
    let most = chunks + 4
    for _ in 0..<12 {
      // Each slot that is free now has one version left; those that come later begin anew.
      core.control.forEachSlot { slot in
        if slot.word.isFree { slot.versionAndFlags = Handle.versionMask - 1 }
      }
      for _ in 0..<2 * core.control.chunkCount * Slab.slotsPerChunk {
        let timer = try core.makeTimer()
        _ = TimerRef(timer)?.activate(Schedule(first: 1_000))
        #expect(ids.insert(timer).inserted)
        #expect(TimerRef.release(timer) == .ok)
        _ = QueueCore.advance(core.id, by: 2_000)
      }
    }
    #expect(core.control.chunkCount <= most)
    #expect(ids.allSatisfy { TimerRef($0)?.state == nil })
    // What a number that is no more in use names is looked up, and found to be nothing.
    #expect(TimerRef.release(old) == .invalidHandle)
    let timer = try core.makeTimer()
    #expect(TimerRef(timer)?.state == .idle)
  }
}
