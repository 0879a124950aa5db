import ChimeTestSupport
import Dispatch
import Synchronization
import Testing

@testable import Chime
@testable import ChimeCore

/// The wheel by itself, against a plain array. [3] [14]
@Suite struct WheelTests {
  /// The last one is new in each run; a failure prints it as the test's argument.
  static let seeds: [UInt64] = [1, 2, 3, .random(in: 4 ... .max)]

  @Test(arguments: [(0, false), (0, true), (10, true)] as [(UInt64, Bool)], seeds)
  func theWheelDoesWhatASortedArrayDoes(shape: (shift: UInt64, honoursLeeway: Bool), seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let bench = try WheelBench(timers: 100, shift: shape.shift, honoursLeeway: shape.honoursLeeway)
    var rounds = 0
    for step in 0..<4000 {
      let number = Int.random(in: 0..<100, using: &random)
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<70:
        let distance = random.distance(bits: random.chance(50) ? 62 : 20)
        bench.place(number, at: bench.now.saturatingAdd(distance), leeway: random.distance(bits: 30))
        try #require(bench.excess == nil, "step \(step)")
      case 70..<80: bench.postpone(number, by: random.distance(bits: 31))
      case 80..<90: bench.cancel(number)
      default:
        // Mostly short ways, so that time passes every level's border many times before its end.
        let distance =
          random.chance(8) ? Int64(random.next() >> 4) : random.distance(bits: random.chance(30) ? 40 : 16)
        try #require(bench.advance(to: bench.now + distance) == nil, "step \(step)")
      }
      if random.chance(50) { try #require(bench.wheel.earliest() == bench.earliest, "step \(step)") }
      if bench.now > 1 << 61 {
        bench.reopen(now: random.distance(bits: 50))
        rounds += 1
      }
    }
    #expect(rounds > 0)
    try #require(bench.advance(to: .max) == nil)
    #expect(bench.rows.filter(\.isAwaited).isEmpty)
    #expect(bench.wheel.placedCount == 0 && bench.wheel.earliest() == nil)
  }

  /// Each level's border, one tick around it.
  static let borders: [UInt64] = (0..<11).map { UInt64(1) << (6 * $0) }

  @Test(arguments: borders)
  func aTimerOnEachLevelComesAtItsTickAndNotOneBefore(border: UInt64) throws {
    for start in [0, 1, 63, 64, Int64(border) - 1] {
      let bench = try WheelBench(timers: 3, now: start)
      let deadlines = [-1, 0, 1].map { start.saturatingAdd(Int64(border)).saturatingAdd($0) }
      for (number, deadline) in deadlines.enumerated() { bench.place(number, at: deadline) }
      for (number, deadline) in deadlines.enumerated() {
        #expect(bench.wheel.earliest() == deadline)
        if deadline > start { #expect(bench.advance(to: deadline - 1) == nil) }
        #expect(bench.rows[number].isPlaced || deadline == start)
        #expect(bench.advance(to: deadline) == nil)
        #expect(!bench.rows[number].isPlaced)
      }
      #expect(bench.wheel.earliest() == nil && bench.wheel.placedCount == 0)
    }
  }

  @Test(arguments: [0, 10] as [UInt64])
  func theEndOfTimeNeverComesButTheInstantBeforeDoes(shift: UInt64) throws {
    let bench = try WheelBench(timers: 3, shift: shift)
    let deadlines: [Int64] = [.max, .max - 1, .max - (1 << 20)]
    for (number, deadline) in deadlines.enumerated() { bench.place(number, at: deadline) }
    #expect(bench.wheel.placedCount == 2)
    #expect(bench.advance(to: .max - (1 << 21)) == nil)
    #expect(bench.wheel.earliest() == .max - (1 << 20) + (shift == 0 ? 0 : 1))
    #expect(bench.advance(to: .max - (1 << 19)) == nil)
    let last: Int64 = .max - 1
    #expect(bench.wheel.earliest() == last)
    bench.place(1, at: .max)
    #expect(bench.wheel.earliest() == nil && bench.wheel.placedCount == 0)
  }

  @Test func aTimerThatIsBeingWrittenStaysWhereItIs() throws {
    let bench = try WheelBench(timers: 1)
    bench.place(0, at: 100)
    let slot = bench.rows[0].slot
    guard let writing = slot.beginWriting(slot.word) else { throw Status.busy }
    writing.deadline = 5000
    #expect(bench.wheel.earliest() == 100)
    writing.commit(slot.word.withNextGeneration)
    #expect(bench.wheel.earliest() == 5000)
  }

  // MARK: Entries and pages

  /// A wheel that found too few pages would end the process.
  @Test func aWheelThatClosesGivesAllItsPagesToTheNext() throws {
    let bench = try WheelBench(timers: 256)
    var random = SplitMix64(seed: 15)
    for round in 0..<20 {
      while bench.wheel.entryCount < 2 * bench.wheel.placedCount + WheelTicks.tolerance {
        bench.place(Int.random(in: 0..<256, using: &random), at: bench.now + 1 + random.distance(bits: 60))
      }
      bench.reopen(now: Int64(round))
      #expect(bench.wheel.entryCount == 0)
    }
  }

  // MARK: Which entry is the valid one

  @Test func anEntryThatWasLeftBehindIsNotHandedOutHoweverFarTheTimerMoved() throws {
    for distance in [1, 64, 1 << 31, 1 << 32, 1 << 33, 1 << 48] as [Int64] {
      let bench = try WheelBench(timers: 1)
      bench.place(0, at: 1000)
      bench.place(0, at: 1000 + distance)
      #expect(bench.advance(to: 1000) == nil, "\(distance)")
    }
  }

  /// With a long leeway timers are placed at multiples of 2^32 ticks.
  @Test func entriesOfATimerWithALongLeewayAreBounded() throws {
    let bench = try WheelBench(timers: 1, honoursLeeway: true)
    var excess: String?
    for step in 0..<5000 where excess == nil {
      bench.place(0, at: Int64(step % 7 + 1) << 40, leeway: 1 << 33)
      excess = bench.excess
    }
    #expect(excess == nil)
  }

  /// A timer that goes to and fro between two ticks leaves an entry each time; one of them is enough.
  @Test func entriesOfATimerThatReturnsToItsPositionAreBounded() throws {
    let bench = try WheelBench(timers: 1002)
    for number in 2..<1002 { bench.place(number, at: 1000) }
    let (here, there) = (Int64(1) << 40, Int64(1) << 41 + 1)
    while bench.wheel.entryCount < 2 * bench.wheel.placedCount + WheelTicks.tolerance - 2 {
      bench.place(0, at: there)
      bench.place(0, at: here)
    }
    #expect(bench.advance(to: 1000) == nil)
    #expect(bench.wheel.placedCount == 1)
    bench.place(1, at: 5000)
    #expect(bench.excess == nil)
  }

  // MARK: A timer that another thread moves

  /// On a level whose buckets are tidied whole by a look at the front; the other two on levels below and above.
  static let inside = Int64(1) << 40
  static let early = Int64(1) << 20
  static let late = Int64(1) << 45

  /// Places timer 0 again and again and looks at the front, while another thread moves it to and fro past both ends of
  /// its bucket: what is read of it at one moment is not so at the next. True once `isWrong` holds of the front.
  private func becomesWrong(_ bench: WheelBench, _ isWrong: (_ front: Int64?) -> Bool) -> Bool {
    let slot = bench.rows[0].slot
    // As whoever moves a timer to before its position leaves it.
    _ = slot.set(TimerWord.inboxBit)
    let over = Counter()
    let (begun, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    DispatchQueue.global().async {
      begun.signal()
      while over.value == 0 {
        // Without a writer's bit, at which the wheel would wait.
        slot.cell.deadline.store(Self.late, ordering: .releasing)
        slot.cell.deadline.store(Self.early, ordering: .releasing)
      }
      ended.signal()
    }
    begun.wait()
    defer {
      over.add()
      ended.wait()
      _ = slot.clear(TimerWord.inboxBit)
    }
    return (0..<100_000).contains { _ in
      bench.wheel.place(slot, deadline: Self.inside, leeway: CompactDuration(0))
      return isWrong(bench.wheel.earliest())
    }
  }

  /// The mark says that an entry was met; where it stays, the next tidying takes the timer's only entry for a second
  /// one, and drops it.
  @Test func noMarkStaysOnTheTimerThatMovesWhileItsBucketIsTidied() throws {
    let bench = try WheelBench(timers: 1)
    bench.place(0, at: Self.inside)
    #expect(!becomesWrong(bench) { _ in Slab.position(of: bench.rows[0].slot.index).isMarked })
  }

  /// The front is where the pass is woken next: one that is later than a position that was just given loses that tick.
  @Test func theFrontIsNotBehindTheTimerThatMovesBeforeIt() throws {
    let bench = try WheelBench(timers: 2)
    bench.place(0, at: Self.inside)
    bench.place(1, at: Self.inside + 1000)
    #expect(
      !becomesWrong(bench) { front in
        guard let tick = Slab.position(of: bench.rows[0].slot.index).tick else { return false }
        return WheelTicks.time(of: tick, shift: bench.wheel.shift) < front ?? .max
      })
  }
}
