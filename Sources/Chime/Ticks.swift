import ChimeCore

/// The ticks of a timer as an asynchronous sequence; `AnyTimerQueue.ticks(_:)`.
package struct Ticks: AsyncSequence, Sendable {
  fileprivate let source: TickSource

  /// The timer behind the sequence, which keeps it.
  package var timer: ChimeTimer { source.timer }

  /// Takes ticks out of the sequence. Holds its timer.
  package struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let source: TickSource

    /// The next tick, or the newest that nobody has taken, without leaving the caller's actor; `nil` once the task is cancelled
    /// or the timer has ended.
    package mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> ChimeTimer.Tick? {
      await source.next(isolation: actor)
    }
  }

  package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source: source) }
}

extension AnyTimerQueue {
  /// Ticks by a schedule, for one consumer: `for await tick in try queue.ticks(.every(.seconds(1)))`.
  ///
  /// The sequence ends with its timer, and stays so: after the last tick of a one-shot or of a limit, when a reader has cancelled
  /// `tick.timer`, or when the queue ends. For a slow reader it keeps one tick, the newest, whose `missed` includes those that
  /// the reader has not seen. It goes when the timer is restarted, rescheduled or cancelled, and waits while that is suspended.
  ///
  /// A second iteration shares the ticks with the first. A reader whose task is cancelled gets `nil`, and the others go on.
  ///
  /// - Parameter schedule: when.
  /// - Returns: the sequence. It and its iterators hold the timer, which nobody else does, and which stops when the last of them
  ///   goes.
  /// - Throws: `invalidArgument` if the schedule's deadline is on another clock; `limit`, `noMemory`; `shutDown` if the
  ///   queue has ended.
  public func ticks(
    _ schedule: Schedule
  ) throws -> some AsyncSequence<ChimeTimer.Tick, Never> & Sendable { try tickSequence(schedule) }

  package func tickSequence(_ schedule: Schedule) throws -> Ticks {
    try schedule.check(for: timeline)
    let buffer = TickBuffer()
    // The handler's captures are released with the timer, or when its queue ends. No tick comes after that.
    let endOfHandler = TickBuffer.End(buffer)
    let box = FullHandlerBox(timeline: timeline, cancelHandler: { buffer.end() }) { tick in
      endOfHandler.buffer.put(tick)
      // The last tick finishes its timer before its handler is called.
      if TimerRef(tick.handle)?.state == .finished { buffer.end() }
    }
    let timer = ChimeTimer(
      try HandlerBox.make(on: id, nil, box), on: self, timeline, watched: ChimeTimer.Watched(buffer: buffer))
    try timer.restart(schedule)
    return Ticks(source: TickSource(timer, buffer))
  }
}

/// The timer and the buffer between it and the sequence's users.
private final class TickSource: Sendable {
  let timer: ChimeTimer
  private let buffer: TickBuffer

  init(_ timer: ChimeTimer, _ buffer: TickBuffer) {
    self.timer = timer
    self.buffer = buffer
  }

  func next(isolation actor: isolated (any Actor)?) async -> ChimeTimer.Tick? {
    // The cancel handler of a timer that its reader has just cancelled may not have been called.
    if timer.state == .cancelled { buffer.end() }
    let reader = buffer.beginReading()
    let tick = await withTaskCancellationHandler {
      await withCheckedContinuation(isolation: actor) { buffer.take($0, for: reader) }
    } onCancel: {
      buffer.cancel(reader)
    }
    if Task.isCancelled { buffer.forget(reader) }
    return tick
  }
}

/// At most one tick, or the readers that wait for one.
package final class TickBuffer: Sendable {
  private struct State {
    /// The timer; 0 as long as it is not known.
    var handle: UInt64 = 0
    var due = DueTick()
    var waiting: [(reader: Int, continuation: CheckedContinuation<ChimeTimer.Tick?, Never>)] = []
    /// Readers whose task was cancelled before they waited.
    var cancelled: Set<Int> = []
    var readers = 0
    var hasEnded = false

    /// The first reader, and the tick for it, if both are there.
    mutating func takeReady() -> Ready? {
      guard !waiting.isEmpty, let tick = due.take() else { return nil }
      return (waiting.removeFirst().continuation, tick)
    }
  }

  private typealias Ready = (continuation: CheckedContinuation<ChimeTimer.Tick?, Never>, tick: ChimeTimer.Tick)

  private let state = Locked(State())

  /// After a change of the timer, to that generation: what was due before is called off, or held back, or let go of.
  func change(_ effect: ChimeTimer.Reference.Effect, _ generation: UInt64?, isAccepted: Bool, isDue: Bool) {
    let ready: Ready? = state.withLock { state in
      switch (effect, generation) {
      case (.suspends, let generation?) where isAccepted: _ = state.due.suspend(generation, isAccepted: true)
      case (.resumes, let generation?): _ = state.due.resume(generation, isDue: isDue)
      case (.stops, _) where isAccepted, (.moves, _) where isAccepted, (.restarts, _) where isAccepted:
        _ = state.due.drop(generation, keepsCurrent: true)
      default: break
      }
      return state.takeReady()
    }
    ready?.continuation.resume(returning: ready?.tick)
  }

  /// Ends the buffer when it is released.
  final class End: Sendable {
    let buffer: TickBuffer
    init(_ buffer: TickBuffer) { self.buffer = buffer }
    deinit { buffer.end() }
  }

  /// The timer is made, and has had no tick.
  func register(_ handle: UInt64) {
    state.withLock { $0.handle = handle }
    ChimeTimer.Watched.note(handle, buffer: self)
  }

  func put(_ tick: ChimeTimer.Tick) {
    var tick = tick
    tick.isOfTask = true
    let ready: Ready? = state.withLock { state in
      if state.hasEnded { return nil }
      _ = state.due.put(tick)
      return state.takeReady()
    }
    ready?.continuation.resume(returning: ready?.tick)
  }

  /// Gives a number for one call of `next`.
  func beginReading() -> Int {
    state.withLock { state in
      state.readers += 1
      return state.readers
    }
  }

  func take(_ continuation: CheckedContinuation<ChimeTimer.Tick?, Never>, for reader: Int) {
    let (tick, isReady): (ChimeTimer.Tick?, Bool) = state.withLock { state in
      if state.cancelled.contains(reader) { return (nil, true) }
      if let tick = state.due.take() { return (tick, true) }
      if !state.hasEnded { state.waiting.append((reader, continuation)) }
      return (nil, state.hasEnded)
    }
    if isReady { continuation.resume(returning: tick) }
  }

  /// The reader's task is cancelled: it alone gets nothing more.
  func cancel(_ reader: Int) {
    let waiting: CheckedContinuation<ChimeTimer.Tick?, Never>? = state.withLock { state in
      if let index = state.waiting.firstIndex(where: { $0.reader == reader }) {
        return state.waiting.remove(at: index).continuation
      }
      state.cancelled.insert(reader)
      return nil
    }
    waiting?.resume(returning: nil)
  }

  /// The reader's call of `next` has ended.
  func forget(_ reader: Int) { state.withLock { state in _ = state.cancelled.remove(reader) } }

  deinit {
    let handle = state.withLock { $0.handle }
    if handle != 0 { ChimeTimer.Watched.forget(handle) }
  }

  /// The tick that nobody has taken can still be taken.
  func end() {
    let waiting = state.withLock { state in
      state.hasEnded = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for one in waiting { one.continuation.resume(returning: nil) }
  }
}
