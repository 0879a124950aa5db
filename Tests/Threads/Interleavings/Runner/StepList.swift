@testable import ChimeCore

/// The interleaving of one run, as a list to read: thread, call, operation, what it read and wrote, and where.
final class StepList {
  private struct Entry {
    var thread: String
    var operation: String
    /// Of an operation on an atomic; it says next what it found and wrote.
    var place: String
    var change = ""
  }

  /// Steps before the race are not written down.
  var isOn = false
  private var entries: [Entry] = []

  func removeAll() {
    isOn = false
    entries.removeAll()
  }

  /// A step of the thread that runs, or the begin or the end of a scenario's call.
  func add(
    _ operation: @autoclosure () -> String, at place: @autoclosure () -> String = "",
    by thread: @autoclosure () -> String = "\(Scheduler.shared.current.index) \(Scheduler.shared.current.name)"
  ) {
    if Seam.isTraced, isOn { entries.append(Entry(thread: thread(), operation: operation(), place: place())) }
  }

  func note(_ old: UInt64, _ new: UInt64) {
    guard isOn, let last = entries.last, !last.place.isEmpty, last.change.isEmpty else { return }
    let isWord = last.place.hasPrefix("ChimeCore/TimerSlot") && !["load", "store"].contains(last.operation)
    let text = isWord ? StepList.word : StepList.text
    entries[entries.count - 1].change = old == new ? text(old) : "\(text(old)) -> \(text(new))"
  }

  func print(last most: Int) {
    let left = entries.count - most
    if left > 0 { Swift.print("    … \(left) steps before; TRACE=all prints them") }
    var before = ""
    for entry in entries.suffix(most) {
      let columns = [(entry.thread == before ? "" : entry.thread, 20), (entry.operation, 18), (entry.change, 40)]
      before = entry.thread
      let line = columns.map { text, width in
        text + String(repeating: " ", count: max(width - text.count, text.isEmpty ? 0 : 1))
      }
      Swift.print("    " + line.joined() + entry.place)
    }
  }

  /// A timer's word.
  private static func word(_ bits: UInt64) -> String {
    let states = ["free", "idle", "running", "suspended", "finished", "cancelled", "released", "?"]
    let flags = zip(["busy", "writer", "inbox", "callback pending", "enqueued", "waited"], 3...)
      .filter { bits >> $0.1 & 1 != 0 }.map(\.0)
    let generation = TimerWord(bits).generation
    return ([states[Int(bits & 7)]] + flags + ["\(generation)"]).joined(separator: "+")
  }

  private static func text(_ bits: UInt64) -> String {
    let number = Int64(bitPattern: bits)
    return number > -1_000_000 && number < 1 << 36 ? "\(number)" : "0x" + String(bits, radix: 16)
  }
}
