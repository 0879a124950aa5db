import CModel
import Foundation
import Testing

/// The virtual queue beside the C model of `Tests/Model`: random inputs from a seed.
///
/// `CHIME_SEED` tries one seed only, `CHIME_STEPS` changes the calls of each. A red names the input, for
/// `make -C Tests/Model one`.
@Suite(.serialized) struct ModelTests {
  static let seeds: [UInt64] = setting("CHIME_SEED").map { [$0] } ?? [1, 2]
  static let calls = Int64(setting("CHIME_STEPS") ?? 20_000)

  @Test(arguments: seeds) func theQueueDoesWhatTheModelSays(seed: UInt64) async {
    // On a thread of its own: it takes seconds, and Swift has as many threads as processors.
    let difference = await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        var message = [CChar](repeating: 0, count: 2000)
        let differs = chime_model_run(seed, 0, Self.calls, &message, message.count) != 0
        let text = String(decoding: message.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        continuation.resume(returning: differs ? text : nil)
      }
    }
    #expect(difference == nil, "seed \(seed)")
  }

  static func setting(_ name: String) -> UInt64? { ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) } }
}
