internal import CPlatform

/// The variables of the process: made when the process begins, so that no fork comes between, and anew in a child. The
/// floors below declare theirs as a `ProcessState`; here is the only list of all.
extension Fork {
  /// All types that have some, in the order in which a child reinitialises them. (Tests/Faults/process_state.py finds
  /// others.)
  private static func inEach(_ step: Step) {
    step.take(in: Slab.self)
    step.take(in: QueueControlBlocks.self)
    step.take(in: WaitRegistry.self)
    step.take(in: ThreadState.self)
    step.take(in: Labels.self)
    step.take(in: SideRecords.self)
    step.take(in: DueTimeSpill.self)
    step.take(in: PoolCount.self)
    step.take(in: PoolRequests.self)
    step.take(in: Pool.self)
    step.take(in: WallClock.self)
    step.take(in: MainQueue.self)
    step.take(in: Loop.self)
    step.take(in: WeakTimerCore.self)
    step.take(in: TargetSweep.self)
    step.take(in: TimerTarget.self)
    step.take(in: Expiring.self)
    step.take(in: Trace.self)
    step.take(in: Descriptors.self)
    step.take(in: Watch.self)
  }

  private enum Step {
    case makeGlobals, reinitialize

    /// A generic function, because Embedded Swift knows types only at compile time.
    func take<State: ProcessState>(in _: State.Type) {
      switch self {
      case .makeGlobals: State.makeGlobals()
      case .reinitialize: State.reinitialize()
      }
    }
  }

  fileprivate static func makeGlobals() { inEach(.makeGlobals) }

  /// Reinitialises a child; ignored elsewhere. The child's only thread.
  package static func reinitialize() -> Status {
    guard isChild else { return .ignored }
    chime_own_files_close_inherited()
    inEach(.reinitialize)
    chime_mark_child()
    return .ok
  }
}

/// Called when the library, or the program that it is part of, is loaded; not part of the interface.
@_cdecl("library_of_chime_was_loaded")
package func libraryWasLoaded() {
  Fork.makeGlobals()
  unsafe Trace.beginFileIfWanted = { TraceFile.beginIfWanted() }
}
