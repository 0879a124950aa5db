import ChimeTestSupport
import Testing

@testable import Chime
@testable import ChimeCore

/// Where in its leeway a timer is placed, against the definition tried unit by unit. [3] [13]
@Suite struct PlacementTests {
  /// The first multiple of g at or after the deadline, g the largest of 1, 2, 5, 10, … that is not above the leeway. A
  /// deadline that passed before the clock began stays where it is, and so does one with no later multiple.
  static func definition(_ deadline: Int64, _ leeway: Int64) -> Int64 {
    if deadline <= 0 { return deadline }
    var units: [Int128] = [1, 2, 5]
    while units.last! <= Int128(leeway) { units += units.suffix(3).map { $0 * 10 } }
    let g = units.last { $0 <= Int128(leeway) } ?? 1
    let multiple = (Int128(deadline) + g - 1) / g * g
    return multiple < Int128(Int64.max) ? Int64(multiple) : deadline
  }

  private func expectTheDefinition(_ deadline: Int64, _ leeway: Int64) {
    let time = Placement.time(deadline: deadline, leeway: leeway)
    #expect(time == Self.definition(deadline, leeway), "\(deadline) + \(leeway)")
  }

  @Test func smallRandomAndExtremeWindowsFollowTheDefinition() {
    for deadline in 1...70 as ClosedRange<Int64> {
      for leeway in 0...70 as ClosedRange<Int64> { expectTheDefinition(deadline, leeway) }
    }
    var random = SplitMix64(seed: 13)
    for _ in 0..<5000 { expectTheDefinition(random.distance(bits: 63), random.distance(bits: 63)) }
    let ends: [Int64] = [0, 1, 2, 1 << 32, 1 << 62, .max - 2, .max - 1, .max]
    for deadline in ends + [-1, -1_000_000, .min] {
      for leeway in ends { expectTheDefinition(deadline, leeway) }
    }
  }

  // MARK: Changes

  static let leeways: [Int64] = [0, 1, 7, 1_000_000, 500_000_000, 1 << 40]

  /// By a leeway of its own, or with a schedule whose deadline is the same: a shorter one brings the tick forward, and a longer
  /// one leaves it where it was, if nothing moves it.
  @Test(arguments: [false, true], 0..<3) func aChangeOfLeewayMovesTheTick(isVirtual: Bool, way: Int) throws {
    let core =
      isVirtual
      ? try QueueCore.makeForTest(honoursLeeway: true)
      : try #require(QueueCore.find(try QueueCore.makeHost(QueueOptions())))
    defer { core.release() }
    func place(_ timer: TimerRef, _ deadline: Int64) -> Int64 {
      let time = Self.definition(deadline, timer.slot.leeway.nanoseconds)
      return WheelTicks.time(of: WheelTicks.tick(notBefore: time, shift: core.control.shift), shift: core.control.shift)
    }
    if !isVirtual { _ = try QueueCore.process(core.id, most: 1) }
    for (before, after) in Self.leeways.flatMap({ before in Self.leeways.map { (before, $0) } }) {
      let timer = try #require(TimerRef(try core.makeTimer()))
      let deadline = core.control.now + 3_600_000_000_123
      func schedule(_ leeway: Int64) -> Schedule { Schedule(first: deadline, firstIsDeadline: true, leeway: leeway) }
      #expect(timer.activate(schedule(before)) == .ok)
      let old = place(timer, deadline)
      #expect(core.nextDeadline == old)
      // The host's descriptor, or whoever waits for the clock, knows of it.
      if isVirtual { _ = QueueCore.advance(core.id, by: 0) } else { _ = try QueueCore.process(core.id, most: 1) }
      switch way {
      case 0: #expect(timer.setLeeway(after) == .ok)
      case 1: #expect(timer.reschedule(schedule(after)) == .ok)
      default: #expect(timer.restart(schedule(after)) == .ok)
      }
      let new = place(timer, deadline)
      if !isVirtual { #expect(core.control.nextWakeUp <= new, "from \(before) to \(after)") }
      let next = core.nextDeadline
      #expect(next == min(old, new) || next == new, "from \(before) to \(after): \(next - deadline)")
      if isVirtual {
        #expect(QueueCore.advance(core.id, to: next - 1) == .ok && timer.state == .running)
        #expect(QueueCore.advance(core.id, to: next) == .ok && timer.state == .finished)
      }
      #expect(TimerRef.release(timer.id) == .ok)
    }
  }

  /// Of an interval of 100 ns with a leeway and a jitter; the new interval, and leeway; what is left of both then.
  static let rows: [(leeway: Int64, jitter: Int64, interval: Int64, new: Int64?, left: Int64, random: Int64)] = [
    (40, 80, 200, nil, 40, 80), (40, 80, 50, nil, 40, 50), (40, 80, 41, nil, 40, 41), (40, 80, 40, nil, 39, 40),
    (40, 80, 1, nil, 0, 1), (40, 80, 30, 5, 5, 30), (40, 0, 30, nil, 29, 0), (0, 100, 99, nil, 0, 99),
  ]

  @Test(arguments: rows) func aNewIntervalShortensWhatDoesNotFitAndLeavesTheRest(
    row: (leeway: Int64, jitter: Int64, interval: Int64, new: Int64?, left: Int64, random: Int64)
  ) throws {
    let core = try QueueCore.makeForTest()
    defer { core.release() }
    let timer = try #require(TimerRef(try core.makeTimer()))
    let schedule = Schedule(
      first: 7, interval: 100, leeway: row.leeway, jitter: row.jitter, tickLimit: 60, resumePolicy: .remaining)
    #expect(timer.activate(schedule) == .ok)
    #expect(QueueCore.advance(core.id, to: 1000) == .ok)
    #expect(timer.reschedule(interval: row.interval, leeway: row.new) == .ok)
    let now = try #require(timer.snapshot)
    #expect((now.interval, now.leeway, now.jitter, now.tickLimit) == (row.interval, row.left, row.random, 60))
    #expect(now.flags.contains(.keepsRemaining) && !now.flags.contains(.delayPolicy))
    var parts: Set<Int64> = []
    while let now = timer.snapshot, now.dueCount < 50 {
      // Two of them may be due at once.
      parts.insert(now.nextDeadline - 1000 - Int64(now.dueCount + 1) * row.interval)
      #expect(QueueCore.advance(core.id, to: now.nextDeadline) == .ok)
    }
    #expect(parts.allSatisfy { (0...row.random).contains($0) } && (parts.count > 1) == (row.random > 0))
  }
}
