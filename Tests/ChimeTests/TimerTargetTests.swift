import Testing

@testable import Chime
@testable import ChimeCore

/// Weak targets, as far as chime.h cannot show them; the rest is in the C suite.
@Suite struct TimerTargetTests {
  @Test func aTargetForgetsTheTimersThatAreFreed() throws {
    let core = try QueueCore.makeForTest()
    defer { core.release() }
    var object = 0
    try withUnsafeMutablePointer(to: &object) { pointer in
      let id = try unsafe TimerTarget.make(Context(UnsafeMutableRawPointer(pointer)), nil).get()
      let target = try TimerTarget.find(id).get()
      let options = TimerOptions(handler: TickFunction { _, _ in }, target: id)
      for _ in 0..<1000 {
        var timer: UInt64 = 0
        #expect(unsafe TimerRef.create(on: core.id, options, nil, out: &timer) == .ok)
        #expect(target.timerCount == 1)
        #expect(TimerRef.release(timer) == .ok)
        #expect(target.timerCount == 0)
      }
      #expect(TimerTarget.release(id) == .ok)
    }
  }

  @Test func aReleasedTargetIsGone() throws {
    var object = 0
    try withUnsafeMutablePointer(to: &object) { pointer in
      let id = try unsafe TimerTarget.make(Context(UnsafeMutableRawPointer(pointer)), nil).get()
      let target = try TimerTarget.find(id).get()
      #expect(!target.isGone && target.hold())
      #expect(TimerTarget.release(id) == .ok)
      #expect(target.isGone && !target.hold())
      #expect(throws: Status.targetGone) { try TimerTarget.find(id).get() }
      target.letGo()
    }
  }
}
