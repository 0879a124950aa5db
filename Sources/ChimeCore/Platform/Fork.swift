internal import CPlatform
import Synchronization

/// Notices that the process is the child of a fork (promise 15). There, other threads' locks stay locked, descriptors
/// are shared with the parent, and libdispatch has no threads any more; so everything from before the fork is given up.
///
/// The kernel empties some pages in the child (CPlatform's forks.h): the mark that is asked here, and the tables in which
/// ids are looked up. So calls find nothing there and answer FORKED. `reinitialize` starts again with fresh locks. The
/// other memory stays where it is, because a handler that has forked returns into it. Numbering continues, so that ids
/// from before name nothing.
package enum Fork {
  /// 0 in a child that has not been reinitialised. It changes with a fork, in the child, and with the child's
  /// `reinitialize`, and is never the same again (P9).
  static var mark: UInt32 { chime_fork_mark() }

  /// The mark that `reinitialize` begins.
  static var nextMark: UInt32 { chime_next_mark() }

  /// Whether this is a child that has not been reinitialised.
  package static var isChild: Bool { mark == 0 }

  /// Whether this is a child, reinitialised or not: libdispatch, and everything based on it, does not work here.
  package static var isInChild: Bool { chime_is_in_child() }

  /// Whether libdispatch, and Foundation's run loops, can be used: ok; in a child forked; anew, or built without it:
  /// unsupported.
  package static var statusOfDispatch: Status {
    isChild ? .forked : isInChild || chime_has_dispatch() == 0 ? .unsupported : .ok
  }

  /// `statusOfDispatch`, which also leaves its reason to the calling thread. Allocates: not in signal handlers.
  @inline(never)
  static var explainedStatusOfDispatch: Status {
    let status = statusOfDispatch
    if status != .unsupported { return status == .forked ? .inChild : status }
    return isInChild
      ? status.because("this process was forked, and libdispatch does not survive a fork")
      : status.because("this libchime was built without libdispatch")
  }

  // MARK: Noticing

  enum Watch: ProcessState {
    fileprivate static let isOn = Atomic<Bool>(false)
    fileprivate static let beginning = Locked(())

    static func makeGlobals() { beginning.withLock { _ in } }

    /// Stays on: only a noticed fork can be reinitialised.
    static func reinitialize() {
      isOn.store(true, ordering: .relaxed)
      beginning.reinitialize()
    }
  }

  /// Makes sure that forks are noticed from now on. Called before anything is created that a fork would break.
  /// - Returns: false without memory.
  static func watch() -> Bool {
    if Watch.isOn.load(ordering: .acquiring) { return true }
    return Watch.beginning.withLock { _ in
      if !Watch.isOn.load(ordering: .relaxed), chime_watch_forks() { Watch.isOn.store(true, ordering: .releasing) }
      return Watch.isOn.load(ordering: .relaxed)
    }
  }
}

/// A callback has forked, and this is the child: whatever called it returns at once, and takes no lock on the way, because
/// another thread of the parent's may have held it. Thrown where the host is called (`TickFunction`, `ContextFunction`, and
/// `Fork.guarded` around whatever calls it by another way); caught only where the library was called, which returns
/// forked, and by threads' loops.
package struct Forked: Error {}

extension Fork {
  /// Runs `body`, which calls what may fork.
  package static func guarded<Result>(_ body: () -> Result) throws(Forked) -> Result {
    let before = mark
    let result = body()
    if mark != before { throw Forked() }
    return result
  }
}

extension Status {
  /// What the body of a call returns; forked in the child of a callback's.
  static func of(_ body: () throws(Forked) -> Status) -> Status {
    do { return try body() } catch { return .inChild }
  }

  /// Runs a part of a call that throws statuses; it throws forked in the child of a callback's.
  static func orForked<Result>(_ body: () throws(Forked) -> Result) throws(Status) -> Result {
    do { return try body() } catch { throw .inChild }
  }
}

/// Variables of the process, and what happens to them in a forked child. The type that has them says so; `Fork` lists
/// all such types.
protocol ProcessState {
  /// Creates the variables that are otherwise created on first use. If another thread forked during that, the child
  /// would wait for ever.
  static func makeGlobals()

  /// Starts again with fresh locks. In a forked child's only thread, called by `Fork.reinitialize`.
  static func reinitialize()
}
