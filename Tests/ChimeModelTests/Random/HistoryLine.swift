import CChime

/// One line of what happened in a step, kept as data: it becomes text only when a difference is reported.
enum HistoryLine: CustomStringConvertible {
  case call(Operation, depth: Int)
  case status(chime_status, depth: Int)
  case tick(Int, chime_tick, depth: Int)
  case finalizer(Int, depth: Int)

  var description: String {
    switch self {
    case .call(let operation, let depth): indent(depth) + "\(operation)"
    case .status(let status, let depth): indent(depth) + "= \(name(of: status))"
    case .tick(let timer, let tick, let depth): indent(depth) + "  timer \(timer) \(Self.text(tick))"
    case .finalizer(let timer, let depth): indent(depth) + "  timer \(timer) finalizer"
    }
  }

  private func indent(_ depth: Int) -> String { String(repeating: "    ", count: max(0, depth - 1)) }

  static func text(_ tick: chime_tick) -> String {
    let kind = ["DUE", "FIRED", "ARMED", "CANCELLED"][max(0, min(3, Int(tick.kind)))]
    return "\(kind) #\(tick.sequence) missed \(tick.missed) scheduled \(tick.scheduled_ns) actual \(tick.actual_ns)"
      + " generation \(tick.generation)"
  }
}
