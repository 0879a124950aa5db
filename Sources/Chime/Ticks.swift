import ChimeCore

/// The ticks of a timer as an asynchronous sequence, without end.
///
/// It keeps one tick for who is slow: the newest, whose `missed` tells of those before it. Iterate it once; a second
/// iteration shares the ticks with the first. The timer stops with the last reference to the sequence and its iterators,
/// and when the task that iterates is cancelled: `next` gives `nil` from then on.
public struct Ticks: AsyncSequence, Sendable {
  /// What the sequence gives: the newest tick that nobody has taken.
  public typealias Element = Tick

  fileprivate let source: TickSource

  /// Takes ticks out of the sequence; holds its timer.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let source: TickSource

    /// The next tick, or the newest that nobody has taken; `nil` once the task was cancelled or the timer's queue ended.
    public mutating func next() async -> Tick? { await source.next() }
  }

  /// An iterator; several share the ticks.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source: source) }
}

extension TimerQueue {
  /// Ticks every `interval`, for the first time one interval from now.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - leeway: how late a tick may be so that it can share a wake-up; 0 or more, below the interval.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`.
  public func ticks(every interval: Duration, leeway: Duration = .zero) throws(ChimeError) -> Ticks {
    let buffer = TickBuffer()
    // What the handler holds is let go when the timer is, or when its queue ends: then nothing comes any more.
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

/// At most one tick, or those who wait for one.
private final class TickBuffer: Sendable {
  private struct State {
    var tick: Tick?
    var waiting: [CheckedContinuation<Tick?, Never>] = []
    var hasEnded = false
  }

  private let state = Locked(State())

  /// Ends the buffer when it is let go.
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
  /// This tick, when the one before it was never looked at.
  fileprivate func after(_ previous: Tick) -> Tick {
    var tick = self
    let (sum, overflows) = missed.addingReportingOverflow(previous.missed)
    tick.missed = overflows || sum == .max ? .max : sum + 1
    return tick
  }
}
