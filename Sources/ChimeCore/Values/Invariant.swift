internal import CPlatform

/// Whether what the code relies on is checked as it runs: in debug builds, which the tests of this package are, and with the
/// flag CHIME_CHECKS in others (`make -C Sources TARGET=checked`).
var invariantsAreChecked: Bool {
  #if DEBUG || CHIME_CHECKS
    true
  #else
    false
  #endif
}

/// Checks an index into memory that has no checks of its own, where checking it always would cost too much.
func checkIndex(_ index: Int, below end: Int) {
  if invariantsAreChecked, index < 0 || index >= end {
    invariantFailure("an index beyond the end", Int64(index), Int64(end))
  }
}

/// Ends the process because Chime itself is wrong: never for anything a caller can do.
/// - Parameters:
///   - what: what does not hold.
///   - first, second: numbers that tell more.
@inline(never)
package func invariantFailure(_ what: StaticString, _ first: Int64 = 0, _ second: Int64 = 0) -> Never {
  var text = "Chime bug, please report: "
  text += what.description
  text += " (" + String(first) + ", " + String(second) + ")\n"
  var bytes = Array(text.utf8)
  unsafe bytes.withUnsafeMutableBufferPointer {
    unsafe $0.withMemoryRebound(to: CChar.self) { unsafe chime_write_error($0.baseAddress, $0.count) }
  }
  abort()
}
