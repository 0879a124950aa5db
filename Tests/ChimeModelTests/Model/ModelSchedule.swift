import CChime

/// A schedule that the interface must accept, in plain words; `nil` for one that it must refuse.
struct ModelSchedule {
  enum MissedPolicy { case coalesce, delay }
  enum ResumePolicy { case coalesce, remaining }

  let isDeadline: Bool
  let first: Int64
  let interval: Int64
  let leeway: Int64
  let limit: UInt64?
  let missed: MissedPolicy
  let resume: ResumePolicy

  init?(_ c: chime_schedule) {
    guard c.size == MemoryLayout<chime_schedule>.size else { return nil }
    guard c.flags & ~UInt32(CHIME_SCHEDULE_DEADLINE) == 0 else { return nil }
    isDeadline = c.flags != 0
    guard isDeadline || c.first_ns >= 0, c.interval_ns >= 0, c.leeway_ns >= 0 else { return nil }
    guard c.interval_ns == 0 || c.leeway_ns < c.interval_ns else { return nil }
    switch Int(c.missed_policy) {
    case CHIME_MISSED_COALESCE: missed = .coalesce
    case CHIME_MISSED_DELAY: missed = .delay
    default: return nil
    }
    switch Int(c.resume_policy) {
    case CHIME_RESUME_COALESCE: resume = .coalesce
    case CHIME_RESUME_REMAINING: resume = .remaining
    default: return nil
    }
    if isDeadline, resume == .remaining { return nil }
    first = c.first_ns
    interval = c.interval_ns
    leeway = c.leeway_ns
    limit = c.tick_limit == 0 ? nil : c.tick_limit
  }

  /// A repeating timer on a grid is the only one that can miss anything.
  var hasGrid: Bool { interval > 0 && missed == .coalesce }

  func firstDeadline(now: Int64) -> Int64 { isDeadline ? first : saturatingSum(now, first) }
}

func saturatingSum(_ a: Int64, _ b: Int64) -> Int64 { Int64(clamping: Int128(a) + Int128(b)) }
