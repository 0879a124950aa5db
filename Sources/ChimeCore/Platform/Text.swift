internal import CPlatform

/// Copies of texts that another thread may write meanwhile. What is said of a copy stays true.
package enum Text {
  /// Copies that many bytes, and puts a 0 behind them.
  static func copy(
    _ text: UnsafePointer<CChar>, _ count: Int, to memory: UnsafeMutableRawPointer
  ) -> UnsafeMutablePointer<CChar> {
    unsafe Memory.copyOnce(text, to: memory, count: count)
    let copy = unsafe memory.bindMemory(to: CChar.self, capacity: count + 1)
    unsafe copy[count] = 0
    return unsafe copy
  }

  /// Calls `body` with a copy, `nil` when there is no memory, and its length.
  /// - Parameter text: ends with a 0.
  package static func withCopy<Result>(
    of text: UnsafePointer<CChar>, _ body: (UnsafePointer<CChar>?, Int) -> Result
  ) -> Result {
    // Short ones need no memory.
    let short = 256
    let count = unsafe strlen(text)
    if count < short {
      return unsafe withUnsafeTemporaryAllocation(byteCount: short, alignment: 1) { room in
        unsafe body(room.baseAddress.map { unsafe UnsafePointer(copy(text, count, to: $0)) }, count)
      }
    }
    let memory = unsafe malloc(count + 1)
    defer { unsafe free(memory) }
    return unsafe body(memory.map { unsafe UnsafePointer(copy(text, count, to: $0)) }, count)
  }
}
