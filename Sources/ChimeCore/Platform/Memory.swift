internal import CPlatform

/// Memory that may be refused. Small objects, which the language makes without asking, come out of a reserve then
/// (CPlatform's memory.h): a call that makes some has it promised first. What grows with what the host does, arrays and
/// long strings, asks each time. Any thread.
package enum Memory {
  /// More than any call of the interface makes in small objects, libdispatch's included.
  private static var ofOneCall: Int { 16 << 10 }
  /// What each queue has promised as long as it lives: for its wake-ups, and for the call that ends it.
  private static var ofOneQueue: Int { 2048 }

  /// Runs a call that makes small objects; noMemory or limit, and it was not run, where they might not be had.
  package static func promised(_ call: () -> Int32) -> Int32 {
    if chime_memory_promise(ofOneCall) == 0 { return refusal.rawValue }
    defer { chime_memory_leave(ofOneCall) }
    return call()
  }

  /// Runs a part of a call that makes small objects; false if it could not be done, or memory might not be had.
  static func promises(_ part: () -> Bool) -> Bool {
    if chime_memory_promise(ofOneCall) == 0 { return false }
    defer { chime_memory_leave(ofOneCall) }
    return part()
  }

  static func promiseToQueue() -> Bool { chime_memory_promise(ofOneQueue) != 0 }
  static func queueHasEnded() { chime_memory_leave(ofOneQueue) }

  /// Reserves the thread's next large block of that size, for the rest of the current call that was promised its objects;
  /// false if it is refused.
  package static func provides(_ bytes: Int) -> Bool { chime_memory_provide(bytes) != 0 }

  /// Why the calling thread's last request was refused: noMemory or limit.
  package static var refusal: Status {
    let wanted = chime_memory_refused_by_limit()
    if wanted == 0 { return Status.noMemory.bare }
    return Status.limit.because(
      "chime_set_memory_limit allows %n bytes: this call needs about %n, with what is held",
      Int64(clamping: chime_memory_limit()), Int64(clamping: held &+ wanted))
  }

  /// Copies what another thread may write meanwhile: what is then decided by the copy holds for the copy.
  package static func copyOnce(_ from: UnsafeRawPointer, to: UnsafeMutableRawPointer, count: Int) {
    unsafe chime_copy_once(to, from, count)
  }

  /// Zeroed pages; `nil` when they are refused.
  static func map(_ bytes: Int) -> UnsafeMutableRawPointer? { unsafe chime_memory_map(bytes) }

  /// The same, which is never given back, and where the system may use huge pages.
  /// - Parameter bytes: a multiple of the size of those.
  static func mapHuge(_ bytes: Int) -> UnsafeMutableRawPointer? { unsafe chime_memory_map_huge(bytes) }

  /// Zeroed pages that are never given back, most of which are never touched, and which a forked child finds empty. They
  /// are not counted.
  static func mapTable(_ bytes: Int) -> UnsafeMutableRawPointer? { unsafe chime_map_emptied(bytes) }

  /// The same, which a forked child has as they are.
  static func mapSparse(_ bytes: Int) -> UnsafeMutableRawPointer? { unsafe chime_memory_map_uncounted(bytes) }

  static func unmap(_ base: UnsafeMutableRawPointer, _ bytes: Int) { unsafe chime_memory_unmap(base, bytes) }

  /// Lets the system have the pages inside, whose contents go.
  static func discard(_ base: UnsafeMutableRawPointer?, _ bytes: Int) {
    unsafe chime_memory_discard(base, bytes)
  }

  /// How many bytes the system has after that, which count as held all the same until `uncount`; 0 where it has none.
  static func discarded(_ base: UnsafeMutableRawPointer, _ bytes: Int) -> Int {
    unsafe chime_memory_discarded(base, bytes)
  }

  /// Takes bytes off what is held; counts them again, unless the limit forbids it.
  static func uncount(_ bytes: Int) { chime_memory_give_account(bytes) }
  static func count(_ bytes: Int) -> Bool { chime_memory_take_account(bytes) != 0 }

  // MARK: For the interface

  /// Whether all memory is counted, and may be the host's; otherwise pages are, the ones of timers among them.
  package static var isOwn: Bool { chime_has_own_memory() != 0 }

  package static var held: UInt64 { chime_memory_held() }

  /// - Parameter bytes: 0: no limit.
  package static func setLimit(_ bytes: UInt64) { chime_memory_set_limit(bytes) }

  package typealias Allocate =
    @convention(c) (Int, Int, UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
  package typealias Deallocate = @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer?) -> Void

  /// - Returns: ok; busy after the first request; unsupported where Swift's runtime has an allocator of its own.
  package static func setAllocator(
    _ allocate: Allocate, _ deallocate: Deallocate, _ context: UnsafeMutableRawPointer?
  ) -> Status {
    if !isOwn { return .memoryIsNotOwn }
    // SAFETY: the functions differ in what C says of null pointers, not in how they are called.
    return unsafe chime_memory_set_allocator(
      allocate, unsafeBitCast(deallocate, to: ContextDeallocate.self), context) != 0
      ? .ok : Status.busy.because("memory has been asked for already")
  }

  private typealias ContextDeallocate =
    @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void
}

extension Array {
  /// Makes room for more elements; false if it is refused. In a call that was promised its objects.
  mutating func reserve(for more: Int = 1) -> Bool {
    if count + more <= capacity { return true }
    let wanted = Swift.max(2 * capacity, count + more, 4)
    // The array's own header is before the elements.
    guard Memory.provides(wanted * MemoryLayout<Element>.stride + 64) else { return false }
    reserveCapacity(wanted)
    return true
  }

  mutating func takeAll() -> [Element] {
    defer { self = [] }
    return self
  }
}
