import CPlatform
import Testing

@testable import ChimeCore

/// Each place that cuts a text keeps as many whole characters as there is room for.
@Suite struct TextTests {
  static let cuts: [(what: String, room: Int, cut: @Sendable (String) -> [UInt8])] = [
    ("a thread's name", 15, { Array(OwnThread.cut($0).utf8) }),
    (
      "a label in a trace", Int(CHIME_TRACE_LABEL) - 1,
      { label in
        var event = chime_trace_event()
        unsafe chime_trace_set_label(&event, label)
        return unsafe withUnsafeBytes(of: event.label) { unsafe Array($0.prefix { $0 != 0 }) }
      }
    ),
    (
      "a report", 20,
      { text in
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 22) { room in
          unsafe room.initialize(repeating: 0x55)
          var writer = unsafe TextWriter(room.baseAddress, capacity: 21)
          writer.add(text)
          writer.end()
          #expect(unsafe writer.length == text.utf8.count && room[21] == 0x55)
          return unsafe room.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        }
      }
    ),
  ]

  /// Of one to four bytes, behind so many of one.
  @Test(arguments: cuts.indices) func aTextIsCutBetweenCharacters(number: Int) {
    let (what, room, cut) = Self.cuts[number]
    for before in 0...room + 1 {
      for character in ["a", "\u{e4}", "\u{23f0}", "\u{1f570}"] {
        for behind in ["", character, "z\(character)"] {
          let text = String(repeating: "x", count: before) + character + behind
          var kept: [UInt8] = []
          for next in text.unicodeScalars.map({ Array(String($0).utf8) }) {
            if kept.count + next.count > room { break }
            kept += next
          }
          #expect(cut(text) == kept, "\(what): \(text)")
        }
      }
    }
  }
}
