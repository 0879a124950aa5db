/// What a call of the core returns: the numbers of `chime_status` in `chime.h`, so that the C interface passes them on
/// as they are. Negative is failure, and then nothing has changed. What is no failure is a set of bits.
///
/// A call that has nothing to give returns its status. One that gives a value throws the status instead of the value.
/// There is no third way.
@frozen package struct Status: RawRepresentable, Equatable, Error {
  package let rawValue: Int32

  @inlinable
  package init(rawValue: Int32) { self.rawValue = rawValue }

  @inlinable package var isFailure: Bool { rawValue < 0 }

  /// Whether a callback that had started has not returned. No failure has that bit.
  @inlinable package var isRunning: Bool { rawValue & Status.running.rawValue != 0 }

  /// What the body returns or throws.
  package static func of(_ body: () throws(Status) -> Status) -> Status {
    do { return try body() } catch { return error }
  }

  /// Throws it, unless it is `ok`.
  package func orThrow() throws(Status) { if self != .ok { throw self } }

  @inlinable package static var ok: Status { Status(rawValue: 0) }
  @inlinable package static var ignored: Status { Status(rawValue: 1) }
  @inlinable package static var running: Status { Status(rawValue: 2) }
  @inlinable package static var ignoredRunning: Status { Status(rawValue: 1 | 2) }
  @inlinable package static var stopped: Status { Status(rawValue: 4) }
  /// A run's time is over.
  @inlinable package static var timeIsOver: Status { Status(rawValue: 8) }
  @inlinable package static var invalidArgument: Status { Status(rawValue: -16) }
  @inlinable package static var invalidHandle: Status { Status(rawValue: -32) }
  @inlinable package static var limit: Status { Status(rawValue: -48) }
  @inlinable package static var noMemory: Status { Status(rawValue: -64) }
  @inlinable package static var wouldDeadlock: Status { Status(rawValue: -80) }
  @inlinable package static var busy: Status { Status(rawValue: -96) }
  @inlinable package static var wrongThread: Status { Status(rawValue: -112) }
  @inlinable package static var targetGone: Status { Status(rawValue: -128) }
  @inlinable package static var shutDown: Status { Status(rawValue: -144) }
  @inlinable package static var unsupported: Status { Status(rawValue: -160) }
  @inlinable package static var permission: Status { Status(rawValue: -176) }
  @inlinable package static var resource: Status { Status(rawValue: -192) }
  @inlinable package static var forked: Status { Status(rawValue: -208) }
  /// What a call waited for had not happened when its timeout ended.
  @inlinable package static var timedOut: Status { Status(rawValue: -224) }
}
