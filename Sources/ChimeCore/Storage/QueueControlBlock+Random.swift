import Synchronization

/// The queue's random numbers, for the jitter of its timers; any thread. SplitMix64 (G. L. Steele, D. Lea, C. H. Flood:
/// "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014; the constants are those of S. Vigna's splitmix64.c): the
/// state is a counter, so that one atomic addition draws, and two threads never draw the same number.
extension QueueControlBlock {
  private static var increment: UInt64 { 0x9E37_79B9_7F4A_7C15 }

  /// A number from 0 to `most`, each as likely as the others.
  ///
  /// A virtual queue's numbers begin with its seed; another queue's with the time of the first draw.
  /// - Parameter most: 0 or more.
  func randomPart(upTo most: Int64) -> Int64 {
    if !isVirtual, unsafe storage.pointee.randomState.load(ordering: .relaxed) == 0 { seedFromClock() }
    let state = unsafe storage.pointee.randomState.wrappingAdd(QueueControlBlock.increment, ordering: .relaxed).newValue
    // The high half of the product, as D. Lemire has it ("Fast Random Integer Generation in an Interval", 2019), without
    // the step that makes it exact: no two numbers' odds differ by more than `most` in 2^64.
    return Int64((UInt64(most) &+ 1).multipliedFullWidth(by: QueueControlBlock.mixed(state)).high)
  }

  private static func mixed(_ state: UInt64) -> UInt64 {
    var z = state
    z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
    return z ^ z >> 31
  }

  /// Queues of one process differ by their ids, those of two machines by the time.
  @inline(never)
  private func seedFromClock() {
    let seed =
      QueueControlBlock.mixed(UInt64(bitPattern: Clock.wall.now) ^ id) ^ UInt64(bitPattern: Clock.monotonic.now)
    // Where two threads do this at once, both add: the sum is as good a beginning.
    unsafe storage.pointee.randomState.wrappingAdd(seed | 1, ordering: .relaxed)
  }
}
