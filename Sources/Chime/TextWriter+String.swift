import ChimeCore

extension TextWriter {
  /// A label in quotation marks, as texts for people have it.
  package static func string(foreign text: String) -> String {
    string {
      $0.add(foreign: text)
      return true
    } ?? ""
  }

  /// What `body` writes, as a string; `nil` when it says that there is none.
  package static func string(roomFor room: Int = 256, _ body: (inout TextWriter) -> Bool) -> String? {
    var wanted = 0
    var isThere = false
    let text = unsafe String(unsafeUninitializedCapacity: room) { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
        var writer = unsafe TextWriter(characters.baseAddress, capacity: characters.count)
        isThere = body(&writer)
        wanted = writer.length + 1
        return min(writer.length, characters.count - 1)
      }
    }
    guard isThere else { return nil }
    // What is reported may have grown meanwhile.
    return wanted <= room ? text : string(roomFor: 2 * wanted, body)
  }
}
