/// A machine's source: the verbs of a dispatch timer source and their rules. It starts inactive, is activated once, is
/// resumed only after a `suspend`, and is last released only when it is activated, not suspended, and cancelled. The
/// machine makes the calls one at a time, with its lock held.
package protocol MachineTimer: AnyObject, Sendable {
  /// Replaces the schedule. The deadline is not 0, and `Int64.max` disarms; an interval of `Int64.max` is none.
  func schedule(deadline: Int64, interval: Int64, leeway: Int64)
  /// Called once, before `activate`.
  func setEventHandler(_ handler: @escaping @Sendable () -> Void)
  func activate()
  func suspend()
  func resume()
  func cancel()
}

/// Makes a machine's sources and knows where their handlers run. Called with the machine's lock held.
package protocol MachineTimerFactory: AnyObject, Sendable {
  func makeTimer() -> any MachineTimer
  /// Runs a closure where handlers run, later.
  func submit(_ body: @escaping @Sendable () -> Void)
  /// The clock that deadlines are on.
  var now: Int64 { get }
}
