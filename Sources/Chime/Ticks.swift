import ChimeCore

/// The ticks of a timer as an endless asynchronous sequence.
///
/// For a slow reader it keeps one tick, the newest, whose `missed` includes those that the reader has not seen. Iterate
/// it once; a second iteration shares the ticks with the first. The timer stops when the last reference to the sequence
/// and its iterators goes, and when the iterating task is cancelled: `next` then gives `nil`.
public struct Ticks: AsyncSequence, Sendable {
  /// The newest tick that nobody has taken.
  public typealias Element = ChimeTimer.Tick
  /// It does not fail.
  public typealias Failure = Never

  fileprivate let source: TickSource

  /// The timer behind the sequence: it can be suspended and rescheduled. It is kept by the sequence.
  public var timer: ChimeTimer { source.timer }

  /// Takes ticks out of the sequence. Holds its timer.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let source: TickSource

    /// The next tick, or the newest that nobody has taken, without leaving the caller's actor.
    ///
    /// - Parameter actor: where the caller is.
    /// - Returns: `nil` once the task is cancelled or the timer's queue has ended.
    public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> ChimeTimer.Tick? {
      await source.next(isolation: actor)
    }

    /// The next tick, or the newest that nobody has taken.
    ///
    /// - Returns: `nil` once the task is cancelled or the timer's queue has ended.
    public mutating func next() async -> ChimeTimer.Tick? { await source.next(isolation: nil) }
  }

  /// An iterator. Several iterators share the ticks.
  ///
  /// - Returns: an iterator that holds the timer.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source: source) }
}

extension AnyTimerQueue {
  /// Ticks every `interval`.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - delay: of the first tick, 0 or more, 0 for a tick at once; `nil` for one interval.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  /// - Returns: the sequence; its timer stops when the last reference to it and its iterators goes.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  public func ticks(
    every interval: Duration, after delay: Duration? = nil, leeway: Duration = .zero
  ) throws(ChimeError) -> Ticks {
    try ticks(.every(interval, after: delay, leeway: leeway))
  }

  /// Ticks by a schedule. After the last tick of a one-shot, or of a limit, the sequence waits: end it with `prefix`, or
  /// by cancelling the task.
  ///
  /// - Parameter schedule: when.
  /// - Returns: the sequence; its timer stops when the last reference to it and its iterators goes.
  /// - Throws: `invalidArgument` if the schedule's deadline is on another clock; `limit`, `noMemory`; `invalidHandle` if
  ///   the queue was shut down.
  public func ticks(_ schedule: Schedule) throws(ChimeError) -> Ticks {
    let buffer = TickBuffer()
    // The handler's captures are released with the timer, or when its queue ends. No tick comes after that.
    let end = TickBuffer.End(buffer)
    let timer = try ChimeTimer.start(on: self, schedule) { tick in end.buffer.put(tick) }
    return Ticks(source: TickSource(timer, buffer))
  }
}

/// The timer and the buffer between it and the sequence's user.
private final class TickSource: Sendable {
  let timer: ChimeTimer
  private let buffer: TickBuffer

  init(_ timer: ChimeTimer, _ buffer: TickBuffer) {
    self.timer = timer
    self.buffer = buffer
  }

  func next(isolation actor: isolated (any Actor)?) async -> ChimeTimer.Tick? {
    await withTaskCancellationHandler {
      await withCheckedContinuation(isolation: actor) { buffer.take($0) }
    } onCancel: {
      timer.cancel()
      buffer.end(dropsTick: true)
    }
  }
}

/// At most one tick, or the readers that wait for one.
private final class TickBuffer: Sendable {
  private struct State {
    var tick: ChimeTimer.Tick?
    var waiting: [CheckedContinuation<ChimeTimer.Tick?, Never>] = []
    var hasEnded = false
  }

  private let state = Locked(State())

  /// Ends the buffer when it is released.
  final class End: Sendable {
    let buffer: TickBuffer
    init(_ buffer: TickBuffer) { self.buffer = buffer }
    deinit { buffer.end(dropsTick: false) }
  }

  func put(_ tick: ChimeTimer.Tick) {
    let waiting: CheckedContinuation<ChimeTimer.Tick?, Never>? = state.withLock { state in
      if !state.waiting.isEmpty { return state.waiting.removeFirst() }
      // A tick that had started when the reader was cancelled.
      if !state.hasEnded { state.tick = state.tick.map { tick.after($0) } ?? tick }
      return nil
    }
    waiting?.resume(returning: tick)
  }

  func take(_ continuation: CheckedContinuation<ChimeTimer.Tick?, Never>) {
    let (tick, isReady): (ChimeTimer.Tick?, Bool) = state.withLock { state in
      if let tick = state.tick {
        state.tick = nil
        return (tick, true)
      }
      if !state.hasEnded { state.waiting.append(continuation) }
      return (nil, state.hasEnded)
    }
    if isReady { continuation.resume(returning: tick) }
  }

  /// - Parameter dropsTick: whether nobody wants the tick that nobody has taken.
  func end(dropsTick: Bool) {
    let waiting = state.withLock { state in
      state.hasEnded = true
      if dropsTick { state.tick = nil }
      defer { state.waiting = [] }
      return state.waiting
    }
    for one in waiting { one.resume(returning: nil) }
  }
}
