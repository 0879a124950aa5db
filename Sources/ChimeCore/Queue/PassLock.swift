import Synchronization

/// Who may be in a pass of a queue: one thread at a time. A thread that wants a pass and finds another in one leaves the
/// work to that one, which looks once more after it has let go (P10).
struct PassLock: ~Copyable {
  private enum Holder {
    static let nobody: UInt8 = 0
    static let pass: UInt8 = 1
    /// A thread is only looking, for an instant: whoever wants a pass waits for it.
    static let query: UInt8 = 2
  }

  private let holder = Atomic<UInt8>(Holder.nobody)
  /// Set by whoever wants a pass, before it tries to take the lock.
  private let isWanted = Atomic<Bool>(false)
  /// Set by a call that is about to answer BUSY (P10).
  private let wasRefused = Atomic<Bool>(false)

  func take(forQuery: Bool = false) -> Bool {
    holder.compareExchange(
      expected: Holder.nobody, desired: forQuery ? Holder.query : Holder.pass, ordering: .sequentiallyConsistent
    ).exchanged
  }

  /// Takes the lock for a call that would otherwise answer BUSY. It has some patience: another thread may be inside only
  /// for an instant, to end a timer.
  /// - Parameter waits: in virtual time; a host's call waits for no thread that stands still.
  func takeFast(waits: @autoclosure () -> Bool) -> Bool { take() || (waits() ? takeSlow() : takeSoon()) }

  @inline(never)
  private func takeSoon() -> Bool {
    var spinWait = SpinWait()
    while spinWait.spin() { if take() { return true } }
    // Of real-time priority, it may keep the other one from its processor.
    SpinWait.sleep()
    return take()
  }

  @inline(never)
  private func takeSlow() -> Bool {
    var spinWait = SpinWait()
    var rounds = 0
    while !take() {
      if rounds == SpinWait.roundsWithoutSleep, holder.load(ordering: .relaxed) != Holder.query { return false }
      rounds = min(rounds + 1, SpinWait.roundsWithoutSleep)
      spinWait.pause()
    }
    return true
  }

  /// Takes the lock for such a call after all, or leaves word that one was refused: whoever has the lock then finds it.
  func takeOrNoteRefusal() -> Bool {
    wasRefused.store(true, ordering: .sequentiallyConsistent)
    return take()
  }

  /// Whether a call was refused, which is asked behind `release`.
  var hasRefused: Bool { wasRefused.load(ordering: .sequentiallyConsistent) }

  /// Whether the calling thread is the one to see to that.
  func takeRefusal() -> Bool { wasRefused.exchange(false, ordering: .sequentiallyConsistent) }

  var passIsWanted: Bool { isWanted.load(ordering: .sequentiallyConsistent) }

  func release() { holder.store(Holder.nobody, ordering: .sequentiallyConsistent) }

  /// A pass is wanted, whoever makes it.
  func wantPass() { isWanted.store(true, ordering: .sequentiallyConsistent) }

  /// Takes the lock for a pass that is wanted, and the wish with it. False if no pass is wanted, or one is under way, which
  /// will look again, or a query by a thread that stands still, which will, too.
  func takeIfWanted(waits: @autoclosure () -> Bool) -> Bool {
    var spinWait = SpinWait()
    while passIsWanted {
      if take() {
        isWanted.store(false, ordering: .sequentiallyConsistent)
        return true
      }
      if holder.load(ordering: .sequentiallyConsistent) == Holder.pass { return false }
      // A thread that only looks does no work for others, but for a host that it has kept waiting.
      if waits() { spinWait.pause() } else if !spinWait.spin() { return false }
    }
    return false
  }

  /// Whether a pass is under way.
  var isInPass: Bool { holder.load(ordering: .sequentiallyConsistent) == Holder.pass }

  var isTaken: Bool { holder.load(ordering: .relaxed) != Holder.nobody }
}
