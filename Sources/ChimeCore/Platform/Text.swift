internal import CPlatform

/// Writes a text into memory of the caller's: as many of its characters as there is room for, behind them a 0, and counts the
/// length of the whole. Makes no object, so that a report needs no memory.
@safe package struct TextWriter {
  // SAFETY: the caller's, of that capacity, as long as the writer is used.
  private let base: UnsafeMutablePointer<CChar>?
  private let capacity: Int
  /// Bytes of the whole text.
  package private(set) var length = 0
  /// Where the last character begins that does so within the capacity: there a text ends that is longer.
  private var lastCharacter = 0

  /// - Parameter capacity: bytes behind `base`, the 0 at the end included; with 0 the text is only measured.
  package init(_ base: UnsafeMutablePointer<CChar>?, capacity: Int) {
    unsafe self.base = base
    self.capacity = unsafe base == nil ? 0 : capacity
  }

  package func end() {
    if capacity > 0 { unsafe base?[length < capacity ? length : lastCharacter] = 0 }
  }

  private mutating func add(byte: UInt8) {
    if length < capacity - 1 { unsafe base?[length] = CChar(bitPattern: byte) }
    if length < capacity, byte & 0xc0 != 0x80 { lastCharacter = length }
    length += 1
  }

  mutating func add(_ text: StaticString) {
    for i in 0..<text.utf8CodeUnitCount { unsafe add(byte: text.utf8Start[i]) }
  }

  package mutating func add(_ text: String) {
    for byte in text.utf8 { add(byte: byte) }
  }

  /// Whether a text is UTF-8.
  /// - Parameter text: ends with a 0.
  package static func isUTF8(_ text: UnsafePointer<CChar>) -> Bool {
    var next: UnsafePointer<CChar>? = unsafe text
    while true {
      let character = unsafe chime_next_character(&next)
      if character <= 0 { return character == 0 }
    }
  }

  /// A text that is not Chime's own, in quotation marks: `chime_write_foreign` says what becomes of its characters.
  /// - Parameter text: ends with a 0.
  package mutating func add(foreign text: UnsafePointer<CChar>) {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(CHIME_PIECE)) { piece in
      guard let address = piece.baseAddress else { return }
      var next: UnsafePointer<CChar>? = unsafe text
      add("\"")
      while unsafe next?.pointee != 0 {
        let count = unsafe chime_write_foreign(address, &next)
        for i in 0..<count { unsafe add(byte: UInt8(bitPattern: piece[i])) }
      }
      add("\"")
    }
  }

  package mutating func add(foreign text: String) { unsafe text.withCString { unsafe add(foreign: $0) } }

  /// A sentence of Chime's own.
  /// - Parameter text: ends with a 0.
  mutating func add(_ text: UnsafePointer<CChar>) {
    var next = unsafe text
    while unsafe next.pointee != 0 {
      unsafe add(byte: UInt8(bitPattern: next.pointee))
      unsafe next += 1
    }
  }

  mutating func add(_ number: UInt64) {
    if number >= 10 { add(number / 10) }
    add(byte: 48 + UInt8(number % 10))
  }

  /// A text in which `%d` stands for a duration as people read it, three digits and a unit, and `%n` for a number.
  @inline(never)
  mutating func add(phrase format: StaticString, _ value: Int64) {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 120) { text in
      // SAFETY: a literal ends with a zero byte.
      let format = unsafe UnsafeRawPointer(format.utf8Start).assumingMemoryBound(to: CChar.self)
      guard let address = text.baseAddress else { return }
      unsafe chime_write_sentence(address, text.count, format, format, value, 0)
      unsafe add(UnsafePointer(address))
    }
  }
}

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
  package static func withCopy<Result, Failure: Error>(
    of text: UnsafePointer<CChar>, _ body: (UnsafePointer<CChar>?, Int) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    // Short ones need no memory.
    let short = 256
    let count = unsafe strlen(text)
    if count < short {
      return try unsafe withUnsafeTemporaryAllocation(byteCount: short, alignment: 1) { room throws(Failure) in
        try unsafe body(room.baseAddress.map { unsafe UnsafePointer(copy(text, count, to: $0)) }, count)
      }
    }
    let memory = unsafe malloc(count + 1)
    defer { unsafe free(memory) }
    return try unsafe body(memory.map { unsafe UnsafePointer(copy(text, count, to: $0)) }, count)
  }
}
