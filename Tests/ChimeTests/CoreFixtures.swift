import Glibc
import Synchronization

@testable import Chime
@testable import ChimeCore

/// What the tests of the core share: queues and timers whose handlers do not matter, threads that really end, and
/// random numbers that a seed repeats.
extension QueueCore {
  /// A virtual queue, to be released by the test.
  static func makeForTest(timerLimit: UInt64 = 0, honoursLeeway: Bool = false) throws -> QueueCore {
    let id = try makeVirtual(QueueOptions(timerLimit: timerLimit, honoursLeeway: honoursLeeway)).get()
    guard let core = find(id) else { throw Status.invalidHandle }
    return core
  }

  /// An idle timer's id.
  func makeTimer() throws(Status) -> UInt64 {
    var timer: UInt64 = 0
    let status = unsafe TimerRef.create(on: id, TimerOptions(handler: TickFunction { _, _ in }), nil, out: &timer)
    guard status == .ok else { throw status }
    return timer
  }

  func release() { _ = QueueCore.release(id) }
}

extension QueueControlBlock {
  /// Chunks of 256 slots that the control block has had so far.
  var chunkCount: Int { unsafe storage.pointee.slots.withLock { $0.chunkTotal } }

  /// Wheel page regions that no wheel has.
  var freeRegionCount: Int { unsafe storage.pointee.wheelPages.withLock { $0.regions.count - $0.taken } }
}

/// A number that threads count together.
final class SharedCount: Sendable {
  private let count = Atomic<Int>(0)
  var value: Int { count.load(ordering: .sequentiallyConsistent) }

  /// Adds and gives the sum.
  @discardableResult
  func add(_ number: Int) -> Int { count.add(number, ordering: .sequentiallyConsistent).newValue }
}

/// What threads have seen together.
final class Findings<Value: Sendable>: Sendable {
  private let values = Locked<[Value]>([])
  var all: [Value] { values.withLock { $0 } }
  func add(_ more: [Value]) { values.withLock { $0 += more } }
}

/// Runs `body` on that many new threads at once and returns when they have ended, with all they kept.
func onNewThreads(_ count: Int = 1, _ body: @escaping @Sendable (Int) -> Void) {
  final class Box {
    let body: () -> Void
    init(_ body: @escaping () -> Void) { self.body = body }
  }
  let threads = (0..<count).map { number in
    var thread = pthread_t()
    // SAFETY: the thread takes the one reference.
    let box = unsafe Unmanaged.passRetained(Box { body(number) }).toOpaque()
    let failed = unsafe pthread_create(&thread, nil, { box in
      unsafe Unmanaged<Box>.fromOpaque(box!).takeRetainedValue().body()
      return nil
    }, box)
    precondition(failed == 0, "no thread")
    return thread
  }
  for thread in threads { pthread_join(thread, nil) }
}

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers for the same seed everywhere.
struct SplitMix64: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }

  /// Below 2^k for a k from 0 to `bits`, each k as likely: short and long distances alike.
  mutating func distance(bits: Int) -> Int64 {
    Int64(truncatingIfNeeded: next() & ((1 << UInt64.random(in: 0...UInt64(bits), using: &self)) - 1))
  }

  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
}
