import CChime
import Chime
import ChimeCore
import Testing

/// What the core and C read and write in one place has one layout. (That each member and number means the same: the C suite,
/// which uses all of them.)
@Suite struct LayoutTests {
  @Test func structuresHaveTheSizesThatCGivesThem() {
    func isTheSame<A, B>(_ a: A.Type, _ b: B.Type) -> Bool {
      MemoryLayout<A>.size == MemoryLayout<B>.size && MemoryLayout<A>.alignment == MemoryLayout<B>.alignment
    }
    #expect(isTheSame(TickRecord.self, chime_tick.self))
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

  @Test func eachStatusIsAnErrorInSwiftOrAnOutcome() {
    let outcomes: [Int: ChimeTimer.Outcome] = [
      CHIME_OK: .done, CHIME_IGNORED: .ignored, CHIME_RUNNING: .running, CHIME_TIMED_OUT: .timedOut,
    ]
    for number in -1000...1000 where number != CHIME_STOPPED {
      let name = String(cString: chime_status_name(chime_status(number)))
      if name == "CHIME_UNKNOWN" { continue }
      do throws(ChimeError) {
        #expect(try Status(rawValue: Int32(number)).outcome() == outcomes[number] && number >= 0)
      } catch {
        #expect(number < 0 && "CHIMEERROR\(error.code)".uppercased() == name.filter { $0 != "_" })
      }
    }
  }
}
