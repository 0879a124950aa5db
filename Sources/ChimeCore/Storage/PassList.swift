/// A list in a `PassScratch`: it never grows beyond its capacity, since no slot is in it twice.
@safe struct PassList<Element: BitwiseCopyable> {
  // SAFETY: `capacity` elements, of which the first `count` have been written.
  private(set) var base: UnsafeMutablePointer<Element>?
  private(set) var capacity = 0
  private(set) var count = 0

  /// Of a queue that has no slots yet.
  init() { unsafe base = nil }

  init(_ memory: UnsafeMutableRawPointer, capacity: Int) {
    unsafe base = memory.bindMemory(to: Element.self, capacity: capacity)
    self.capacity = capacity
  }

  var isEmpty: Bool { count == 0 }
  var indices: Range<Int> { 0..<count }
  var last: Element? { count == 0 ? nil : self[count - 1] }

  @inline(__always)
  subscript(i: Int) -> Element {
    get { unsafe base.unsafelyUnwrapped[i] }
    nonmutating set { unsafe base.unsafelyUnwrapped[i] = newValue }
  }

  @inline(__always)
  mutating func append(_ element: Element) {
    if count == capacity { invariantFailure("a slot more than there is room for", Int64(capacity)) }
    unsafe base.unsafelyUnwrapped[count] = element
    count += 1
  }

  mutating func popLast() -> Element? {
    if count == 0 { return nil }
    count -= 1
    return unsafe base.unsafelyUnwrapped[count]
  }

  /// Returns a large batch's pages to the system.
  mutating func removeAll() {
    discard(count)
    count = 0
  }

  func discard(_ count: Int) {
    if count > 4096 { unsafe Memory.discard(base, count * MemoryLayout<Element>.stride) }
  }

  /// Moves to a larger place.
  mutating func move(to other: PassList) {
    var other = other
    if count > 0 { unsafe other.base?.update(from: base.unsafelyUnwrapped, count: count) }
    other.count = count
    self = other
  }

  /// Has the other's memory, and the other this one's, with the elements written there.
  mutating func exchangeMemory(with other: inout PassList) {
    unsafe swap(&base, &other.base)
  }
}
