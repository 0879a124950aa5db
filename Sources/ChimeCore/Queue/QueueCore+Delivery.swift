/// One callback of one timer: the claim, the tick, the call, the end.
extension TimerSlot {
  /// Stores the next due time of a running timer, on whatever clock. The caller is the writer.
  @inline(__always)
  fileprivate func move(from due: Int64, to next: Int64, _ word: TimerWord) -> TimerWord {
    moveWallDeadline(by: next.saturatingSubtract(due))
    return store(due: next, word)
  }
}

extension SideRecordRef {
  /// Counts a tick that stands for so many missed due times of the grid, and for those carried over a suspend, against the
  /// limit. Gives how many missed ones that are, how many of those are of the grid, and whether the limit has been reached:
  /// what was carried counts first. The caller is the writer.
  fileprivate func countDueTimes(missed onGrid: UInt64) -> (missed: UInt64, onGrid: UInt64, isLast: Bool) {
    let carried = own.carriedMissed
    var all = onGrid &+ carried
    var isLast = false
    own.carriedMissed = 0
    if tickLimit > 0 {
      let left = tickLimit - dueCount
      isLast = all >= left - 1
      if isLast { all = left - 1 }
      dueCount += all + 1
    }
    missed &+= all
    return (all, all - min(carried, all), isLast)
  }
}

extension QueueCore {
  /// What the claim decided to call.
  struct Delivery {
    var function: TickFunction
    var kind: TickKind
    var sequence: UInt64 = 0
    var missed: UInt64 = 0
    var scheduled: Int64
  }

  /// A callback that has started: the timer is busy until its end.
  private struct Claim {
    let tick: StartedTick
    let record: TickRecord
    let function: TickFunction
    /// Called after the timer's own handler.
    let named: NamedHandlers?
  }

  /// Starts the one callback that is due for a slot, if there is one, and does what follows its return. Runs where the
  /// queue's handlers run.
  /// - Parameters:
  ///   - version: of the slot, when it was given its turn; `nil` for any.
  ///   - now: just read.
  func deliver(_ slot: TimerSlot, _ turn: Turn, of version: UInt32?, at now: Int64, _ frame: CurrentFrame) {
    guard let claim = claim(slot, turn, of: version, at: now, frame) else { return }
    if records.areTaken {
      records.append(claim.record)
      records.keep(claim.tick)
      // It is busy, but when it is due again the host must come and end this tick.
      wheel.place(slot, slot.word)
    } else {
      frame.slot = slot.index
      call(claim)
      if !isAbandoned { end(claim.tick, frame) }
    }
  }

  /// Claims the timer for the callback that is due, if there is one, by one swap.
  ///
  /// Nothing is remembered from the moment the timer was found due: state, generation and deadline are read here, so a
  /// tick of an older generation cannot start (promise 7).
  @inline(__always)
  private func claim(
    _ slot: TimerSlot, _ turn: Turn, of version: UInt32?, at now: Int64, _ frame: CurrentFrame
  ) -> Claim? {
    var word = slot.word
    var backoff = Backoff()
    while true {
      let isOver = !word.isLive || closing.hasBegun
      if word.hasWriter, !isOver {
        // A writer is waited for, even on a busy timer: it may rely on the position taken away for this visit, and not
        // send the slot (P2, Protocols.md).
        backoff.pause()
        word = slot.word
        continue
      }
      if isOver || word.isBusy {
        // A timer whose tick was taken as a record has lost its position here: the next taking puts it back.
        if word.isLive, word.isBusy, givesRecords { records.endIsWanted = true }
        return nil
      }
      if !word.hasPendingCallback {
        let due = slot.dueTime(word)
        guard word.isRunning, turn == .due, due <= now, due != .max else {
          if word.isRunning, turn == .due { sendOn(slot, word) }
          return nil
        }
      }
      if slot.beginWriting(word, setting: TimerWord.busyBit) { break }
      word = slot.word
    }
    // The timer is now busy, and this thread is its writer. Any earlier handler ended before this claim.
    let target = slot.sideRecord?.target
    let held = target?.hold() == true ? target : nil
    let targetIsGone = target != nil && held == nil
    let timer = TimerRef(slot: slot, version: slot.version)
    let isTurn = version == nil || version == timer.version
    guard let delivery = isTurn ? decide(slot, turn, &word, now, callbacksOnly: targetIsGone) : nil else {
      // The callback that is due has another turn, or the target is gone.
      slot.endWriting(word)
      frame.slot = slot.index
      end(StartedTick(slot: slot, target: held, delay: nil), frame)
      if targetIsGone, !isAbandoned { target?.end(timer) }
      return nil
    }
    let generation = slot.generation(word)
    // With records it is known when one was taken, not when the host is done with it.
    let waitsForEnd =
      delivery.kind == .due && word.isRunning && slot.flags.contains(.delayPolicy) && !records.areTaken
    var (scheduled, actual) = (delivery.scheduled, now)
    if control.isWall {
      // Both use the offset that the deadline follows, so that a tick during a step of the wall clock does not look
      // early.
      let offset = slot.ownWallOffset ?? control.wallOffset
      scheduled = control.wallTime(scheduled, offset: offset)
      actual = control.wallTime(actual, offset: offset)
    }
    let claim = Claim(
      tick: StartedTick(slot: slot, target: held, delay: waitsForEnd ? (generation, slot.dueTime(word)) : nil),
      record: TickRecord(
        timer: timer.id, generation: generation, sequence: delivery.sequence, missed: delivery.missed,
        scheduled: scheduled, actual: actual, context: slot.context,
        target: held?.object ?? .none, kind: delivery.kind.rawValue),
      function: delivery.function,
      named: delivery.kind == .due || delivery.kind == .fired ? slot.sideRecord?.named : nil)
    slot.endWriting(word)  // Busy stays: `over` keeps it.
    if delivery.kind == .due || delivery.kind == .fired {
      counters.count(late: now.saturatingSubtract(delivery.scheduled), isAlone: handOver == nil)
    }
    if delivery.missed > 0 { counters.count(missed: delivery.missed) }
    if handOver == nil { delivered += 1 }
    if word.state == .finished, delivery.kind == .due, Trace.isOn {
      // Inside the callback, whose end the trace may ask for.
      frame.slot = slot.index
      let goesOn = Trace.note(.finished, timer)
      if goesOn, givesRecords { frame.slot = nil }
      if !goesOn { return nil }
    }
    return claim
  }

  /// Calls the handler, and those that were added by name.
  @inline(__always)
  private func call(_ claim: Claim) {
    guard Trace.noteCall(claim.record) else { return }
    let returned = claim.named?.call(claim.record, after: claim.function) ?? claim.function(claim.record)
    if isAbandoned { return }
    let timer = TimerRef(slot: claim.tick.slot, version: claim.tick.slot.version)
    // A callback that has ended its thread is not called again on the next one.
    if !returned { _ = timer.cancel() }
    Trace.note(.returned, timer)
  }

  /// Places a timer that is not due yet.
  private func sendOn(_ slot: TimerSlot, _ word: TimerWord) {
    if handOver == nil {
      wheel.place(slot, word)
    } else {
      slot.link(into: control)
      // Between flag and link a writer may have met the flag and woken a pass that found nothing. What it wanted may
      // need an earlier wake-up than the present one (P1d, Protocols.md).
      let word = slot.wordInOrder
      if word.isReleased { control.wakeToDispose() }
      if word.hasPendingCallback || word.isRunning {
        control.wakeIfEarlier(word.hasPendingCallback ? QueueControlBlock.atOnce : slot.dueTime(word))
      }
    }
  }

  /// Records that a callback starts: counts it, moves the schedule on, and finishes the timer if this is its last tick.
  /// - Parameter callbacksOnly: the target is gone, and nothing but registration and cancel callbacks may come.
  private func decide(
    _ slot: TimerSlot, _ turn: Turn, _ word: inout TimerWord, _ now: Int64, callbacksOnly: Bool
  ) -> Delivery? {
    let deadline = slot.dueTime(word)
    let isDue = word.isRunning && deadline <= now && deadline != .max
    defer { word = word.withPendingCallback(of: slot) }
    if let sideRecord = slot.sideRecord {
      if sideRecord.own.pendingCallbacks > 0 {
        if isDue { keepTurn(turn) }
        return popCallback(sideRecord, now)
      }
      if callbacksOnly {
        sideRecord.own.firePending = false
        return nil
      }
      if turn == .callback { return nil }
      if sideRecord.own.firePending, turn == .fired || !isDue || sideRecord.own.fireTime < deadline {
        sideRecord.own.firePending = false
        if isDue { keepTurn(turn) }
        return unsafe Delivery(
          function: slot.handler.unsafelyUnwrapped, kind: .fired, sequence: slot.nextSequence(),
          scheduled: min(sideRecord.own.fireTime, now))
      }
    }
    guard isDue, turn == .due else { return nil }
    let tick = moveOn(slot, &word, deadline, now)
    if tick.isLast, let next = Transition(from: .running, on: .lastTick).next {
      word = word.with(next).withoutPostponement
    }
    return unsafe Delivery(
      function: slot.handler.unsafelyUnwrapped, kind: .due, sequence: slot.nextSequence(), missed: tick.missed,
      scheduled: tick.scheduled)
  }

  /// A tick that is due keeps its turn where another callback of its timer comes first. (On a concurrent queue its runner
  /// sees to that.)
  private func keepTurn(_ turn: Turn) {
    if turn == .due, handOver == nil { batch.repeatTurn() }
  }

  /// Takes the next registration or cancel callback.
  private func popCallback(_ sideRecord: SideRecordRef, _ now: Int64) -> Delivery? {
    let own = sideRecord.own
    // With both handlers they alternate; with one handler there is only its kind.
    let isArmed = own.cancelHandler == nil || own.registrationHandler != nil && own.nextIsArmed
    sideRecord.own.pendingCallbacks -= 1
    sideRecord.own.nextIsArmed = !isArmed
    guard let function = isArmed ? own.registrationHandler : own.cancelHandler else { return nil }
    return Delivery(function: function, kind: isArmed ? .armed : .cancelled, scheduled: now)
  }

  /// The tick that a due timer gives: the last of the due times that it stands for, how many others those are, and
  /// whether none follows.
  private typealias DueTick = (scheduled: Int64, missed: UInt64, isLast: Bool)

  /// Moves the schedule past the tick that starts now, unless that is the last: a timer that has finished is due no more.
  /// The tick's missed due times are those since the deadline, and those carried over a suspend.
  private func moveOn(_ slot: TimerSlot, _ word: inout TimerWord, _ deadline: Int64, _ now: Int64) -> DueTick {
    let flags = slot.flags
    guard flags.contains(.repeating) else { return (deadline, 0, true) }
    let isDelay = flags.contains(.delayPolicy)
    let onGrid = isDelay ? 0 : UInt64(bitPattern: now &- deadline) / UInt64(slot.period)
    var (all, passed, isLast) = (onGrid, onGrid, false)
    if let sideRecord = onGrid > 0 ? slot.makeSideRecord() : slot.sideRecord {
      if sideRecord.jitter > 0 { return moveOnWithJitter(slot, sideRecord, &word, deadline, now) }
      (all, passed, isLast) = sideRecord.countDueTimes(missed: onGrid)
    }
    if !isLast {
      // By policy *delay* until the handler's end.
      let next =
        isDelay
        ? now.saturatingAdd(slot.period)
        : deadline.saturatingAdd(onGrid, times: slot.period).saturatingAdd(slot.period)
      word = slot.move(from: deadline, to: next, word)
    }
    return (passed == 0 ? deadline : deadline.saturatingAdd(passed, times: slot.period), all, isLast)
  }

  /// `moveOn` for a timer whose due times have random parts. The grid stands, but a time of the grid that has passed may
  /// not be due yet. All before it are, since a random part is at most the interval; so two are drawn at most.
  @inline(never)
  private func moveOnWithJitter(
    _ slot: TimerSlot, _ sideRecord: SideRecordRef, _ word: inout TimerWord, _ deadline: Int64, _ now: Int64
  ) -> DueTick {
    let (period, jitter) = (slot.period, sideRecord.jitter)
    let start = deadline.saturatingSubtract(sideRecord.own.randomPart)
    let isDelay = slot.flags.contains(.delayPolicy)
    // How many times of the grid have passed since the one that the deadline belongs to, and of these are due.
    let passed = isDelay ? 0 : UInt64(bitPattern: now &- start) / UInt64(period)
    var onGrid = passed
    var latest: Int64?
    if passed > 0 {
      let part = control.randomPart(upTo: jitter)
      latest = part
      // One that is due just now has a tick of its own: without jitter, too, a pass in time finds nothing missed.
      if start.saturatingAdd(passed, times: period).saturatingAdd(part) >= now { onGrid -= 1 }
    }
    let (all, counted, isLast) = sideRecord.countDueTimes(missed: onGrid)
    var scheduled = deadline
    if counted > 0 {
      let part = counted == passed ? latest : nil
      scheduled = start.saturatingAdd(counted, times: period)
        .saturatingAdd(part ?? control.randomPart(upTo: jitter))
    }
    if !isLast {
      let part = onGrid < passed ? latest : nil
      let next = part ?? control.randomPart(upTo: jitter)
      sideRecord.own.randomPart = next
      let time = isDelay ? now : start.saturatingAdd(onGrid, times: period)
      word = slot.move(from: deadline, to: time.saturatingAdd(period).saturatingAdd(next), word)
    }
    return (scheduled, all, isLast)
  }

  /// Ends a tick, after the callback's return: what it held is released; the timer is no longer busy, and goes where it
  /// belongs.
  func end(_ tick: StartedTick, _ frame: CurrentFrame) {
    // Still busy: a thread that waits for the timer's end waits for the destructor, too.
    tick.target?.letGo()
    if isAbandoned { return }
    frame.slot = nil
    let slot = tick.slot
    if let delay = tick.delay { countFromEnd(slot, delay.generation, delay.provisional) }
    let end = slot.endCallback()
    if end.isWaited, !tellWaiters(slot, end.word) { return }
    if end.releasesItself, !Trace.note(.released, TimerRef(slot: slot, version: slot.version)) { return }
    if end.isFree {
      // A side record can have been added meanwhile. It holds named handlers at most, which end with it.
      slot.endSideRecord()
      control.giveBack(slot, frame.thread)
    } else if end.isOwned {
      if end.releasesItself, control.isLimited { control.noteReleased() }
      handOver == nil ? batch.retired.append(slot.index) : dispose(of: slot, frame)
    } else if end.word.hasPendingCallback {
      slot.link(into: control)
      if handOver != nil { control.wake() }
    } else if end.word.isRunning || end.word.hasWriter {
      sendOn(slot, end.word)
    }
  }

  /// Wakes those who wait for the end of a callback. What it has started again is cancelled first, if one of them has
  /// cancelled the timer. False where the trace of that has forked and this is the child.
  @inline(never)
  private func tellWaiters(_ slot: TimerSlot, _ word: TimerWord) -> Bool {
    if word.state?.isAtRest == false || word.hasPendingCallback, WaitRegistry.hasCancelled(slot.index) {
      _ = TimerRef(slot: slot, version: slot.version).cancel()
      if isAbandoned { return false }
    }
    WaitRegistry.timerEnded(slot.index)
    return true
  }

  /// Policy *delay*: the interval counts from the end of the handler, unless a later transition has decided otherwise.
  private func countFromEnd(_ slot: TimerSlot, _ generation: UInt64, _ provisional: Int64) {
    let timer = TimerRef(slot: slot, version: slot.version)
    guard let word = timer.beginWriting() else { return }
    guard word.isRunning, slot.generation(word) == generation else {
      timer.abandonWriting(word)
      return
    }
    // With jitter the random part stays that of the provisional time.
    let fromEnd = control.now.saturatingAdd(slot.period).saturatingAdd(slot.sideRecord?.own.randomPart ?? 0)
    // A postponement made in the meantime counts if it is later.
    let current = slot.dueTime(word)
    timer.endWriting(slot.move(from: current, to: current > provisional ? max(fromEnd, current) : fromEnd, word))
  }

  /// Runs a released timer's last callbacks, then frees its slot. The caller owns the slot.
  func dispose(of slot: TimerSlot, _ frame: CurrentFrame) {
    if let sideRecord = slot.sideRecord, !givesRecords {
      frame.slot = slot.index
      // Busy, in case the queue is released in the meantime.
      _ = slot.set(TimerWord.busyBit)
      while let delivery = nextLastCallback(sideRecord) {
        let held = sideRecord.target?.hold() == true ? sideRecord.target : nil
        let record = lastRecord(of: slot, delivery.kind, held?.object ?? .none)
        guard Trace.noteCall(record) else { return }
        delivery.function(record)
        if isAbandoned { return }
        guard Trace.note(.returned, TimerRef(slot: slot, version: slot.version)) else { return }
        held?.letGo()
        if isAbandoned { return }
      }
      if slot.clear(TimerWord.busyBit | TimerWord.waitedBit).isWaited { WaitRegistry.timerEnded(slot.index) }
      sideRecord.named?.close()
      if isAbandoned { return }
      if let finalizer = sideRecord.own.finalizer { finalizer(slot.context) }
      if isAbandoned { return }
      frame.slot = nil
    }
    slot.free(control)
  }

  func nextLastCallback(_ sideRecord: SideRecordRef) -> Delivery? {
    while sideRecord.own.pendingCallbacks > 0 {
      if let delivery = popCallback(sideRecord, control.now) { return delivery }
    }
    return nil
  }

  func lastRecord(of slot: TimerSlot, _ kind: TickKind, _ target: Context) -> TickRecord {
    let now = control.wallTime(control.now)
    return TickRecord(
      timer: Handle.id(.timer, index: slot.index, version: slot.version), generation: slot.generation(slot.word),
      sequence: 0, missed: 0, scheduled: now, actual: now, context: slot.context, target: target, kind: kind.rawValue)
  }
}

/// A callback that has been called, or taken as a record, and has not ended.
struct StartedTick {
  let slot: TimerSlot
  /// The target, held for the callback.
  let target: TimerTarget?
  /// Policy *delay*: the generation and deadline that the callback's end finds, unless something decides otherwise.
  let delay: (generation: UInt64, provisional: Int64)?
}
