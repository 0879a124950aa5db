import ChimeTestSupport
import Testing

@testable import Chime
@testable import ChimeCore

/// Where in its leeway a timer is placed, against the definition tried unit by unit.
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
}
