import ChimeTestSupport
import Testing

@testable import Chime

/// The tick that nobody has taken yet: what calls it off, and what does not.
@Suite struct DueTickTests {
  /// The newest of that generation.
  private func tick(_ generation: UInt64) throws -> ChimeTimer.Tick {
    let (queue, ticks) = (try VirtualTimerQueue(), Log<ChimeTimer.Tick>())
    let timer = try queue.schedule(after: .zero) { tick in ticks.add(tick) }
    try queue.advanceTimers(by: .zero)
    var tick = try #require(ticks.all.first)
    withExtendedLifetime(timer) { tick.generation = generation }
    return tick
  }

  /// A restart changes the generation, then calls off what was due before: the new one's tick may come in between.
  @Test func whatTheChangeItselfHasBroughtStays() throws {
    var due = DueTick()
    #expect(try due.put(tick(4)))
    #expect(try due.put(tick(5)) && due.waiting?.missed == 0)
    #expect(!due.drop(5, keepsCurrent: true) && due.waiting?.generation == 5)
    #expect(try due.put(tick(4)) && due.waiting?.generation == 5)
    #expect(due.drop(6, keepsCurrent: true) && due.waiting == nil)
    #expect(try !due.put(tick(5)))
  }

  /// A cancel of a timer that has finished changes no generation.
  @Test func atRestTheLastTickIsCalledOff() throws {
    var due = DueTick()
    #expect(try due.put(tick(5)))
    #expect(due.drop(5, keepsCurrent: false) && due.waiting == nil)
  }

  @Test func whatALaterSuspensionHoldsBackStays() throws {
    var due = DueTick()
    #expect(try due.put(tick(5)))
    #expect(due.suspend(6, isAccepted: true) && due.isHeld)
    #expect(!due.drop(6, keepsCurrent: true) && due.isHeld)
    #expect(due.drop(7, keepsCurrent: true) && !due.isHeld)
  }
}
