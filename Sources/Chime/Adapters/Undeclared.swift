import CDispatch
import Glibc

/// C functions that exist in libc and libdispatch but that the toolchain's modules do not declare for Swift.
enum Undeclared {
  /// The kernel's id of the calling thread; the main thread's is the process's.
  @_silgen_name("gettid")
  static func gettid() -> Int32

  /// The length, counted in nanoseconds, of a wait of the calling thread that the kernel may prolong.
  static func setTimerSlack(_ nanoseconds: UInt) { _ = prctl(29, nanoseconds, 0, 0, 0) }  // PR_SET_TIMERSLACK

  @_silgen_name("prctl")
  private static func prctl(_ option: Int32, _ a: UInt, _ b: UInt, _ c: UInt, _ d: UInt) -> Int32

  /// `set` has a bit for each processor; `size` is in bytes.
  @_silgen_name("pthread_setaffinity_np")
  static func setAffinity(_ thread: UInt, _ size: Int, _ set: UnsafeRawPointer) -> Int32

  // <sys/timerfd.h>; the flags of timerfd_create are O_NONBLOCK and O_CLOEXEC.
  @_silgen_name("timerfd_create")
  static func timerfdCreate(_ clock: clockid_t, _ flags: Int32) -> Int32
  @_silgen_name("timerfd_settime")
  static func timerfdSetTime(
    _ file: Int32, _ flags: Int32, _ new: UnsafePointer<itimerspec>, _ old: UnsafeMutablePointer<itimerspec>?) -> Int32
  static var timerIsAbsolute: Int32 { 1 }
  static var timerEndsWithStep: Int32 { 2 }

  // <fcntl.h>: F_SETOWN, F_GETOWN, F_SETSIG and F_GETSIG.
  static var setOwnerOfFile: Int32 { 8 }
  static var ownerOfFile: Int32 { 9 }
  static var setSignalOfFile: Int32 { 10 }
  static var signalOfFile: Int32 { 11 }

  @_silgen_name("pthread_setname_np")
  static func setThreadName(_ thread: UInt, _ name: UnsafePointer<CChar>) -> Int32

  /// What `dladdr` fills in, as in `<dlfcn.h>`.
  @unsafe struct ImageInfo {
    var fileName: UnsafePointer<CChar>?
    var fileBase: UnsafeMutableRawPointer?
    var symbolName: UnsafePointer<CChar>?
    var symbolAddress: UnsafeMutableRawPointer?
  }

  /// Finds the loaded file that holds an address; 0 when there is none.
  @_silgen_name("dladdr")
  static func dladdr(_ address: UnsafeRawPointer, _ info: UnsafeMutablePointer<ImageInfo>) -> Int32

  @_silgen_name("dispatch_retain")
  static func dispatchRetain(_ object: OpaquePointer)

  @_silgen_name("dispatch_release")
  static func dispatchRelease(_ object: OpaquePointer)

  /// The descriptor that is readable while libdispatch's main queue has work.
  @_silgen_name("_dispatch_get_main_queue_handle_4CF")
  static func mainQueueHandle() -> Int32

  /// Does the main queue's work; on the thread that libdispatch was loaded by, else it traps.
  @_silgen_name("_dispatch_main_queue_callback_4CF")
  static func drainMainQueue(_ message: UnsafeMutableRawPointer?)
}
