import Synchronization

/// One callback of one timer: the claim, the tick, the call, the end.
extension QueueCore {
  /// What the claim decided to call.
  private struct Delivery {
    var function: TickFunction
    var kind: TickKind
    var sequence: UInt64 = 0
    var missed: UInt64 = 0
    var scheduled: Int64
  }

  /// Starts the one callback that is due for a slot, if there is one, and does what follows its return. Runs where the
  /// queue's handlers run. Gives the time it read.
  ///
  /// Nothing is remembered from the moment the timer was found due: state, generation and deadline are read here, so a
  /// tick of an older generation cannot start (promise 7).
  /// - Parameter life: the life of the slot that the turn was given to; `nil` for whichever there is.
  func visit(_ slot: TimerSlot, _ turn: Turn, of life: UInt32?, _ frame: CurrentFrame) -> Int64 {
    let now = cell.now
    let image = frame.thread.image ?? WriterImages.own()
    var word = slot.word
    var backoff = Backoff()
    while true {
      let isOver = !word.isLive || isClosing.load(ordering: .sequentiallyConsistent)
      if word.hasWriter, !isOver {
        // Not passed over, a busy timer's neither: the writer may rely on the place that was taken away for this visit,
        // and until it has come to its end nobody else would see that the timer runs (P2, Sources/README.md).
        backoff.pause()
        word = slot.word
        continue
      }
      if isOver || word.isBusy {
        // One that was taken as a record has lost its place here: the next taking puts it back.
        if word.isLive, word.isBusy, givesRecords { endIsWanted = true }
        WriterImages.finish(image.index)
        return now
      }
      if !word.hasExtra {
        let deadline = slot.deadline.saturatingAdd(word.postponement)
        guard word.isRunning, turn == .due, deadline <= now, deadline != .max else {
          if word.isRunning, turn == .due { sendOn(slot, word) }
          WriterImages.finish(image.index)
          return now
        }
      }
      if slot.beginWriting(word, setting: TimerWord.busyBit, image) { break }
      word = slot.word
    }
    // The timer is busy, and this thread is its writer. A handler that ran before this claim ended before it.
    let target = slot.extras?.target
    let hasTarget = target?.hold() ?? false
    let targetIsGone = target != nil && !hasTarget
    let timer = TimerRef(slot: slot, life: slot.life)
    let isTurn = life == nil || life == timer.life
    guard let delivery = isTurn ? decide(slot, turn, &word, now, callbacksOnly: targetIsGone) : nil else {
      // What is to be delivered has another turn, or the target has gone.
      publish(slot, word)
      frame.slot = slot.index
      if hasTarget { target?.letGo() }
      if isAbandoned { return now }
      frame.slot = nil
      end(slot, delay: nil, frame)
      if targetIsGone { target?.end(timer) }
      return now
    }
    let generation = slot.generation(word)
    let context = slot.context
    let named = slot.extras?.named
    // Who takes records says when one was taken, not when it is done with it.
    let waitsForEnd = delivery.kind == .due && word.isRunning && slot.flags.contains(.delayPolicy) && sink == nil
    let provisional = slot.deadline
    publish(slot, word)

    if delivery.kind == .due || delivery.kind == .fired {
      counters.count(late: now.saturatingSubtract(delivery.scheduled), isAlone: handOver == nil)
    }
    if delivery.missed > 0 { counters.count(missed: delivery.missed) }
    if handOver == nil { delivered += 1 }
    let record = TickRecord(
      timer: timer.id, generation: generation, sequence: delivery.sequence, missed: delivery.missed,
      scheduled: cell.outer(delivery.scheduled), actual: cell.outer(now), context: context,
      target: hasTarget ? target?.object ?? .none : .none, kind: delivery.kind.rawValue)
    let tick = StartedTick(
      slot: slot, target: hasTarget ? target : nil, delay: waitsForEnd ? (generation, provisional) : nil)
    if word.state == .finished, delivery.kind == .due { Trace.note(.finished, timer) }
    if sink != nil {
      sink?.append(record)
      take(tick)
    } else {
      frame.slot = slot.index
      Trace.noteCall(record)
      let returned =
        if let named, delivery.kind == .due || delivery.kind == .fired {
          named.call(record, after: delivery.function)
        } else {
          delivery.function(record)
        }
      if isAbandoned { return now }
      // Who ended the thread is not called again, on the next one.
      if !returned { _ = timer.cancel() }
      Trace.note(.returned, timer)
      end(tick, frame)
    }
    return now
  }

  /// Keeps a tick that was taken as a record until it ends.
  private func take(_ tick: StartedTick) {
    taken.append(tick)
    // Its end may have something to say: a target that is let go, a timer that is released.
    if tick.slot.hasExtras || tick.slot.flags.contains(.selfRelease) { endIsWanted = true }
    // Busy, but when it falls due again the host must come and end this tick.
    place(tick.slot, tick.slot.word)
  }

  /// Ends the ticks that were taken as records.
  func endTaken(_ frame: CurrentFrame) {
    endIsWanted = false
    // One after the other: what an end calls may take records of its own kind of end with it.
    let count = taken.count
    for i in 0..<count { end(taken[i], frame) }
    taken.removeFirst(count)
  }

  /// Ends a tick: what it held is let go, and the timer is no longer busy.
  func end(_ tick: StartedTick, _ frame: CurrentFrame) {
    // Still busy: who waits for the timer's end waits for the destructor, too.
    tick.target?.letGo()
    if isAbandoned { return }
    frame.slot = nil
    end(tick.slot, delay: tick.delay, frame)
  }

  /// Puts a timer that is not due yet where it belongs.
  private func sendOn(_ slot: TimerSlot, _ word: TimerWord) {
    if handOver == nil {
      place(slot, word)
    } else {
      slot.pushUnlessThere(cell)
      // Between flag and link a writer may have met the flag, and woken a pass that found nothing: what it wanted is
      // announced here, as it is now (P1d, Sources/README.md).
      _ = slot.wordInOrder
      let image = slot.image
      if image.word.isReleased { cell.wakeToDispose() }
      if image.word.hasExtra || image.word.isRunning {
        cell.announce(image.word.hasExtra ? QueueCell.atOnce : image.dueTime)
      }
    }
  }

  /// Writes down that a callback starts: counts it, moves the schedule on, and ends the timer if this is its last tick.
  /// - Parameter callbacksOnly: the target has gone, and nothing but registration and cancel callbacks may come.
  private func decide(
    _ slot: TimerSlot, _ turn: Turn, _ word: inout TimerWord, _ now: Int64, callbacksOnly: Bool
  ) -> Delivery? {
    let deadline = slot.deadline.saturatingAdd(word.postponement)
    let isDue = word.isRunning && deadline <= now && deadline != .max
    defer { word = word.withExtra(of: slot) }
    if let extras = slot.extras {
      let value = extras.value
      if value.pendingCallbacks > 0 { return popCallback(extras, now) }
      if callbacksOnly {
        extras.update { extras in extras.firePending = false }
        return nil
      }
      if turn == .callback { return nil }
      if value.firePending, turn == .fired || !isDue || value.fireTime < deadline {
        extras.update { extras in extras.firePending = false }
        return unsafe Delivery(
          function: slot.handler.unsafelyUnwrapped, kind: .fired, sequence: slot.nextSequence(),
          scheduled: min(value.fireTime, now))
      }
    }
    guard isDue, turn == .due else { return nil }
    let (missed, isLast) = moveOn(slot, deadline, now)
    word = word.withoutPostponement
    if isLast, let next = Transition(from: .running, on: .lastTick).next { word = word.with(next) }
    return unsafe Delivery(
      function: slot.handler.unsafelyUnwrapped, kind: .due, sequence: slot.nextSequence(), missed: missed.all,
      scheduled: missed.onGrid == 0 ? deadline : deadline.saturatingAdd(missed.onGrid, times: slot.period))
  }

  /// Takes the next registration or cancel callback off the list.
  private func popCallback(_ extras: ExtrasRef, _ now: Int64) -> Delivery? {
    extras.update { extras in
      extras.pendingCallbacks -= 1
      // With both handlers they alternate; with one there is only its kind.
      let isArmed = extras.cancelHandler == nil || extras.registrationHandler != nil && extras.nextIsArmed
      extras.nextIsArmed = !isArmed
      guard let function = isArmed ? extras.registrationHandler : extras.cancelHandler else { return nil }
      return Delivery(function: function, kind: isArmed ? .armed : .cancelled, scheduled: now)
    }
  }

  /// Moves the schedule past the tick that starts now. Gives the due times it missed, those since the deadline and all
  /// with those carried over a suspend, and whether it is the last.
  private func moveOn(
    _ slot: TimerSlot, _ deadline: Int64, _ now: Int64
  ) -> (missed: (onGrid: UInt64, all: UInt64), isLast: Bool) {
    let flags = slot.flags
    guard flags.contains(.repeating) else { return ((0, 0), true) }
    var onGrid: UInt64 = 0
    if flags.contains(.delayPolicy) {
      slot.deadline = now.saturatingAdd(slot.period)  // until the handler's end
    } else {
      onGrid = UInt64(bitPattern: now &- deadline) / UInt64(slot.period)
      slot.deadline = deadline.saturatingAdd(onGrid &+ 1, times: slot.period)
    }
    guard let extras = onGrid > 0 ? slot.makeExtras() : slot.extras else { return ((onGrid, onGrid), false) }
    var all = onGrid &+ extras.value.carriedMissed
    extras.update { $0.carriedMissed = 0 }
    guard extras.tickLimit > 0 else {
      extras.missed &+= all
      return ((onGrid, all), false)
    }
    let left = extras.tickLimit - extras.dueCount
    let isLast = all >= left - 1
    if isLast { all = left - 1 }
    extras.missed &+= all
    extras.dueCount += all + 1
    return ((min(onGrid, all), all), isLast)
  }

  /// Ends the claim's writing; the timer stays busy.
  private func publish(_ slot: TimerSlot, _ word: TimerWord) {
    while true {
      let current = slot.word
      if slot.swap(current, for: word.over(current).clearing(TimerWord.writerBit)) {
        return WriterImages.finish(current.image)
      }
    }
  }

  /// After the callback's return: the timer is no longer busy, and goes where it belongs.
  private func end(_ slot: TimerSlot, delay: (generation: UInt64, provisional: Int64)?, _ frame: CurrentFrame) {
    if let delay { countFromEnd(slot, delay.generation, delay.provisional) }
    var backoff = Backoff()
    var word: TimerWord
    var owned = false
    var releasesItself = false
    var isWaited = false
    while true {
      let current = slot.word
      word = current.clearing(TimerWord.busyBit | TimerWord.waitedBit)
      releasesItself = false
      if current.isReleased {
        word = word.setting(TimerWord.writerBit)
        owned = true
      } else if slot.flags.contains(.selfRelease), current.isAtRest, !current.hasExtra {
        if current.hasWriter {
          backoff.pause()
          continue
        }
        word = word.with(code: TimerWord.releasedCode).withNextGeneration.withoutPostponement
          .setting(TimerWord.writerBit)
        owned = true
        releasesItself = true
      } else {
        owned = false
      }
      if slot.swap(current, for: word) {
        isWaited = current.isWaited
        break
      }
    }
    if isWaited { WaitRegistry.timerEnded(slot.index) }
    if releasesItself { Trace.note(.released, TimerRef(slot: slot, life: slot.life)) }
    if owned {
      handOver == nil ? dying.append(slot) : dispose(of: slot, frame)
    } else if word.hasExtra {
      slot.pushUnlessThere(cell)
      if handOver != nil { cell.wake() }
    } else if word.isRunning || word.hasWriter {
      sendOn(slot, word)
    }
  }

  /// Policy *delay*: the interval counts from the end of the handler, unless a later transition has decided otherwise.
  private func countFromEnd(_ slot: TimerSlot, _ generation: UInt64, _ provisional: Int64) {
    let timer = TimerRef(slot: slot, life: slot.life)
    guard let word = timer.beginWriting() else { return }
    guard word.isRunning, slot.generation(word) == generation else {
      timer.abandonWriting(word)
      return
    }
    let fromEnd = cell.now.saturatingAdd(slot.period)
    // A postponement made meanwhile counts if it is later.
    let current = slot.deadline.saturatingAdd(word.postponement)
    slot.deadline = current > provisional ? max(fromEnd, current) : fromEnd
    timer.endWriting(word.withoutPostponement)
  }

  /// Calls what a released timer still has to call, then frees its slot. The caller owns the slot.
  func dispose(of slot: TimerSlot, _ frame: CurrentFrame) {
    if let extras = slot.extras, !givesRecords {
      frame.slot = slot.index
      // Busy, for who releases the queue meanwhile.
      _ = slot.set(TimerWord.busyBit)
      while let delivery = nextLastCallback(extras) {
        let target = extras.target
        let hasTarget = target?.hold() ?? false
        delivery.function(lastRecord(of: slot, delivery.kind, hasTarget ? target?.object ?? .none : .none))
        if hasTarget { target?.letGo() }
        if isAbandoned { return }
      }
      if slot.clear(TimerWord.busyBit, TimerWord.waitedBit).isWaited { WaitRegistry.timerEnded(slot.index) }
      extras.named?.close()
      if let finalizer = extras.value.finalizer { finalizer(slot.context) }
      if isAbandoned { return }
      frame.slot = nil
    }
    slot.free(cell)
  }

  /// Writes down as records what a released timer still has to say, then frees its slot; false when there is no room.
  func disposeIntoRecords(_ slot: TimerSlot, _ frame: CurrentFrame) -> Bool {
    while let extras = slot.extras, extras.value.pendingCallbacks > 0 || extras.value.finalizer != nil {
      guard sink?.isFull == false else { return false }
      if let delivery = nextLastCallback(extras) {
        sink?.append(lastRecord(of: slot, delivery.kind, .none))
      } else {
        extras.update { $0.finalizer = nil }
        sink?.append(lastRecord(of: slot, .finalize, .none))
      }
      delivered += 1
    }
    dispose(of: slot, frame)
    return true
  }

  private func nextLastCallback(_ extras: ExtrasRef) -> Delivery? {
    while extras.value.pendingCallbacks > 0 {
      if let delivery = popCallback(extras, cell.now) { return delivery }
    }
    return nil
  }

  private func lastRecord(of slot: TimerSlot, _ kind: TickKind, _ target: Context) -> TickRecord {
    let now = cell.outer(cell.now)
    return TickRecord(
      timer: Handle.id(.timer, index: slot.index, life: slot.life), generation: slot.generation(slot.word), sequence: 0,
      missed: 0, scheduled: now, actual: now, context: slot.context, target: target, kind: kind.rawValue)
  }
}

/// A callback that has been called, or taken as a record, and has not ended.
struct StartedTick {
  let slot: TimerSlot
  /// Held for the callback.
  let target: TimerTarget?
  /// Policy *delay*: the generation and deadline that the callback's end finds, unless something decides otherwise.
  let delay: (generation: UInt64, provisional: Int64)?
}

extension TimerWord {
  /// Idle, finished or cancelled.
  @inline(__always)
  var isAtRest: Bool {
    switch state {
    case .idle, .finished, .cancelled: true
    case .running, .suspended, nil: false
    }
  }
}

extension TimerSlot {
  /// Links the slot in the inbox unless it hangs there.
  func pushUnlessThere(_ cell: QueueCell) {
    while true {
      let word = word
      if word.isInInbox { return }
      if swap(word, for: word.setting(TimerWord.inboxBit)) {
        cell.push(self)
        return
      }
    }
  }
}
