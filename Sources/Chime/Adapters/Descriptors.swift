import Glibc

/// libdispatch ends the process when it cannot open its own descriptors: an epoll, an eventfd, a timerfd for each
/// clock. Before a queue of its kind is made, it is seen whether that many can be had.
enum Descriptors {
  private static var needed: Int { 4 }

  /// Whether libdispatch could open what it needs now. Others may take them meanwhile.
  static var areLeft: Bool {
    var opened: [Int32] = []
    defer { for descriptor in opened { close(descriptor) } }
    for _ in 0..<needed {
      let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return false }
      opened.append(descriptor)
    }
    return true
  }
}
