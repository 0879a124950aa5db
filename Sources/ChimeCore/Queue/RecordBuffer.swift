/// Where the records of one `takeTicks` go: an array of the host's whose elements may be longer than a record.
@safe package struct RecordBuffer {
  // SAFETY: the host's array, for the length of the call that made this.
  private let base: UnsafeMutableRawPointer
  private let stride: Int
  private let capacity: Int
  private(set) var count = 0

  init(_ base: UnsafeMutableRawPointer, stride: Int, capacity: Int) {
    unsafe self.base = base
    self.stride = stride
    self.capacity = capacity
  }

  var isFull: Bool { count >= capacity }

  mutating func append(_ record: CoreTick) {
    // SAFETY: nothing is delivered beyond the limit of the slice, which is the capacity.
    if isFull { invariantFailure("a record more than there is room for", Int64(capacity)) }
    let element = unsafe base + count * stride
    let size = MemoryLayout<CoreTick>.size
    unsafe element.storeBytes(of: record, as: CoreTick.self)
    if stride > size { unsafe (element + size).initializeMemory(as: UInt8.self, repeating: 0, count: stride - size) }
    count += 1
  }
}
