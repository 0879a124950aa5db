import Synchronization

/// The counters of a working queue: written by whoever runs its callbacks, read by anybody (P17).
@safe package struct QueueCounters: ~Copyable, @unchecked Sendable {
  /// Bucket 0 of the lateness counts ticks late by less than 1,024 ns, bucket 1 less than 2,048 ns, and so on,
  /// doubling; the last one counts all others.
  static var buckets: Int { 32 }

  // SAFETY: allocated in init, freed in deinit. (`struct S { let a = InlineArray<2, Atomic<Int>> { _ in Atomic(0) } }`
  // as a stored property of a class ends the compiler of Embedded Swift 6.3.1.)
  let late: UnsafeMutablePointer<Atomic<UInt64>>
  let missed = Atomic<UInt64>(0)
  let passes = Atomic<UInt64>(0)
  let emptyPasses = Atomic<UInt64>(0)
  let merged = Atomic<UInt64>(0)
  /// When the last pass began, in the queue's internal time.
  private let lastPass = Atomic<Int64>(.min)

  init() {
    unsafe late = .allocate(capacity: QueueCounters.buckets)
    for i in 0..<QueueCounters.buckets { unsafe (late + i).initialize(to: Atomic(0)) }
  }

  deinit {
    unsafe late.deinitialize(count: QueueCounters.buckets)
    unsafe late.deallocate()
  }

  /// A tick was delivered.
  /// - Parameter isAlone: no other thread counts at the same time, which saves a locked operation for each tick.
  func count(at now: Int64, due: Int64, isAlone: Bool) {
    let lateness = now > due ? UInt64(bitPattern: now &- due) : 0
    let bucket = min(63 &- (lateness >> (WheelTicks.tickShift - 1) | 1).leadingZeroBitCount, QueueCounters.buckets - 1)
    if isAlone {
      unsafe late[bucket].store(late[bucket].load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    } else {
      unsafe late[bucket].wrappingAdd(1, ordering: .relaxed)
    }
  }

  func count(missed periods: UInt64) { missed.wrappingAdd(periods, ordering: .relaxed) }

  /// A pass found that many callbacks due together.
  func count(passAt now: Int64, due: Int, isEmpty: Bool) {
    lastPass.store(now, ordering: .relaxed)
    passes.wrappingAdd(1, ordering: .relaxed)
    if isEmpty { emptyPasses.wrappingAdd(1, ordering: .relaxed) }
    if due > 1 { merged.wrappingAdd(UInt64(due - 1), ordering: .relaxed) }
  }

  /// Ticks that were delivered.
  package var ticks: UInt64 {
    var sum: UInt64 = 0
    for i in 0..<QueueCounters.buckets { unsafe sum &+= late[i].load(ordering: .relaxed) }
    return sum
  }

  /// When the last pass began; `nil` before the first.
  var timeOfLastPass: Int64? {
    let time = lastPass.load(ordering: .relaxed)
    return time == .min ? nil : time
  }
}
