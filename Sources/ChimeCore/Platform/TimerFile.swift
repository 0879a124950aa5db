internal import CPlatform

/// What a descriptor stands for, whatever its number.
struct FileIdentity: Equatable {
  private let device: UInt64
  private let inode: UInt64

  /// `nil` for a descriptor that is not open.
  init?(of file: Int32) {
    var status = stat()
    guard unsafe fstat(file, &status) == 0 else { return nil }
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
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

  /// Whether a descriptor is that of a timer which `make` has made.
  static func isOne(_ file: Int32) -> Bool { chime_timer_file_is_one(file) != 0 }

  /// Sets it for a time on its clock, `Int64.max` for never; a time in the past makes it readable at once. One system
  /// call and nothing else: async-signal-safe.
  static func set(_ file: Int32, _ time: Int64, clock: Int32 = chime_monotonic_clock()) {
    chime_timer_file_set(file, clock, time)
  }

  /// A cancellation point.
  static func close(_ file: Int32) { _ = CPlatform.close(file) }
}
