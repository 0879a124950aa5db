import CChime
import Chime
import ChimeC
import ChimeCore
import Testing

/// What the core and C read and write in one place has one layout. (That each member and number means the same: the C suite,
/// which uses all of them.)
@Suite struct LayoutTests {
  @Test func structuresHaveTheSizesThatCGivesThem() {
    func isTheSame<A, B>(_ a: A.Type, _ b: B.Type) -> Bool {
      MemoryLayout<A>.size == MemoryLayout<B>.size && MemoryLayout<A>.alignment == MemoryLayout<B>.alignment
    }
    #expect(isTheSame(CoreTick.self, chime_tick.self))
    #expect(isTheSame(Schedule.self, chime_schedule.self))
    #expect(isTheSame(TimerOptions.self, chime_timer_options.self))
  }

  /// Whole, since the sizes that Swift writes into it are not C's to try.
  @Test func aScheduleIsReadInPlaceFromC() {
    let plan = Schedule(
      first: 1, firstIsDeadline: true, interval: 2, leeway: 3, jitter: 5, tickLimit: 4, missedPolicy: .delay,
      resumePolicy: .remaining)
    let c = unsafeBitCast(plan, to: chime_schedule.self)
    #expect(c.size == UInt32(MemoryLayout<chime_schedule>.size) && c.flags == UInt32(CHIME_SCHEDULE_DEADLINE))
    #expect(c.first_ns == 1 && c.interval_ns == 2 && c.leeway_ns == 3 && c.tick_limit == 4 && c.jitter_ns == 5)
    #expect(c.missed_policy == CHIME_MISSED_DELAY && c.resume_policy == CHIME_RESUME_REMAINING)
    let options = TimerOptions(handler: .record, flags: .selfRelease)
    #expect(options.size == UInt32(MemoryLayout<chime_timer_options>.size))
  }

  /// A structure that grew from 16 to 24 bytes, passed by a program that knows 16, and by one of a version after the
  /// library's that knows 32.
  @Test func anOlderAndANewerCallerPassAndReceiveWhatBothKnow() {
    struct Structure { var size: UInt32 = 0, flags: UInt32 = 7, first = 1, grown = 2 }
    func passed(_ words: [Int]) -> Structure? {
      words.withUnsafeBytes {
        try? Arguments.structure($0.assumingMemoryBound(to: Structure.self).baseAddress!, "size", first: 16)
      }
    }
    func received(_ size: Int, beyond: Int = -1) -> (Status, [Int]) {
      var words = [size, -1, -1, beyond]
      let status = words.withUnsafeMutableBytes {
        Arguments.fill(
          $0.assumingMemoryBound(to: Structure.self).baseAddress, "info", "size", first: 16, unknown: .invalidHandle
        ) { Structure() }
      }
      return (status, words)
    }
    let older = passed([16, 5, -1]), newer = passed([32, 5, 6, 0])
    #expect(older?.first == 5 && older?.grown == 0)
    #expect(newer?.first == 5 && newer?.grown == 6)
    #expect(passed([32, 5, 6, 1]) == nil && passed([8, 5, 6, 0]) == nil && passed([20, 5, 6, 0]) == nil)
    #expect(received(16) == (.ok, [16 | 7 << 32, 1, -1, -1]))
    #expect(received(24) == (.ok, [24 | 7 << 32, 1, 2, -1]))
    #expect(received(32, beyond: 0) == (.ok, [32 | 7 << 32, 1, 2, 0]))
    #expect(received(32).0 == .invalidArgument)
    #expect(received(8) == (.invalidArgument, [8, -1, -1, -1]))
  }

  /// Trace files print the names that C has.
  @Test func kindsOfEventsHaveTheNumbersThatCGivesThem() {
    func name(_ kind: UInt32) -> String { String(cString: chime_tick_kind_name(kind)) }
    for kind in TickKind.allCases { #expect(name(kind.rawValue) == "CHIME_TICK_\(kind)".uppercased()) }
    for event in Trace.Event.allCases { #expect(name(event.rawValue) == "CHIME_TRACE_\(event)".uppercased()) }
    let known = TickKind.allCases.count + Trace.Event.allCases.count
    #expect((0...1000).filter { name($0) != "CHIME_UNKNOWN" }.count == known)
  }

  @Test func eachStatusIsAnErrorInSwiftOrAnOutcome() {
    let outcomes: [Int: ChimeTimer.Outcome] = [
      CHIME_OK: .done, CHIME_IGNORED: .ignored, CHIME_RUNNING: .running, CHIME_IGNORED | CHIME_RUNNING: .ignoredRunning,
      CHIME_TIMED_OUT: .timedOut, CHIME_ERROR_TIMED_OUT: .timedOut,
    ]
    for number in -1000...1000 where number != CHIME_STOPPED {
      let name = String(cString: chime_status_name(chime_status(number)))
      if name == "CHIME_UNKNOWN" { continue }
      do throws(ChimeError) {
        #expect(try Status(rawValue: Int32(number)).outcome() == outcomes[number])
      } catch {
        // One code for a queue that has ended, whatever shows it.
        let hasEnded = name == "CHIME_ERROR_INVALID_HANDLE" || name == "CHIME_ERROR_TARGET_GONE"
        // Swift cannot begin anew in a forked child.
        let isForked = name == "CHIME_ERROR_FORKED"
        let kind = hasEnded ? "CHIME_ERROR_SHUT_DOWN" : isForked ? "CHIME_ERROR_UNSUPPORTED" : name
        let code = kind.filter { $0 != "_" }
        #expect(outcomes[number] == nil && "CHIMEERROR\(error.code)".uppercased() == code)
      }
    }
  }
}
