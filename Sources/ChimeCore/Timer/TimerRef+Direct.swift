/// The operations that programs call millions of times a second, by id: one call across the module's border each,
/// the whole operation behind it.
extension TimerRef {
  package static func cancel(_ id: UInt64) -> Status { TimerRef(id)?.cancel() ?? .unknownHandle }

  package static func release(_ id: UInt64) -> Status { TimerRef(id)?.release() ?? .unknownHandle }

  package static func postpone(_ id: UInt64, delay: Int64) -> Status {
    TimerRef(id)?.postpone(delay: delay) ?? .unknownHandle
  }

  package static func postpone(_ id: UInt64, until deadline: Int64) -> Status {
    TimerRef(id)?.postpone(until: deadline) ?? .unknownHandle
  }
}
