import Chime
import ChimeRunLoop
import Foundation

/// Target and action, on the run loop of the thread that starts it.
final class Player {
  private(set) var plays = 0
  private var timer: WeakTimer?

  func start() throws {
    timer = try WeakTimer.scheduledTimer(timeInterval: 0.001, target: self, userInfo: "song", repeats: true) {
      (player: Player, timer: WeakTimer) in player.play(timer.userInfo as? String)
    }
  }

  private func play(_ what: String?) {
    if what == "song" { plays += 1 }
  }
}

enum LoopThread {
  /// Runs a player on a thread of its own; gives how often it played, and whether its timer let it go.
  static func play() async throws -> (plays: Int, isGone: Bool) {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try playHere() }) }
    }
  }

  private static func playHere() throws -> (plays: Int, isGone: Bool) {
    var player: Player? = Player()
    try player?.start()
    let end = Date(timeIntervalSinceNow: 30)
    while player?.plays ?? 0 < 3, Date() < end {
      _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.002))
    }
    let plays = player?.plays ?? 0
    weak let gone = player
    player = nil
    return (plays, gone == nil)
  }
}

extension Checks {
  static func runLoops() async throws {
    let (plays, isGone) = try await LoopThread.play()
    expect(plays >= 3, "the action is called")
    expect(isGone, "the timer does not keep its target")
  }
}
