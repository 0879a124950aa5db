internal import CPlatform

/// libdispatch and CoreFoundation end the process if they cannot open a descriptor. So Chime checks first that there
/// are enough, and makes libdispatch open its own while there are (`prepareDispatch`).
package enum Descriptors: ProcessState {
  static let dispatchIsReady = Locked(false)

  static func makeGlobals() { dispatchIsReady.withLock { _ in } }
  /// A child does not use libdispatch: `Fork.statusOfDispatch` stands before that.
  static func reinitialize() {}

  /// Whether that many could be opened now. Other threads may take them in the meantime.
  package static func areLeft(_ count: Int) -> Bool {
    let error = chime_open_for_a_moment(Int32(clamping: count))
    if error == 0 { return true }
    _ = Status.resource.because("%n file descriptors could not be opened: %e", Int64(count), Int64(error))
    return false
  }

  /// Waits until one of two descriptors can be read, a signal comes, or `timeout` nanoseconds (rounded up to
  /// milliseconds) are over; `Int64.max` for no end. A negative descriptor is passed over. True if the second can.
  @discardableResult
  static func wait(_ first: Int32, _ second: Int32 = -1, timeout: Int64 = .max) -> Bool {
    let milliseconds = timeout / 1_000_000 + (timeout % 1_000_000 > 0 ? 1 : 0)
    let saved = Errno.current
    defer { Errno.current = saved }
    return withoutCancellation {
      chime_wait_for_files(first, second, timeout == .max ? -1 : Int32(clamping: milliseconds))
    }
  }
}

/// A kernel timer behind a file descriptor, which is readable once its time has come, until it is set again (CPlatform's
/// timer_file.h).
enum TimerFile {
  /// A new one, non-blocking and close-on-exec, set for never; `nil` if there is no descriptor.
  static func make(_ clock: Clock) -> Int32? {
    let file = chime_timer_file_make(clock.id)
    return file < 0 ? nil : file
  }

  /// A new one whose times are set by `setForWall`; `nil` if there is no descriptor.
  static func makeForWall() -> Int32? {
    let file = chime_wall_timer_file_make()
    return file < 0 ? nil : file
  }

  /// Sets it for a time on the monotonic clock; a step of the wall clock makes it readable, too.
  /// - Parameter offset: how far the wall clock is ahead.
  static func setForWall(_ file: Int32, _ time: Int64, offset: Int64) {
    chime_wall_timer_file_set(file, time, offset)
  }

  /// Sets it for a time on its clock, `Int64.max` for never; a time in the past makes it readable at once. One system
  /// call and nothing else: async-signal-safe.
  static func set(_ file: Int32, _ time: Int64, clock: Int32 = chime_monotonic_clock()) {
    chime_timer_file_set(file, clock, time)
  }

  /// Checks that the system has it set for a time on its clock, or earlier, as a driver believes.
  static func checkThatIsSet(_ file: Int32, _ time: Int64, clock: Int32 = chime_monotonic_clock()) {
    guard invariantsAreChecked, time != .max else { return }
    let isSet = withoutCancellation {
      // Between its time and the system's interrupt neither shows.
      for _ in 0..<1000 {
        if chime_timer_file_is_set(file, clock, time) { return true }
        chime_rest(1000)
      }
      return false
    }
    if !isSet { invariantFailure("a timer that a driver believes to be set", time) }
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
