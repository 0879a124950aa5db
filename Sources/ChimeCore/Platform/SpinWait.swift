internal import CPlatform

/// Waits for another thread to finish a few instructions: spins, then yields, then sleeps, so that a real-time thread
/// does not spin for ever while the thread it waits for cannot run on its processor.
struct SpinWait {
  private var rounds = 0
  static var roundsWithoutSleep: Int { 63 }

  mutating func pause() {
    rounds += 1
    if rounds >= 32 { SpinWait.rest(after: rounds) }
  }

  /// Spins once. False when it has spun for longer than any change of a timer takes: the other thread has probably lost its
  /// processor.
  @inline(never)
  mutating func spin() -> Bool {
    rounds += 1
    chime_pause()
    return rounds < Tunables.spinsForWriter
  }

  // A function of its own, so that callers, who hardly ever wait, inline no more than a count.
  @inline(never)
  private static func rest(after rounds: Int) {
    if rounds <= SpinWait.roundsWithoutSleep {
      chime_yield()
    } else {
      withoutCancellation { chime_rest(50) }
    }
  }
}
