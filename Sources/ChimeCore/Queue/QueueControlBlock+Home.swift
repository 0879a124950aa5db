internal import CPlatform
import Synchronization

/// The home of a bound queue is the thread that created it. As long as no other thread changes a timer of the queue,
/// it changes words of timers that it made itself by plain stores, where all others need locked operations.
///
/// `home` names the thread by its image. The home thread notes in its image that it is changing a word, then looks
/// whether `home` still names it. Another thread, before it changes such a word, lets `home` name nobody for the rest
/// of the queue's life: it marks `home`, makes all threads of the process that run pass a memory barrier, and waits
/// until the home thread changes no word. So either the home thread sees the mark, or the other sees that it is
/// changing one (P22, Sources/README.md). Both look again at what they want to change.
extension QueueControlBlock {
  // Of `home`: an image's index, 0 for none; the mark; and a count of queues, so that nobody who is late ends the home
  // of the next one.
  private static var leavingBit: UInt64 { 1 << 32 }
  private static var namesMask: UInt64 { 1 << 33 - 1 }

  /// For a new queue, of which nobody knows yet.
  func setHome(_ image: WriterImage?) {
    let count = unsafe storage.pointee.home.load(ordering: .relaxed) >> 33 &+ 1
    unsafe storage.pointee.home.store(count << 33 | UInt64(image?.index ?? 0), ordering: .releasing)
  }

  /// Whether the queue's home is the thread with that image, and nobody has come to change a timer.
  @inline(__always)
  func isHome(of image: WriterImage) -> Bool {
    unsafe storage.pointee.home.load(ordering: .relaxed) & QueueControlBlock.namesMask == UInt64(image.index)
  }

  /// From here to `endAtHome` the calling thread may change words by plain stores. False if it may not.
  @inline(__always)
  func beginAtHome(_ image: WriterImage) -> Bool {
    image.changesAtHome = true
    chime_compiler_barrier()  // for the processor, the other thread's barrier does it
    if isHome(of: image) { return true }
    image.changesAtHome = false
    return false
  }

  @inline(__always)
  func endAtHome(_ image: WriterImage) { image.changesAtHome = false }

  @inline(__always) var hasHome: Bool {
    unsafe UInt32(truncatingIfNeeded: storage.pointee.home.load(ordering: .acquiring)) != 0
  }

  /// For a queue whose id has been taken away: another thread may run its last passes.
  func endHome() {
    leaveHome()
    let home = unsafe storage.pointee.home.load(ordering: .relaxed)
    unsafe storage.pointee.home.store(home & ~QueueControlBlock.namesMask, ordering: .sequentiallyConsistent)
  }

  /// Makes sure that the home thread, if it is another, changes no word by a plain store any more. Comes before any
  /// other change of a timer whose word has the home bit.
  @inline(never)
  func leaveHome() {
    let home = unsafe storage.pointee.home.load(ordering: .acquiring)
    let index = UInt32(truncatingIfNeeded: home)
    if index == 0 || index == ThreadState.existing?.image?.index { return }
    let marked = home | QueueControlBlock.leavingBit
    unsafe _ = storage.pointee.home.compareExchange(expected: home, desired: marked, ordering: .sequentiallyConsistent)
    // Refused: a store leaves its processor within microseconds anyway.
    if !chime_barrier_in_all_threads() { withoutCancellation { _ = usleep(10_000) } }
    let image = WriterImages.image(index)
    var backoff = Backoff()
    while image.changesAtHome { backoff.pause() }
    unsafe _ = storage.pointee.home.compareExchange(
      expected: marked, desired: home & ~QueueControlBlock.namesMask, ordering: .sequentiallyConsistent)
  }
}
