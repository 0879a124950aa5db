internal import CPlatform
import Synchronization

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

/// A kernel timer behind a file descriptor, which is readable once its time has come, until it is set again.
enum TimerFile {
  /// A new one, non-blocking and close-on-exec, set for never; `nil` if there is no descriptor.
  static func make(_ clock: Clock) -> Int32? {
    let file = timerfd_create(clock.id, Int32(TFD_NONBLOCK | TFD_CLOEXEC))
    if file < 0 { return nil }
    chime_mark_file(file, mark, getpid())
    maker.store(getpid(), ordering: .relaxed)
    return file
  }

  /// What marks an open file as Chime's, and survives a fork: the signal that it would send, and the process that it
  /// would send it to. (A kernel timer cannot actually be made to send one.)
  /// (All of them are one inode, so that device and inode do not tell them apart; P9b,
  /// Sources/README.md.)
  private static var mark: Int32 { 61 }
  /// The process that makes them: a fork changes it when the child makes its first.
  private static let maker = Atomic<Int32>(0)

  /// Whether a descriptor is that of a timer which `make` has made.
  static func isOne(_ file: Int32) -> Bool {
    var owner: Int32 = 0
    guard unsafe chime_file_mark(file, &owner) == mark else { return false }
    // 0: the creator has ended.
    guard owner == 0 || owner == maker.load(ordering: .relaxed) else { return false }
    var name = [CChar](repeating: 0, count: 64)
    let length = unsafe readlink("/proc/self/fd/\(file)", &name, name.count - 1)
    return length > 0 && name.prefix(length).elementsEqual("anon_inode:[timerfd]".utf8.map { CChar(bitPattern: $0) })
  }

  /// Sets it for a time on its clock, `Int64.max` for never; a time in the past makes it readable at once. One system
  /// call and nothing else: async-signal-safe.
  /// - Parameter endsWithStep: become readable also when the wall clock is stepped.
  static func set(_ file: Int32, _ time: Int64, endsWithStep: Bool = false) {
    var spec = itimerspec()
    if time != .max {
      // All zeroes would mean never.
      let (seconds, nanoseconds) = max(time, 1).quotientAndRemainder(dividingBy: 1_000_000_000)
      spec.it_value = timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds))
    }
    let flags = Int32(TFD_TIMER_ABSTIME) | (endsWithStep ? Int32(TFD_TIMER_CANCEL_ON_SET) : 0)
    _ = unsafe timerfd_settime(file, flags, &spec, nil)
  }
}
