import CCoroutines
@testable import ChimeCore
import Glibc

/// The interleaving of one run, as a list to read: thread, call, operation, what it read and wrote, and where.
final class StepList {
  struct Entry {
    var thread: Int
    var operation: String
    var place: String
    var old: UInt64?
    var new: UInt64?
    /// An operation on an atomic, which says next what it found and wrote.
    var isOpen = false
  }

  /// Steps before the race are not written down.
  var isOn = false

  private(set) var entries: [Entry] = []
  private var names: [String] = []

  func removeAll() {
    isOn = false
    entries.removeAll()
    names.removeAll()
  }

  func add(_ scheduler: Scheduler, _ operation: StaticString, _ file: StaticString, _ line: UInt32) {
    guard isOn else { return }
    let place = line == 0 ? "" : "\(file):\(line)"
    entries.append(Entry(thread: scheduler.current.index, operation: "\(operation)", place: place, isOpen: line != 0))
  }

  func note(_ old: UInt64, _ new: UInt64) {
    guard isOn, entries.last?.isOpen == true else { return }
    entries[entries.count - 1].isOpen = false
    entries[entries.count - 1].old = old
    entries[entries.count - 1].new = new
  }

  func addJump(_ time: Int64) {
    if isOn { entries.append(Entry(thread: -1, operation: "clock is \(time)", place: "")) }
  }

  /// What a scenario says: the begin and the end of a call.
  func say(_ scheduler: Scheduler, _ text: String) {
    if Seam.isTraced, isOn { entries.append(Entry(thread: scheduler.current.index, operation: text, place: "")) }
  }

  /// After the run.
  func finish(_ scheduler: Scheduler) { names = scheduler.coroutines.map { "\($0.index) \($0.name)" } }

  func print(last most: Int) {
    let left = entries.count - most
    if left > 0 { Swift.print("    … \(left) steps before; TRACE=all prints them") }
    var before = -2
    for entry in entries.suffix(most) {
      let name = entry.thread < 0 ? "clock" : names.indices.contains(entry.thread) ? names[entry.thread] : "?"
      let shown = entry.thread == before ? "" : name
      before = entry.thread
      var line = "    " + padded(shown, 20) + padded(entry.operation, 18)
      if let old = entry.old, let new = entry.new {
        let isWord = entry.place.hasPrefix("ChimeCore/TimerSlot") && !["load", "store"].contains(entry.operation)
        let text = isWord ? StepList.word : StepList.text
        line += padded(old == new ? text(old) : "\(text(old)) -> \(text(new))", 40)
      } else if !entry.place.isEmpty {
        line += padded("", 40)
      }
      Swift.print(line + entry.place)
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

func padded(_ text: String, _ width: Int) -> String {
  text.count >= width ? text + " " : text + String(repeating: " ", count: width - text.count)
}
