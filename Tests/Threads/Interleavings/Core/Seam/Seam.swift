internal import CPlatform

/// The seam between the core and a scheduler that decides every interleaving.
///
/// These files have declarations by the names of those that the core uses: `Atomic` and `atomicMemoryFence` of
/// Synchronization, CPlatform's functions of threads, locks and the clock, libc's `poll`. In the build of
/// Tests/Threads/Interleavings, and in no other, they are part of the core's module, whose own declarations stand in front of
/// imported ones: so every file of the core comes through here without a line of its own.
package enum Seam {
  /// Whether a scheduler decides; off while a program starts and between two runs.
  package nonisolated(unsafe) static var isOn = false
  /// Whether the scheduler wants to know what each operation read and wrote.
  package nonisolated(unsafe) static var isTraced = false
  package nonisolated(unsafe) static var scheduler: (any SeamScheduler)!
  /// Of a timer's generation. A narrow one wraps in few steps.
  package nonisolated(unsafe) static var generationMask: UInt64 = 0x7F_FFFF

  /// Called before each operation on an atomic.
  @inline(__always)
  static func step(_ operation: StaticString, _ file: StaticString, _ line: UInt32, quietly: Bool = false) {
    if isOn, !(quietly && isQuiet(file)) { scheduler.step(operation, file, line) }
  }

  /// Called after it.
  @inline(__always)
  static func note<Value: BitwiseCopyable>(_ old: Value, _ new: Value) {
    if isTraced, isOn { scheduler.note(bits(old), bits(new)) }
  }

  @inline(__always)
  static func bits<Value: BitwiseCopyable>(_ value: Value) -> UInt64 {
    var bits: UInt64 = 0
    unsafe withUnsafeMutableBytes(of: &bits) { unsafe $0.storeBytes(of: value, as: Value.self) }
    return bits
  }

  /// Files whose relaxed and acquiring loads read what is written once, before anybody else knows of it: a switch
  /// there would show nothing and make every run longer.
  @inline(never)
  private static func isQuiet(_ file: StaticString) -> Bool {
    for name in quietFiles where name.utf8CodeUnitCount == file.utf8CodeUnitCount {
      if unsafe memcmp(name.utf8Start, file.utf8Start, file.utf8CodeUnitCount) == 0 { return true }
    }
    return false
  }

  /// Whether a load is one of a long row that find nothing: a walk over all slots of a chunk, most of which were never
  /// used. The first are steps, the rest would be hundreds of steps without a choice worth having.
  @inline(__always)
  static func isOfScan(_ isZero: Bool, _ file: StaticString) -> Bool {
    if !isOn || !isOfSlot(file) { return false }
    zeros = isZero ? zeros + 1 : 0
    return zeros > 12
  }

  package nonisolated(unsafe) static var zeros = 0

  /// How many more threads the system grants.
  package nonisolated(unsafe) static var threadsLeft = Int.max

  @inline(__always)
  private static func isOfSlot(_ file: StaticString) -> Bool {
    let slot: StaticString = "ChimeCore/TimerSlot.swift"
    return unsafe file.utf8CodeUnitCount == slot.utf8CodeUnitCount
      && memcmp(file.utf8Start, slot.utf8Start, slot.utf8CodeUnitCount) == 0
  }

  private static let quietFiles: [StaticString] = [
    "ChimeCore/Slab.swift", "ChimeCore/Fork.swift", "ChimeCore/ThreadState.swift",
    "ChimeCore/QueueControlBlocks.swift",
    "ChimeCore/QueueCounters.swift", "ChimeCore/Trace.swift",
    "ChimeCore/QueueControlBlock.swift",
  ]
}

/// Who decides which thread goes on. All calls come from the thread that runs.
package protocol SeamScheduler: AnyObject {
  /// A thread is about to do something that others can see.
  func step(_ operation: StaticString, _ file: StaticString, _ line: UInt32)
  func note(_ old: UInt64, _ new: UInt64)
  /// Runs `body`, inside which the thread is not held up.
  func systemCall(_ body: () -> Void)
  func lock(_ mutex: UnsafeMutableRawPointer)
  func tryLock(_ mutex: UnsafeMutableRawPointer) -> Bool
  func unlock(_ mutex: UnsafeMutableRawPointer)
  /// Waits for `signal`, until a time on the scheduler's clock, `Int64.max` for no end.
  func wait(_ condition: UnsafeMutableRawPointer, _ mutex: UnsafeMutableRawPointer, until time: Int64)
  func signal(_ condition: UnsafeMutableRawPointer)
  /// Sleeps at an address until the time, unless it is woken there or was; what a thread does there and what wakes it is one
  /// step each.
  func sleep(at address: UnsafeMutableRawPointer, until time: Int64, unless isWoken: () -> Bool)
  func wake(at address: UnsafeMutableRawPointer, _ change: () -> Void)
  /// A round of a spin loop: others are to go first.
  func yield(sleeping nanoseconds: Int64)
  func now() -> Int64
  var thread: UInt { get }
  func start(_ body: @escaping () -> Void)
  func specific(_ key: UInt32) -> UnsafeMutableRawPointer?
  func setSpecific(_ key: UInt32, _ value: UnsafeRawPointer?)
  /// A key for every thread's own pointer, and what is called with it when a thread ends.
  func makeKey(_ destructor: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?) -> UInt32
  /// Whether the descriptor became readable before the time.
  func poll(_ file: Int32, until time: Int64) -> Bool
}

extension TimerWord {
  static var generationMask: UInt64 { Seam.generationMask }
}

extension QueueControlBlocks {
  /// Each queue that ends gives all its memory back.
  static var keptChunks: Int { 0 }
}

extension Tunables {
  // Each is a step, and so a place at which another thread may go on.
  static var spinsForWriter: Int { 8 }
}
