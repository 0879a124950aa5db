/// One callback of one timer: the claim, the tick, the call, the end.
extension QueueCore {
  /// Starts the one callback that is due for a slot, if there is one, and does what follows its return. Runs where the
  /// queue's handlers run.
  /// - Parameters:
  ///   - tick: what it holds is overwritten.
  ///   - now: just read.
  ///   - isAlone: the pass calls handlers itself: the queue is not concurrent.
  // What the usual tick goes through is inlined here by `@inline(always)`: of functions this large the compiler takes
  // `@inline(__always)` for a wish.
  @inline(always)
  func deliver(
    _ tick: inout StartedTick, _ slot: TimerSlot, _ kind: DeliveryKind, at now: Int64, isAlone: Bool,
    _ frame: CurrentFrame
  ) throws(Forked) {
    tick.slot = slot
    tick.isRare = false
    tick.value.actual = now
    guard try begin(&tick, kind, isAlone: isAlone, frame), let function = tick.function else { return }
    let returned = try function.call(&tick.value, tick.value.context)
    try endHere(&tick, returned: returned, isAlone: isAlone, frame)
  }

  /// Starts the callback. True: the caller calls `tick.function`, then `endHere`.
  ///
  /// The usual tick goes through here from top to bottom. All others leave at one of two places: at `decide`, while their
  /// cell is being written, or at `beginRare`, afterwards.
  @inline(always)
  private func begin(
    _ tick: inout StartedTick, _ kind: DeliveryKind, isAlone: Bool, _ frame: CurrentFrame
  ) throws(Forked) -> Bool {
    let slot = tick.slot
    // Busy from here on. Any earlier handler ended before.
    switch claim(&tick, kind) {
    case .refused: return false
    case .finished: if describe(&tick, slot.versionAndFlags) { addNamed(&tick) }
    case .writing(let claimed, let deadline):
      let writing: Writing
      if moveOnInTime(&tick, claimed, from: deadline) {
        writing = claimed
      } else {
        guard let decided = try decide(&tick, claimed, kind, frame) else { return false }
        writing = decided
      }
      tick.endWriting(writing)
    }
    if tick.value.kind <= TickKind.fired.rawValue {
      counters.count(at: tick.value.actual, due: tick.value.scheduled, isAlone: isAlone)
    }
    if isAlone { delivered &+= 1 }
    if tick.isRare || ticksAreRare || Trace.isOn { return try beginRare(&tick, frame) }
    frame.slot = slot.index
    return true
  }

  /// Claims the timer for the callback that is due, if there is one, by one swap, which makes it busy (P4).
  ///
  /// Nothing is remembered from the moment the timer was found due: state, generation and deadline are read here, so a
  /// tick of an older generation cannot start (promise 7). The swap proves that a one-shot's deadline belongs to its word;
  /// any other deadline is read again by the writer (`moveOnInTime`, `decide`).
  @inline(always)
  private func claim(_ tick: inout StartedTick, _ kind: DeliveryKind) -> Claim {
    let (slot, now) = (tick.slot, tick.value.actual)
    var word = slot.word
    while true {
      let deadline = slot.deadline
      let due = word.dueTime(deadline)
      let isUsual =
        word.isRunningAlone && !word.hasPendingCallback
        && kind == .due && due <= now && due != .max && !closing.hasBegun
      if !isUsual, !settleUnusual(slot, &word, kind, now) { return .refused }
      tick.value.scheduled = due
      if isUsual, slot.flags.isDisjoint(with: [.repeating, .hasSideRecord]), !ticksAreRare {
        tick.word = word.withLastTick.setting(TimerWord.busyBit)
        if slot.claim(word, tick.word) { return .finished }
      } else if let writing = slot.beginWriting(word, setting: TimerWord.busyBit) {
        tick.word = word.setting(TimerWord.busyBit | TimerWord.writerBit)
        return .writing(writing, from: deadline)
      }
      word = slot.word
    }
  }

  /// Whether a timer that is not just due has a callback to be claimed; the word is what to swap. Waits for a writer, and sends
  /// the slot where it belongs if there is nothing to be claimed.
  @inline(never)
  private func settleUnusual(_ slot: TimerSlot, _ word: inout TimerWord, _ kind: DeliveryKind, _ now: Int64) -> Bool {
    var spinWait = SpinWait()
    while true {
      let isOver = !word.isLive || closing.hasBegun
      if word.hasWriter, !isOver {
        // It may rely on the position taken away for this visit, and not send the slot: so it is waited for, even on a
        // busy timer, or the timer gets another turn (P2, P2c).
        if handOver != nil || control.isVirtual {
          spinWait.pause()
        } else if !spinWait.spin() {
          holdBack(slot, at: now)
          return false
        }
        word = slot.word
        continue
      }
      if isOver || word.isBusy {
        // A timer whose tick was taken as a record has lost its position here: the next taking puts it back.
        if word.isLive, word.isBusy, givesRecords { records.endIsWanted = true }
        return false
      }
      if word.hasPendingCallback { return true }
      let due = slot.dueTime(word)
      if word.isRunning, kind == .due, due <= now, due != .max { return true }
      if word.isRunning, kind == .due { putBack(slot, word) }
      return false
    }
  }

  /// Moves a repeating timer to its next due time, if its tick is in time, and nothing else happens with it.
  @inline(always)
  private func moveOnInTime(_ tick: inout StartedTick, _ writing: borrowing Writing, from deadline: Int64) -> Bool {
    let (slot, versionAndFlags) = (tick.slot, tick.slot.versionAndFlags)
    let flags = CellFlags(rawValue: versionAndFlags)
    let (period, sequence) = (slot.period, slot.sequence &+ 1)
    let next = deadline &+ period
    guard !tick.word.hasPendingCallback, flags.intersection([.repeating, .delayPolicy]) == .repeating,
      UInt64(bitPattern: tick.value.actual &- tick.value.scheduled) < UInt64(bitPattern: period), sequence != 0,
      // Far from the end of time. Another tick may have moved it between the reading and the claim.
      UInt64(bitPattern: next) < 1 << 62, slot.deadline == deadline,
      !flags.contains(.hasSideRecord) || writing.sideRecord?.changesNoTick == true
    else { return false }
    writing.deadline = next
    writing.sequence = sequence
    _ = describe(&tick, versionAndFlags)
    return true
  }

  /// Describes the tick as it usually is, when its timer has been moved on. True: there is a side record.
  @inline(always)
  private func describe(_ tick: inout StartedTick, _ versionAndFlags: UInt32) -> Bool {
    let slot = tick.slot
    let version = versionAndFlags & Handle.versionMask
    let sideRecord = versionAndFlags & CellFlags.hasSideRecord.rawValue != 0 ? slot.sideRecordMemory : nil
    tick.function = slot.handler
    tick.value.timer = TimerRef(slot: slot, version: version).id
    tick.value.generation = tick.word.generation
    // See `Snapshot.sequence`.
    tick.value.sequence = UInt64(slot.sequence) &+ (tick.word.isFinished ? 1 : 0)
    if let sideRecord {
      tick.value.generation = sideRecord.generation(tick.word)
      tick.value.sequence &+= UInt64(sideRecord.sequenceHigh) << 32
    }
    tick.value.missed = 0
    tick.value.context = slot.context
    tick.value.target = .none
    tick.value.kind = TickKind.due.rawValue
    return sideRecord != nil
  }

  /// `begin` for whatever else has been claimed; `nil` if no callback comes, and the writing has ended.
  @inline(never)
  private func decide(
    _ tick: inout StartedTick, _ writing: consuming Writing, _ kind: DeliveryKind, _ frame: CurrentFrame
  ) throws(Forked) -> Writing? {
    let slot = tick.slot
    let target = writing.sideRecord?.target
    let isHeld = target?.retain() == true
    let targetIsGone = target != nil && !isHeld
    let timer = TimerRef(slot: slot, version: slot.version)
    var word = tick.word
    tick.isRare = true
    unsafe (tick.target, tick.named) = (isHeld ? writing.sideRecord?.writerFields.target : nil, nil)
    tick.countsFromEnd = false
    tick.wallOffset = writing.ownWallOffset
    let isTurn = kind == .due || slot.turnVersion == timer.version
    guard isTurn,
      let delivery = chooseCallback(writing, kind, &word, tick.value.actual, callbacksOnly: targetIsGone)
    else {
      // The callback that is due has another turn, or the target is gone.
      tick.word = word
      tick.endWriting(writing)
      frame.slot = slot.index
      try end(&tick, frame)
      if targetIsGone { try target?.end(timer) }
      return nil
    }
    tick.word = word
    _ = describe(&tick, slot.versionAndFlags)
    tick.function = delivery.function
    tick.value.kind = delivery.kind.rawValue
    tick.value.scheduled = delivery.scheduled
    tick.value.missed = delivery.missed
    if isHeld, let target { tick.value.target = target.object }
    if delivery.kind.rawValue <= TickKind.fired.rawValue {
      unsafe tick.named = slot.sideRecord?.named
    } else {
      tick.value.sequence = 0
    }
    // With records it is known when one was taken, not when the host is done with it.
    if delivery.kind == .due, word.isRunning, slot.flags.contains(.delayPolicy), !records.areTaken {
      tick.countsFromEnd = true
      writing.sideRecord?.noteStart(tick.value.generation, provisionally: slot.dueTime(word))
    }
    return writing
  }

  /// Handlers were added to a one-shot while it was claimed.
  @inline(never)
  private func addNamed(_ tick: inout StartedTick) {
    tick.isRare = true
    unsafe (tick.target, tick.named) = (nil, tick.slot.sideRecord?.named)
    tick.countsFromEnd = false
    tick.wallOffset = nil
  }

  /// What comes before the call of anything but a usual tick. False if it is not to be called, or has been.
  @inline(never)
  private func beginRare(_ tick: inout StartedTick, _ frame: CurrentFrame) throws(Forked) -> Bool {
    let slot = tick.slot
    if control.isWall {
      // Both use the offset that the deadline followed, so that a tick during a step of the wall clock does not look
      // early.
      let offset = (tick.isRare ? tick.wallOffset : nil) ?? control.wallOffset
      tick.value.scheduled = offset.time(of: tick.value.scheduled)
      tick.value.actual = offset.time(of: tick.value.actual)
    }
    if tick.value.missed > 0 { counters.count(missed: tick.value.missed) }
    // The trace may ask for the callback's end.
    frame.slot = slot.index
    let finishes = tick.word.isFinished && tick.value.kind == TickKind.due.rawValue
    if finishes { try Trace.note(.finished, TimerRef(slot: slot, version: slot.version)) }
    if records.areTaken {
      frame.slot = nil
      records.append(tick.value)
      records.keep(tick)
      // It is busy, but when it is due again the host must come and end this tick.
      wheel.place(slot, slot.word)
      return false
    }
    try Trace.noteCall(tick.value)
    guard tick.isRare, let named = unsafe tick.named, let function = tick.function else { return true }
    let returned = unsafe try named.takeUnretainedValue().call(tick.value, after: function)
    try end(&tick, returned: returned, frame)
    return false
  }

  /// Places a timer that is not due yet.
  private func putBack(_ slot: TimerSlot, _ word: TimerWord) {
    handOver == nil ? wheel.place(slot, word) : sendOn(slot)
  }

  @inline(never)
  func sendOn(_ slot: TimerSlot) {
    slot.link(into: control)
    // Between flag and link a writer may have met the flag and woken a pass that found nothing. What it wanted may
    // need an earlier wake-up than the present one (P1d).
    let word = slot.wordInOrder
    if word.isReleased { control.wake() }
    if word.hasPendingCallback || word.isRunning {
      control.wakeIfEarlier(word.hasPendingCallback ? QueueControlBlock.atOnce : slot.dueTime(word))
    }
  }

  /// What is called, if anything is.
  struct Delivery {
    var function: TickFunction
    var kind: TickKind
    var missed: UInt64 = 0
    var scheduled: Int64
  }

  /// Chooses the callback that starts: counts it, moves the schedule on, and finishes the timer if this is its last tick.
  /// - Parameter callbacksOnly: the target is gone, and nothing but cancel callbacks may come.
  private func chooseCallback(
    _ writing: borrowing Writing, _ kind: DeliveryKind, _ word: inout TimerWord, _ now: Int64, callbacksOnly: Bool
  ) -> Delivery? {
    let slot = writing.slot
    let deadline = slot.dueTime(word)
    let isDue = word.isRunning && deadline <= now && deadline != .max
    defer { word = writing.withPendingCallback(word) }
    if let sideRecord = writing.sideRecord {
      if callbacksOnly { sideRecord.writerFields.armedIsPending = false }
      if let callback = popCallback(sideRecord, now) {
        if isDue { keepTurn(kind) }
        return callback
      }
      if callbacksOnly {
        sideRecord.writerFields.firePending = false
        return nil
      }
      if kind == .callback { return nil }
      if sideRecord.writerFields.firePending, kind == .fired || !isDue || sideRecord.writerFields.fireTime < deadline {
        sideRecord.writerFields.firePending = false
        if isDue { keepTurn(kind) }
        writing.countTick()
        return unsafe Delivery(
          function: slot.handler.unsafelyUnwrapped, kind: .fired, scheduled: min(sideRecord.writerFields.fireTime, now))
      }
    }
    guard isDue, kind == .due else { return nil }
    let tick = moveOn(writing, &word, deadline, now)
    if tick.isLast { word = word.withLastTick } else { writing.countTick() }
    return unsafe Delivery(
      function: slot.handler.unsafelyUnwrapped, kind: .due, missed: tick.missed, scheduled: tick.scheduled)
  }

  /// A tick that is due keeps its turn where another callback of its timer comes first. (On a concurrent queue its worker
  /// sees to that.)
  private func keepTurn(_ kind: DeliveryKind) {
    if kind == .due, handOver == nil { batch.repeatTurn() }
  }

  /// Takes the next registration or cancel callback, if one is pending.
  func popCallback(_ sideRecord: SideRecordRef, _ now: Int64) -> Delivery? {
    let fields = sideRecord.writerFields
    if fields.pendingCancels > 0, let function = fields.cancelHandler {
      sideRecord.writerFields.pendingCancels -= 1
      return Delivery(function: function, kind: .cancelled, scheduled: now)
    }
    guard fields.armedIsPending, let function = fields.registrationHandler else { return nil }
    sideRecord.writerFields.armedIsPending = false
    return Delivery(function: function, kind: .armed, scheduled: now)
  }

  /// Ends a tick, after the return of all its handlers: what it held is released; the timer is no longer busy, and goes where
  /// it belongs.
  /// - Parameter returned: false if a handler has ended its thread; `nil` if none was called.
  @inline(never)
  func end(_ tick: inout StartedTick, returned: Bool? = nil, _ frame: CurrentFrame) throws(Forked) {
    try endHere(&tick, returned: returned, isAlone: handOver == nil, frame)
  }

  /// `end`, inlined where the usual tick ends.
  @inline(always)
  private func endHere(
    _ tick: inout StartedTick, returned: Bool?, isAlone: Bool, _ frame: CurrentFrame
  ) throws(Forked) {
    let slot = tick.slot
    if let returned, !returned || Trace.isOn {
      let timer = TimerRef(slot: slot, version: slot.version)
      // A callback that has ended its thread is not called again on the next one.
      if !returned { _ = try Fork.guarded { timer.cancel() } }
      try Trace.note(.returned, timer)
    }
    if tick.isRare { try releaseTarget(tick) }
    frame.slot = nil
    let (old, new) = tick.isRare && tick.countsFromEnd ? endCounting(slot) : slot.endCallback(tick.word)
    // The usual one: it runs on, and nothing else is wanted.
    if old.isPlainlyRunning { return isAlone ? wheel.place(slot, new) : sendOn(slot) }
    if old.isWaited { try tellWaiters(slot, new) }
    if Trace.isOn, old.isLive, !new.isLive { try Trace.note(.released, TimerRef(slot: slot, version: slot.version)) }
    if new.isFree {
      let writing = Writing(free: slot)
      // A side record can have been added meanwhile. It holds named handlers at most, which end with it.
      if slot.hasSideRecord { try Fork.guarded { writing.endSideRecord() } }
      control.free(writing, frame.thread)
    } else if new.isReleased {
      let writing = Writing(released: slot)
      if old.isLive, control.isLimited { control.noteReleased(writing) }
      if isAlone { batch.appendReleased(writing) } else { try disposeOrRetire(writing, frame) }
    } else if new.hasPendingCallback {
      slot.link(into: control)
      if !isAlone { control.wake() }
    } else if new.isRunning || new.hasWriter {
      isAlone ? wheel.place(slot, new) : sendOn(slot)
    }
  }

  @inline(never)
  private func releaseTarget(_ tick: StartedTick) throws(Forked) {
    // Still busy: a thread that waits for the timer's end waits for the destructor, too.
    unsafe try tick.target?.takeUnretainedValue().release()
  }

  /// Wakes those who wait for the end of a callback. What it has started again is cancelled first, if one of them has
  /// cancelled the timer; beside a writer that is left to that waiter, who does so anyway.
  @inline(never)
  private func tellWaiters(_ slot: TimerSlot, _ word: TimerWord) throws(Forked) {
    if word.state?.isAtRest == false || word.hasPendingCallback, !slot.word.hasWriter,
      WaitRegistry.hasCancelled(slot.index)
    {
      _ = try Fork.guarded { TimerRef(slot: slot, version: slot.version).cancel() }
    }
    WaitRegistry.timerEnded(slot.index)
  }

  /// Ends a callback of a timer with the policy *delay*, whose interval counts from now. A writer does that when it is done.
  @inline(never)
  private func endCounting(_ slot: TimerSlot) -> (old: TimerWord, new: TimerWord) {
    let now = control.now
    while true {
      let word = slot.word
      if !word.isLive { return slot.endCallback(word) }
      if word.hasWriter {
        slot.sideRecord?.leave(callbackEnd: now)
        if let new = slot.tryEndCallback(word) { return (word, new) }
      } else if let writing = slot.beginWriting(word) {
        _ = writing.sideRecord?.takeCallbackEnd()
        if let counted = writing.counted(fromEnd: now, word) { writing.finish(counted) } else { writing.undo() }
        return slot.endCallback(slot.word)
      }
    }
  }
}

/// A callback that has started, or is about to, and has not ended.
@safe struct StartedTick {
  var value = CoreTick(
    timer: 0, generation: 0, sequence: 0, missed: 0, scheduled: 0, actual: 0, context: .none, target: .none,
    kind: TickKind.due.rawValue)
  var function: TickFunction?
  var slot: TimerSlot
  /// The timer's word, unless something has happened to it since.
  var word = TimerWord(0)
  /// Whether what follows is set; otherwise it is left over.
  var isRare = false
  // SAFETY: of the side record, which stays until the callback has ended.
  /// The target, held for the callback.
  var target: Unmanaged<TimerTarget>?
  /// Called after the timer's own handler.
  var named: Unmanaged<NamedHandlers>?
  /// Policy *delay*: the interval counts from its end.
  var countsFromEnd = false
  /// That of the deadline, if it followed the wall clock.
  var wallOffset: WallOffset?

  init(_ slot: TimerSlot) { self.slot = slot }

  /// Ends the writing with the tick's word.
  @inline(always)
  fileprivate mutating func endWriting(_ writing: consuming Writing) {
    word = word.merging(foreignFlagsOf: writing.commit(word)).clearing(TimerWord.writerBit)
  }
}

/// What became of a claim.
private enum Claim: ~Copyable {
  case refused
  /// A one-shot without a side record, not on the wall clock, has finished with the claim; its cell stays.
  case finished
  /// Any other timer, and the deadline that was found due.
  case writing(Writing, from: Int64)
}
