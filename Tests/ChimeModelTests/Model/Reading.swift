/// One way to read what DESIGN.md and SEMANTICS.md leave open. The model starts with all of them, drops each that the
/// queue contradicts, and reports a difference when none is left: the queue may choose, but must keep to its choice.
struct Reading: Hashable {
  /// A tick that stands for several due times is scheduled at the first of them; otherwise at the last.
  var scheduledAtFirst = false
  /// Such a tick takes its turn in the pass by its first due time; otherwise by its last.
  var orderedByFirst = false
  /// What is missed is counted up to the reading of the pass; otherwise up to the start of the tick. They differ when
  /// an earlier handler of the pass jumped.
  var missedUpToPass = false
  /// A restart, reschedule or resume of a timer that was running or suspended gives it a new place in the order of
  /// activation.
  var restartReorders = false
  var rescheduleReorders = false
  var resumeReorders = false

  static func text(_ readings: [Reading]) -> String {
    func text(_ flag: KeyPath<Reading, Bool>, _ name: String) -> String {
      let values = Set(readings.map { $0[keyPath: flag] })
      return "\(name): \(values.count > 1 ? "open" : values.first! ? "yes" : "no")"
    }
    return [
      text(\.scheduledAtFirst, "scheduled at first"), text(\.orderedByFirst, "ordered by first"),
      text(\.missedUpToPass, "missed up to pass"), text(\.restartReorders, "restart reorders"),
      text(\.rescheduleReorders, "reschedule reorders"), text(\.resumeReorders, "resume reorders"),
    ].joined(separator: ", ")
  }

  static let all: [Reading] = {
    let flags: [WritableKeyPath<Reading, Bool>] = [
      \.scheduledAtFirst, \.orderedByFirst, \.missedUpToPass, \.restartReorders, \.rescheduleReorders, \.resumeReorders,
    ]
    return flags.reduce([Reading()]) { readings, flag in
      readings.flatMap { reading in
        var other = reading
        other[keyPath: flag] = true
        return [reading, other]
      }
    }
  }()
}

/// The places that a timer's calls would give it in the order of activation.
struct ActivationOrder {
  var activated: Int?
  var restarted: Int?
  var rescheduled: Int?
  var resumed: Int?

  /// `nil`: never activated, so that its order among equals is open.
  func place(in reading: Reading) -> Int? {
    guard let activated else { return nil }
    return max(
      activated, reading.restartReorders ? restarted ?? 0 : 0, reading.rescheduleReorders ? rescheduled ?? 0 : 0,
      reading.resumeReorders ? resumed ?? 0 : 0)
  }
}
