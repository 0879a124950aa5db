import CChime
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The real virtual queue against the model. `CHIME_SEED` runs one seed only, `CHIME_STEPS` changes the steps of each.
@Suite struct RandomModelTests {
  static let seeds: [UInt64] = setting("CHIME_SEED").map { [$0] } ?? [1, 2, 3, 4]
  static let steps = Int(setting("CHIME_STEPS") ?? 100_000)

  @Test(
    .tags(
      .promise1AnyOrder, .promise3NeverEarly, .promise4NoDrift, .promise5NoStorm, .promise7NoStaleTick,
      .promise8OneFinalizer, .promise9Handlers, .promise10StaleIds, .promise12Order),
    arguments: seeds)
  func theQueueDoesWhatTheModelSays(seed: UInt64) {
    let difference = Lockstep(seed: seed).run(steps: Self.steps)
    if let difference { Issue.record("\(difference)") }
  }

  static func setting(_ name: String) -> UInt64? {
    getenv(name).flatMap { UInt64(String(cString: $0)) }
  }
}
