/// What a call of the core returns: the numbers of `chime_status` in `chime.h`, so that the C interface passes them on
/// as they are. Negative is failure, and then nothing has changed.
///
/// A call that has nothing to give returns its status. One that gives a value throws the status instead of the value.
/// There is no third way.
@frozen package struct Status: RawRepresentable, Equatable, Error {
  package let rawValue: Int32

  @inlinable
  package init(rawValue: Int32) { self.rawValue = rawValue }

  @inlinable @inline(__always) package var isFailure: Bool { rawValue < 0 }

  /// What the body returns or throws.
  @inline(__always)
  package static func of(_ body: () throws(Status) -> Status) -> Status {
    do { return try body() } catch { return error }
  }

  /// Throws it, unless it is `ok`.
  package func orThrow() throws(Status) { if self != .ok { throw self } }

  @inlinable package static var ok: Status { Status(rawValue: 0) }
  @inlinable package static var ignored: Status { Status(rawValue: 1) }
  @inlinable package static var running: Status { Status(rawValue: 2) }
  @inlinable package static var stopped: Status { Status(rawValue: 3) }
  @inlinable package static var timedOut: Status { Status(rawValue: 4) }
  @inlinable package static var invalidArgument: Status { Status(rawValue: -1) }
  @inlinable package static var invalidHandle: Status { Status(rawValue: -2) }
  @inlinable package static var limit: Status { Status(rawValue: -3) }
  @inlinable package static var noMemory: Status { Status(rawValue: -4) }
  @inlinable package static var wouldDeadlock: Status { Status(rawValue: -5) }
  @inlinable package static var busy: Status { Status(rawValue: -6) }
  @inlinable package static var wrongThread: Status { Status(rawValue: -7) }
  @inlinable package static var targetGone: Status { Status(rawValue: -8) }
  @inlinable package static var shutDown: Status { Status(rawValue: -9) }
  @inlinable package static var unsupported: Status { Status(rawValue: -10) }
  @inlinable package static var permission: Status { Status(rawValue: -11) }
  @inlinable package static var resource: Status { Status(rawValue: -12) }
  @inlinable package static var forked: Status { Status(rawValue: -13) }
}
