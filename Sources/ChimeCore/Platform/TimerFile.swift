internal import CPlatform

/// A kernel timer behind a file descriptor, which is readable once its time has come, until it is set again (CPlatform's
/// timer_file.h).
enum TimerFile {
  /// A new one, non-blocking and close-on-exec, set for never; `nil` if there is no descriptor.
  static func make(_ clock: Clock) -> Int32? {
    let file = chime_timer_file_make(clock.id)
    return file < 0 ? nil : file
  }

  /// Sets it for a time on its clock, `Int64.max` for never; a time in the past makes it readable at once. One system
  /// call and nothing else: async-signal-safe.
  static func set(_ file: Int32, _ time: Int64, clock: Int32 = chime_monotonic_clock()) {
    chime_timer_file_set(file, clock, time)
  }

  /// Makes it readable, and leaves `errno` as it is. Async-signal-safe.
  static func wake(_ file: Int32) {
    let saved = Errno.current
    set(file, 0)
    Errno.current = saved
  }

  /// A cancellation point.
  static func close(_ file: Int32) { chime_own_file_close(file) }
}
