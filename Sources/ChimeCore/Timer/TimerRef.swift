internal import CPlatform
import Synchronization

/// A timer as its id names it: the slot, and the life of the slot that the id means. Every operation
/// of the C and Swift interfaces is a method of this type, in files by subject. Any thread, no waiting but where said.
///
/// An operation reads the word, checks that the slot still lives the id's life, and swaps the word once; what changes
/// the record takes the writer bit first, and a query reads the timer's image. Nothing is called back and nothing is
/// allocated while the bit is held, but a timer's extras.
package struct TimerRef: Sendable {
  let slot: TimerSlot
  let life: UInt32

  @inline(__always)
  init(slot: TimerSlot, life: UInt32) {
    self.slot = slot
    self.life = life
  }

  /// `nil` when no timer can ever have had this id; whether it still lives, each operation finds out itself.
  @inline(__always)
  package init?(_ id: UInt64) {
    guard let handle = Handle(id, kind: .timer), let slot = Slab.find(handle.index) else { return nil }
    self.init(slot: slot, life: handle.life)
  }

  /// The cell of the timer's queue.
  @inline(__always)
  var cell: QueueCell { Slab.owner(of: slot) }

  package var id: UInt64 { Handle.id(.timer, index: slot.index, life: life) }

  /// The timer as the last operation that came to its end has left it; `nil` when the id is stale. For queries: it
  /// changes nothing, and waits for nobody.
  var image: TimerImage? {
    let image = slot.image
    return image.word.isLive && image.life == life ? image : nil
  }

  /// The word, if the timer lives. The life is read after the word: a later life is stored before its word is
  /// (P4b, Sources/README.md).
  @inline(__always)
  var word: TimerWord? {
    let word = slot.word
    return word.isLive && slot.life == life ? word : nil
  }

  // MARK: Writing

  /// Becomes the timer's writer and gives the word as it was; `nil` when the id is stale.
  /// - Parameter sending: the pass will have to look: the timer is sent to the inbox at once, which `publish` would have
  ///   to do in a step of its own.
  @inline(__always)
  func beginWriting(sending: Bool = false) -> TimerWord? {
    let image = WriterImages.own()
    var backoff = Backoff()
    while let word {
      if word.hasWriter {
        backoff.pause()
        continue
      }
      let sends = sending && !word.isInInbox
      if slot.beginWriting(word, setting: sends ? TimerWord.inboxBit : 0, image) {
        if sends { cell.push(slot) }
        return word
      }
    }
    WriterImages.finish(image.index)
    return nil
  }

  /// Ends the writing of a writer that has changed nothing, whom nobody has to hear of.
  func abandonWriting(_ before: TimerWord) {
    while true {
      let current = slot.word
      guard slot.swap(current, for: before.over(current).clearing(TimerWord.writerBit)) else { continue }
      WriterImages.finish(current.image)
      let cell = cell
      if !before.isRunning { cell.noteEnd(of: slot) }
      // Between flag and link a handler's end may have met the flag, and woken a pass that found nothing (P1d,
      // Sources/README.md).
      if current.isInInbox, before.hasExtra || before.isRunning {
        cell.announce(before.hasExtra ? QueueCell.atOnce : wakeTime(before, cell))
      }
      return
    }
  }

  /// Publishes what the writer decided, hands the timer to the pass if it has to look, and wakes the queue if it
  /// must look earlier than it would. True when a callback of the timer was running at that moment.
  @discardableResult
  func endWriting(_ new: TimerWord) -> Bool {
    let cell = cell
    if new.hasExtra { return publish(new, at: QueueCell.atOnce, on: cell) }
    let time = new.isRunning ? wakeTime(new, cell) : .max
    if time == .max {
      let isBusy = publish(new)
      cell.noteEnd(of: slot)
      return isBusy
    }
    // Where the wheel has an entry for the timer in time, that brings the pass: a timer that moves later leaves it there.
    // The writer bit was set before this look: what the pass takes away from now on, it takes knowing of the writer
    // (P2, Sources/README.md).
    let placed = Slab.place(of: slot.index).tick ?? .max
    if placed > Wheel.tick(notBefore: time, shift: cell.shift) { return publish(new, at: time, on: cell) }
    let isBusy = publish(new)
    // Who looked for the next deadline may have placed it there, and armed nothing.
    cell.announce(time)
    return isBusy
  }

  /// Publishes a word at which the pass does not have to look. True when a callback of the timer was running.
  @inline(__always)
  private func publish(_ new: TimerWord) -> Bool {
    while true {
      let current = slot.word
      guard slot.swap(current, for: new.over(current).clearing(TimerWord.writerBit)) else { continue }
      WriterImages.finish(current.image)
      return current.isBusy
    }
  }

  /// Publishes a word, with its slot in the inbox if the pass has to look. The slot is linked there before the word can be
  /// seen without a writer: so whoever meets the flag of a timer that nobody writes knows that a pass will find it. (Only
  /// a callback's end, and `TimerSlot.dispose`, link after they have set the flag, and look or wake afterwards: see
  /// `QueueCore.sendOn`; P1, P1d, Sources/README.md.)
  /// - Parameter time: at which the pass has to look; `.max` for never.
  @discardableResult
  func publish(_ new: TimerWord, at time: Int64, on cell: QueueCell) -> Bool {
    while true {
      let current = slot.word
      if time != .max, !current.isInInbox {
        if slot.set(TimerWord.inboxBit) { cell.push(slot) }
        continue
      }
      guard slot.swap(current, for: new.over(current).clearing(TimerWord.writerBit)) else { continue }
      WriterImages.finish(current.image)
      if time != .max { cell.announce(time) }
      return current.isBusy
    }
  }

  /// When the pass has to look at a running timer.
  @inline(__always)
  func wakeTime(_ word: TimerWord, _ cell: QueueCell) -> Int64 {
    let deadline = slot.deadline.saturatingAdd(word.postponement)
    let leeway = slot.leeway
    guard leeway.bits != 0, cell.honoursLeeway else { return deadline }
    return Placement.time(deadline: deadline, leeway: leeway.nanoseconds)
  }

  /// The word with the next generation. The word's bits run over into the extras; false when those cannot be had.
  @inline(__always)
  func advanceGeneration(_ word: inout TimerWord) -> Bool {
    if word.generation == TimerWord.generationMask {
      guard let extras = slot.makeExtras() else { return false }
      extras.generationHigh &+= 1
    }
    word = word.withNextGeneration
    return true
  }
}

/// Waits for another thread to finish a few instructions: spins, then yields, then sleeps, so that a real-time thread
/// does not spin for ever against the one it has pushed off the processor.
struct Backoff {
  private var rounds = 0
  static var roundsWithoutSleep: Int { 63 }

  mutating func pause() {
    rounds += 1
    if rounds >= 32 { Backoff.rest(after: rounds) }
  }

  // Apart, so that those who hardly ever wait have no more of it than a count.
  @inline(never)
  private static func rest(after rounds: Int) {
    if rounds <= Backoff.roundsWithoutSleep {
      sched_yield()
    } else {
      withoutCancellation { _ = usleep(50) }
    }
  }
}

extension ExtrasRef {
  /// Notes that a registration or cancel callback is to be delivered. They alternate, whatever happens: between two
  /// activations that were not delivered there is a cancel, and the other way round.
  func addCallback(_ kind: TickKind) {
    update { extras in
      if extras.pendingCallbacks == 0 { extras.nextIsArmed = kind == .armed }
      extras.pendingCallbacks += 1
    }
  }
}
