import CChime
import Chime
import ChimeCore
import Testing

/// The core writes ticks, statuses and states that C reads as `chime.h` says: layout and numbers are the same.
@Suite struct LayoutTests {
  private typealias S = MemoryLayout<TickRecord>
  private typealias C = MemoryLayout<chime_tick>

  @Test func aTickIsWrittenWhereCReadsIt() {
    #expect(S.size == C.size && S.stride == C.stride && S.alignment == C.alignment)
    expectTheSame([
      (S.offset(of: \.timer), C.offset(of: \.timer)), (S.offset(of: \.generation), C.offset(of: \.generation)),
      (S.offset(of: \.sequence), C.offset(of: \.sequence)), (S.offset(of: \.missed), C.offset(of: \.missed)),
      (S.offset(of: \.scheduled), C.offset(of: \.scheduled_ns)), (S.offset(of: \.actual), C.offset(of: \.actual_ns)),
      (S.offset(of: \.context), C.offset(of: \.context)), (S.offset(of: \.target), C.offset(of: \.target)),
      (S.offset(of: \.kind), C.offset(of: \.kind)), (S.offset(of: \.reserved), C.offset(of: \.reserved)),
    ])
  }

  private func expectTheSame(_ offsets: [(swift: Int?, c: Int?)]) {
    for (swift, c) in offsets { #expect(swift != nil && swift == c) }
    #expect(Set(offsets.map(\.c)).count == offsets.count)
  }

  private typealias Plan = MemoryLayout<Schedule>
  private typealias CPlan = MemoryLayout<chime_schedule>
  private typealias Options = MemoryLayout<TimerOptions>
  private typealias COptions = MemoryLayout<chime_timer_options>

  @Test func aScheduleIsReadInPlaceFromC() {
    #expect(Plan.size == CPlan.size && Plan.alignment == CPlan.alignment)
    let plan = Schedule(
      first: 1, firstIsDeadline: true, interval: 2, leeway: 3, jitter: 5, tickLimit: 4, missedPolicy: .delay,
      resumePolicy: .remaining)
    let c = unsafeBitCast(plan, to: chime_schedule.self)
    #expect(c.size == UInt32(CPlan.size) && c.flags == UInt32(CHIME_SCHEDULE_DEADLINE))
    #expect(c.first_ns == 1 && c.interval_ns == 2 && c.leeway_ns == 3 && c.tick_limit == 4 && c.jitter_ns == 5)
    #expect(c.missed_policy == CHIME_MISSED_DELAY && c.resume_policy == CHIME_RESUME_REMAINING)
  }

  @Test func timerOptionsAreReadInPlaceFromC() {
    #expect(Options.size == COptions.size && Options.alignment == COptions.alignment)
    expectTheSame([
      (Options.offset(of: \.size), COptions.offset(of: \.size)),
      (Options.offset(of: \.flags), COptions.offset(of: \.flags)),
      (Options.offset(of: \.handler), COptions.offset(of: \.handler)),
      (Options.offset(of: \.registrationHandler), COptions.offset(of: \.registration_handler)),
      (Options.offset(of: \.cancelHandler), COptions.offset(of: \.cancel_handler)),
      (Options.offset(of: \.context), COptions.offset(of: \.context)),
      (Options.offset(of: \.finalizer), COptions.offset(of: \.finalizer)),
      (Options.offset(of: \.label), COptions.offset(of: \.label)),
      (Options.offset(of: \.target), COptions.offset(of: \.target)),
    ])
    let options = TimerOptions(handler: .record, flags: .selfRelease)
    #expect(options.size == UInt32(COptions.size) && options.flags.rawValue == UInt32(CHIME_TIMER_SELF_RELEASE))
  }

  static let statuses: [(status: Status, c: Int)] = [
    (.ok, CHIME_OK), (.ignored, CHIME_IGNORED), (.running, CHIME_RUNNING), (.stopped, CHIME_STOPPED),
    (.timedOut, CHIME_TIMED_OUT), (.invalidArgument, CHIME_ERROR_INVALID_ARGUMENT),
    (.invalidHandle, CHIME_ERROR_INVALID_HANDLE), (.limit, CHIME_ERROR_LIMIT), (.noMemory, CHIME_ERROR_NO_MEMORY),
    (.wouldDeadlock, CHIME_ERROR_WOULD_DEADLOCK), (.busy, CHIME_ERROR_BUSY), (.wrongThread, CHIME_ERROR_WRONG_THREAD),
    (.targetGone, CHIME_ERROR_TARGET_GONE), (.shutDown, CHIME_ERROR_SHUT_DOWN),
    (.unsupported, CHIME_ERROR_UNSUPPORTED), (.permission, CHIME_ERROR_PERMISSION), (.resource, CHIME_ERROR_RESOURCE),
    (.forked, CHIME_ERROR_FORKED),
  ]

  @Test func eachStatusHasItsNumberAndIsAnErrorInSwiftOrAnOutcome() {
    for (status, c) in Self.statuses {
      #expect(Int(status.rawValue) == c && status.isFailure == (c < 0))
      if c == CHIME_STOPPED { continue }
      do throws(ChimeError) {
        let outcomes: [ChimeTimer.Outcome: Status] = [
          .done: .ok, .ignored: .ignored, .running: .running, .timedOut: .timedOut,
        ]
        let outcome = try status.outcome()
        #expect(c >= 0 && outcomes[outcome] == status)
      } catch {
        let name = String(cString: chime_status_name(chime_status(c))).dropFirst("CHIME_ERROR_".count)
        #expect(c < 0 && "\(error.code)".uppercased() == name.filter { $0 != "_" })
      }
    }
    let known = (-1000...1000).filter { String(cString: chime_status_name(chime_status($0))) != "CHIME_UNKNOWN" }
    #expect(Set(known) == Set(Self.statuses.map(\.c)), "the header has no status that Swift lacks")
  }

  @Test func eachStateAndKindOfTickHasItsNumber() {
    let states = [
      CHIME_STATE_IDLE, CHIME_STATE_RUNNING, CHIME_STATE_SUSPENDED, CHIME_STATE_FINISHED, CHIME_STATE_CANCELLED,
    ]
    #expect([TimerState.idle, .running, .suspended, .finished, .cancelled].map { Int($0.rawValue) } == states)
    #expect(TimerState.allCases.count == states.count)
    let kinds = [CHIME_TICK_DUE, CHIME_TICK_FIRED, CHIME_TICK_ARMED, CHIME_TICK_CANCELLED]
    #expect([TickKind.due, .fired, .armed, .cancelled].map { Int($0.rawValue) } == kinds)
  }
}
