import Chime
import Dispatch
import ChimeTestSupport
import Foundation
import Testing

@Suite("Precise timing", .serialized) struct PreciseTiming {
  @Test(.tags(.promise3NeverEarly, .promise4NoDrift)) func itWaitsForAbsoluteTimesOnAThreadOfItsOwn() async throws {
    let queue = try PreciseTimerQueue(label: "precise")
    let ticks = Log<Tick>()
    let start = queue.now + 2_000_000
    let timer = try queue.at(deadline: start, every: .milliseconds(1)) { ticks.add($0) }
    #expect(await soon { ticks.count >= 10 })
    try timer.cancel()
    for tick in ticks.all {
      #expect(tick.actual >= tick.scheduled && (tick.scheduled - start) % 1_000_000 == 0)
    }
  }

  /// `mach_wait_until`
  @Test(.tags(.promise3NeverEarly)) func aTaskWaitsUntilAnAbsoluteTime() async throws {
    let clock = TimerQueueClock(try PreciseTimerQueue())
    let deadline = clock.now.advanced(by: .milliseconds(3))
    try await clock.sleep(until: deadline)
    #expect(clock.now >= deadline)
  }

  /// A real-time priority is there or it is an error: never the usual scheduling instead.
  @Test func withoutThePermissionThereIsAnErrorAndNoQueue() async throws {
    try await onAThread {
      guard Self.giveUpScheduling() else { return }
      #expect(throws: ChimeError.permission) { try PreciseTimerQueue(realtimePriority: 10) }
      // Asked for nothing, it works.
      let queue = try PreciseTimerQueue()
      let ran = DispatchSemaphore(value: 0)
      try queue.once(after: .zero) { ran.signal() }
      #expect(ran.wait(timeout: .now() + patience) == .success)
    }
  }

  @Test func withThePermissionTheThreadHasThatPriority() async throws {
    let queue: PreciseTimerQueue
    do {
      queue = try PreciseTimerQueue(realtimePriority: 10)
    } catch {
      #expect(error == .permission)
      return
    }
    let seen = Log<[Int32]>()
    try queue.once(after: .zero) {
      var policy: Int32 = 0
      var parameters = sched_param()
      _ = unsafe pthread_getschedparam(pthread_self(), &policy, &parameters)
      seen.add([policy, parameters.sched_priority])
    }
    #expect(await soon { seen.count == 1 })
    #expect(seen.all == [[SCHED_FIFO, 10]])
  }

  @Test func aPriorityThatDoesNotExistIsRefused() {
    #expect(throws: ChimeError.invalidArgument) { try PreciseTimerQueue(realtimePriority: 0) }
    #expect(throws: ChimeError.invalidArgument) { try PreciseTimerQueue(realtimePriority: 100) }
  }

  /// Takes CAP_SYS_NICE from the calling thread and those that it makes. False if they keep the right all the same,
  /// by a limit on real-time priority.
  private static func giveUpScheduling() -> Bool {
    var limit = rlimit()
    let realtimePriority = __rlimit_resource_t(14)  // RLIMIT_RTPRIO
    guard unsafe getrlimit(realtimePriority, &limit) == 0, limit.rlim_cur == 0 else { return false }
    typealias Call = @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Int32
    // SAFETY: glibc has the system calls by these names; <sys/capability.h>, which declares them, is another package's.
    guard let get = unsafe dlsym(nil, "capget"), let set = unsafe dlsym(nil, "capset") else { return false }
    let (capget, capset) = unsafe (unsafeBitCast(get, to: Call.self), unsafeBitCast(set, to: Call.self))
    var header: [UInt32] = [0x2008_0522, 0]  // version 3, this thread
    var sets = [UInt32](repeating: 0, count: 6)  // effective, permitted, inheritable; then the upper halves
    guard unsafe capget(&header, &sets) == 0 else { return false }
    sets[0] &= ~(1 << 23)
    return unsafe capset(&header, &sets) == 0
  }
}
