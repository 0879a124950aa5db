import ChimeTestSupport
import Testing

@testable import Chime
@testable import ChimeCore

/// Where in its leeway a timer is placed, against the definition tried power by power.
@Suite struct PlacementTests {
  /// The first multiple of g at or after the deadline, g the largest power of two that has one inside the leeway. The
  /// end of time is never: no window reaches it. A deadline that passed before the clock began stays where it is.
  static func definition(_ deadline: Int64, _ leeway: Int64) -> Int64 {
    if deadline <= 0 { return deadline }
    let latest = min(Int128(deadline) + Int128(leeway), Int128(Int64.max) - 1)
    for power in stride(from: 62, through: 0, by: -1) {
      let g = Int128(1) << Int128(power)
      let multiple = (Int128(deadline) + g - 1) / g * g
      if multiple <= latest { return Int64(multiple) }
    }
    return deadline
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
