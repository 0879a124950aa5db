internal import CPlatform
import Synchronization

/// Notices that the process is the child of a fork (promise 15). There, other threads' locks stay locked, descriptors
/// are shared with the parent, and libdispatch has no threads any more; so all that was before the fork is given up.
///
/// The child's first act, in the handler of `pthread_atfork`, is to take the tables away that ids are looked up in: no
/// call finds anything, and each answers FORKED. `reinitialize` begins anew with fresh locks. The old memory stays
/// where it is, as the parent's does: a handler that has forked returns into it. Indices go on, so that ids from before
/// name nothing.
package enum Fork {
  /// Odd in a child that has not been reinitialised; half of it, rounded up, counts the forks that were noticed
  /// (P9, Sources/README.md).
  private static let count = Atomic<UInt32>(0)
  private static let isWatched = Atomic<Bool>(false)
  private static let watching = Locked(())

  /// Changes with a fork, in the child, and with the child's `reinitialize`.
  @inline(__always)
  static var epoch: UInt32 { count.load(ordering: .relaxed) }

  /// Whether this is a child that was not reinitialised.
  @inline(__always)
  package static var isChild: Bool { epoch & 1 != 0 }

  /// Whether this is a child, reinitialised or not: libdispatch, and what stands on it, does not work here.
  package static var isInChild: Bool { epoch != 0 }

  /// Whether libdispatch, and Foundation's run loops, can be used: ok; in a child forked; anew, or built without it: unsupported.
  package static var statusOfDispatch: Status { isChild ? .forked : isInChild || chime_has_dispatch() == 0 ? .unsupported : .ok }

  /// Makes all variables of the process that are made by the first who asks: in a forked child that could wait for a thread
  /// which was making one.
  package static func makeGlobals() {
    TargetSweep.touch()
    Trace.touch()
    OwnThread.touch()
    WallClock.touch()
    MainQueue.touch()
    Loop.touch()
    WeakTimerCore.touch()
    WaitRegistry.touch()
    TimerTarget.touch()
    Expiring.touch()
    Labels.read {}
    WriterImages.touch()
    ThreadState.touch()
    Descriptors.touch()
    QueueControlBlocks.touch()
    Slab.touch()
  }

  /// Has forks noticed from now on. Called before anything is made that a fork would break.
  static func watch() {
    if isWatched.load(ordering: .acquiring) { return }
    watching.withLock { _ in
      if isWatched.load(ordering: .relaxed) { return }
      makeGlobals()
      pthread_atfork(nil, nil) { Fork.happened() }
      isWatched.store(true, ordering: .releasing)
    }
  }

  /// In the child, on its only thread, before fork returns. Takes no lock: who held it is not here.
  private static func happened() {
    if isChild { return }
    count.add(1, ordering: .sequentiallyConsistent)
    Slab.abandon()
    QueueControlBlocks.abandon()
    ThreadState.forgetSlots()
  }

  /// Begins anew in a child; ignored elsewhere. The child's only thread.
  package static func reinitialize() -> Status {
    guard isChild else { return .ignored }
    Slab.reinitialize()
    QueueControlBlocks.reinitialize()
    WaitRegistry.reinitialize()
    ThreadState.reinitialize()
    WriterImages.reinitialize()
    Labels.reinitialize()
    OwnThread.reinitialize()
    WallClock.reinitialize()
    MainQueue.reinitialize()
    Loop.reinitialize()
    WeakTimerCore.reinitialize()
    TargetSweep.reinitialize()
    TimerTarget.reinitialize()
    Expiring.reinitialize()
    Trace.reinitialize()
    count.add(1, ordering: .sequentiallyConsistent)
    return .ok
  }

  /// Closes a timer descriptor that came with the fork. What the child has under its number by now, a timer of its own
  /// too, is let alone.
  static func closeInherited(_ file: Int32) {
    if file >= 0, TimerFile.isOne(file) { close(file) }
  }
}

extension Status {
  /// Of an id that names nothing.
  package static var unknownHandle: Status { Fork.isChild ? .forked : .invalidHandle }
}
