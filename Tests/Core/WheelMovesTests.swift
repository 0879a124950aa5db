import Dispatch
import ChimeTestSupport
import Testing

@testable import Chime
@testable import ChimeCore

/// A wheel that is looked at while another thread moves one of its timers to and fro, past both ends of the bucket that
/// it stands in: what is read of the timer at one moment is not so at the next.
@Suite struct WheelMovesTests {
  /// On a level whose buckets are tidied whole by a look at the front; the other two on levels below and above.
  static let inside = Int64(1) << 40
  static let early = Int64(1) << 20
  static let late = Int64(1) << 45
  static let rounds = 100_000

  /// Runs `body` while another thread moves the slot's deadline.
  private func moving(_ slot: TimerSlot, _ body: () -> Void) {
    let over = Counter()
    let (begun, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    DispatchQueue.global().async {
      begun.signal()
      while over.value == 0 {
        slot.deadline = Self.late
        slot.deadline = Self.early
      }
      ended.signal()
    }
    begun.wait()
    body()
    over.add(1)
    ended.wait()
  }

  /// The mark says that an entry was met; where it stays, the next tidying takes the timer's only entry for a second one,
  /// and drops it.
  @Test func noMarkStaysOnTheTimerThatMovesWhileItsBucketIsTidied() throws {
    let bench = try WheelBench(timers: 1)
    bench.place(0, at: Self.inside)
    let slot = bench.rows[0].slot
    var marked: Int?
    moving(slot) {
      for round in 0..<Self.rounds where marked == nil {
        bench.wheel.place(slot, deadline: Self.inside, leeway: CompactDuration(0))
        _ = bench.wheel.earliest()
        if Slab.position(of: slot.index).isMarked { marked = round }
      }
    }
    #expect(marked == nil)
  }

  /// The front is where the pass is woken next: one that is later than a position that was just given loses that tick.
  @Test func theFrontIsNotBehindTheTimerThatMovesBeforeIt() throws {
    let bench = try WheelBench(timers: 2)
    let other = Self.inside + 1000
    bench.place(0, at: Self.inside)
    bench.place(1, at: other)
    let slot = bench.rows[0].slot
    var behind: (front: Int64?, position: UInt64)?
    moving(slot) {
      for _ in 0..<Self.rounds where behind == nil {
        bench.wheel.place(slot, deadline: Self.inside, leeway: CompactDuration(0))
        let front = bench.wheel.earliest()
        if let position = Slab.position(of: slot.index).tick, bench.wheel.time(of: position) < front ?? .max {
          behind = (front, position)
        }
      }
    }
    #expect(behind == nil)
  }
}
