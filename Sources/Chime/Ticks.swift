import ChimeCore

/// The ticks of a timer as an endless asynchronous sequence.
///
/// For a slow reader it keeps one tick, the newest, whose `missed` includes those that the reader has not seen. Iterate
/// it once; a second iteration shares the ticks with the first. The timer stops when the last reference to the sequence
/// and its iterators goes, and when the iterating task is cancelled: `next` then gives `nil`.
public struct Ticks: AsyncSequence, Sendable {
  /// The newest tick that nobody has taken.
  public typealias Element = Tick

  fileprivate let source: TickSource

  /// Takes ticks out of the sequence. Holds its timer.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let source: TickSource

    /// The next tick, or the newest that nobody has taken; `nil` once the task is cancelled or the timer's queue has
    /// ended.
    public mutating func next() async -> Tick? { await source.next() }
  }

  /// An iterator. Several iterators share the ticks.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source: source) }
}

extension TimerQueue {
  /// Ticks every `interval`, for the first time one interval from now.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`.
  public func ticks(every interval: Duration, leeway: Duration = .zero) throws(ChimeError) -> Ticks {
    let buffer = TickBuffer()
    // The handler's captures are released with the timer, or when its queue ends. No tick comes after that.
    let end = TickBuffer.End(buffer)
    let timer = try every(interval, leeway: leeway) { tick in end.buffer.put(tick) }
    return Ticks(source: TickSource(timer, buffer))
  }
}

/// The timer and the buffer between it and the sequence's user.
private final class TickSource: Sendable {
  private let timer: ChimeTimer
  private let buffer: TickBuffer

  init(_ timer: ChimeTimer, _ buffer: TickBuffer) {
    self.timer = timer
    self.buffer = buffer
  }

  func next() async -> Tick? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { buffer.take($0) }
    } onCancel: {
      _ = try? timer.cancel()
      buffer.end()
    }
  }
}

/// At most one tick, or the readers that wait for one.
private final class TickBuffer: Sendable {
  private struct State {
    var tick: Tick?
    var waiting: [CheckedContinuation<Tick?, Never>] = []
    var hasEnded = false
  }

  private let state = Locked(State())

  /// Ends the buffer when it is released.
  final class End: Sendable {
    let buffer: TickBuffer
    init(_ buffer: TickBuffer) { self.buffer = buffer }
    deinit { buffer.end() }
  }

  func put(_ tick: Tick) {
    let waiting: CheckedContinuation<Tick?, Never>? = state.withLock { state in
      if !state.waiting.isEmpty { return state.waiting.removeFirst() }
      state.tick = state.tick.map { tick.after($0) } ?? tick
      return nil
    }
    waiting?.resume(returning: tick)
  }

  func take(_ continuation: CheckedContinuation<Tick?, Never>) {
    let (tick, isReady): (Tick?, Bool) = state.withLock { state in
      if let tick = state.tick {
        state.tick = nil
        return (tick, true)
      }
      if !state.hasEnded { state.waiting.append(continuation) }
      return (nil, state.hasEnded)
    }
    if isReady { continuation.resume(returning: tick) }
  }

  func end() {
    let waiting = state.withLock { state in
      state.hasEnded = true
      let waiting = state.waiting
      state.waiting = []
      return waiting
    }
    for one in waiting { one.resume(returning: nil) }
  }
}

extension Tick {
  /// This tick, with the unread one before it counted as missed.
  fileprivate func after(_ previous: Tick) -> Tick {
    var tick = self
    let (sum, overflows) = missed.addingReportingOverflow(previous.missed)
    tick.missed = overflows || sum == .max ? .max : sum + 1
    return tick
  }
}
