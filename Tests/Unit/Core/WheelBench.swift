@testable import Chime
@testable import ChimeCore

/// A wheel of its own on a queue's control block, with timers of that queue whose words and deadlines the test sets,
/// and beside it a plain array that says what the wheel should hold. The queue itself never runs a pass.
final class WheelBench {
  struct Row {
    let slot: TimerSlot
    var isRunning = false
    /// The wheel has been given the slot and has not handed it out.
    var isPlaced = false
    /// The deadline moved later after it was placed: the wheel may hand it out at the old time, as a hint.
    var isMoved = false
    var deadline: Int64 = 0
    var leeway: Int64 = 0

    /// Whether the wheel has to hand it out some day; the end of time never comes.
    var isAwaited: Bool { isRunning && isPlaced && deadline < .max }
  }

  let core: QueueCore
  let shift: UInt64
  var wheel: Wheel
  var rows: [Row] = []
  private(set) var now: Int64
  private var numberOfSlot: [UInt32: Int] = [:]
  private let scratch: PassScratch

  init(timers: Int, shift: UInt64 = 0, honoursLeeway: Bool = false, now: Int64 = 0) throws {
    core = try QueueCore.makeForTest(honoursLeeway: honoursLeeway)
    self.shift = shift
    self.now = now
    // Twice, so that a slot that the wheel gives twice is reported.
    guard let scratch = PassScratch(slots: 2 * timers + 1) else { throw Status.noMemory }
    self.scratch = scratch
    wheel = Wheel(control: core.control, shift: shift, now: now)
    for number in 0..<timers {
      guard let slot = TimerRef(try core.makeTimer())?.slot else { throw Status.invalidHandle }
      rows.append(Row(slot: slot))
      numberOfSlot[slot.index.number] = number
    }
  }

  deinit {
    wheel.close()
    scratch.unmap()
    core.release()
  }

  /// Closes the wheel and opens the next one on the same control block.
  func reopen(now: Int64) {
    wheel.close()
    self.now = now
    wheel = Wheel(control: core.control, shift: shift, now: now)
    for number in rows.indices { rows[number].isPlaced = false }
  }

  func place(_ number: Int, at deadline: Int64, leeway: Int64 = 0) {
    let slot = rows[number].slot
    if let writing = slot.beginWriting(slot.word) {
      writing.leeway = CompactDuration(leeway)
      writing.deadline = deadline
      writing.commit(slot.word.with(.running).withNextGeneration.withoutPostponement)
    }
    rows[number] = Row(
      slot: slot, isRunning: true, isPlaced: deadline < .max, deadline: deadline, leeway: slot.leeway.nanoseconds)
    wheel.place(slot, deadline: deadline, leeway: slot.leeway)
  }

  /// As `TimerRef.postpone` does: one swap of the word, and the wheel is not told.
  func postpone(_ number: Int, by distance: Int64) {
    let slot = rows[number].slot
    let distance = slot.word.postponement.saturatingAdd(distance)
    guard rows[number].isRunning, let word = slot.word.with(postponement: distance) else { return }
    _ = slot.swap(slot.word, for: word)
    rows[number].deadline = slot.deadline.saturatingAdd(distance)
    rows[number].isMoved = true
  }

  /// As `TimerRef.cancel` does: one swap of the word, and the wheel is not told.
  func cancel(_ number: Int) {
    guard rows[number].isRunning else { return }
    let slot = rows[number].slot
    _ = slot.swap(slot.word, for: slot.word.with(.cancelled).withoutPostponement)
    rows[number].isRunning = false
  }

  /// The first tick at or after the row's position in its leeway.
  func tick(of row: Row) -> UInt64 {
    let time =
      core.control.honoursLeeway ? Placement.time(deadline: row.deadline, leeway: row.leeway) : row.deadline
    let unit = Int128(1) << Int128(shift)
    return UInt64((max(Int128(time), 0) + unit - 1) / unit)
  }

  /// The earliest position of a timer that runs.
  var earliest: Int64? {
    rows.filter(\.isAwaited).map { max(tick(of: $0), UInt64(now) >> shift) }.min()
      .map { Int64(clamping: Int128($0) << Int128(shift)) }
  }

  /// What is wrong with the bound on entries; it holds after each placement.
  var excess: String? {
    let most = 2 * wheel.placedCount + WheelTicks.tolerance
    return wheel.entryCount <= most ? nil : "\(wheel.entryCount) entries, \(most) allowed"
  }

  /// Advances, and says what the wheel did wrong: a slot early, late, or twice.
  func advance(to time: Int64) -> String? {
    now = max(now, time)
    let target = UInt64(now) >> shift
    var due = scratch.due
    wheel.advance(to: now, into: &due)
    var moved: [Int] = []
    for slot in due.indices.map({ due[$0].number }) {
      guard let number = numberOfSlot[slot], rows[number].isPlaced else { return "\(slot) twice, or never placed" }
      rows[number].isPlaced = false
      guard rows[number].isRunning, tick(of: rows[number]) > target else { continue }
      if !rows[number].isMoved { return "\(number) early: \(tick(of: rows[number])) at \(target)" }
      moved.append(number)
    }
    if let row = rows.first(where: { $0.isAwaited && tick(of: $0) <= target }) {
      return "late: \(tick(of: row)) at \(target)"
    }
    // The pass looks at the word and sends such a timer on.
    for number in moved { place(number, at: rows[number].deadline, leeway: rows[number].leeway) }
    return nil
  }
}
