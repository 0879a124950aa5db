import Synchronization

/// What a concurrent queue has handed over and that has not begun: deliveries, by their slots, and functions. Workers do
/// it. The first is made with the queue, the others as they are wanted, and kept; where one cannot be made, those that
/// are there do its work. So handing over makes no object, as a block would (promise 19). Any thread.
///
/// Deliveries wait in a ring behind a lock. Workers take them out of a batch that all of them share, one at a time and
/// without the lock, which is taken once for each batch. So they begin in order, and a handler that stays long keeps
/// nothing back. While more waits than has begun, one worker is on its way that has not begun either.
final class HandOver: @unchecked Sendable {
  // Unchecked: everything that changes is behind the lock, but for the batch.
  private static var mostWorkers: Int { 48 }
  /// After so many turns a worker lets other work of its threads go first; after a millisecond, too.
  private static var quantum: Int { 64 }

  private struct State {
    /// The queue, from its opening to its end.
    var core: QueueCore?
    var deliveries = SlotRing()
    var functions = FunctionList()
    /// Whose turn is next, so that neither keeps the other waiting.
    var functionIsNext = false
    var workers: [any Worker] = []
    /// A bit for each worker that has nothing to do, and for each that was asked for by another one and has not begun.
    var idle: UInt64 = 0
    var asked: UInt64 = 0
  }

  private let makeWorker: WorkerMaker
  private let state = Locked(State())
  private let batch = DeliveryBatch()

  init(_ makeWorker: @escaping WorkerMaker) {
    self.makeWorker = makeWorker
    state.withLock { $0.workers.reserveCapacity(HandOver.mostWorkers) }
  }

  func open(_ core: QueueCore) {
    state.withLock { state in
      state.core = core
      addWorker(&state)
    }
  }

  /// The queue has ended, and nothing is handed over any more.
  func close() {
    var ended = State()
    state.withLock { swap(&$0, &ended) }
    for worker in ended.workers { worker.close() }
  }

  /// Has a larger place for slots. Called by the pass.
  func move(to slots: PassList<SlotIndex>) {
    state.withLock { $0.deliveries.move(to: slots) }
  }

  /// See `QueueDriver`.
  func runStarvingTurn() throws(Forked) -> Bool {
    for worker in state.withLock({ $0.workers }) { if try worker.runStarvingTurn() { return true } }
    return false
  }

  func add(_ slot: TimerSlot) { add { $0.deliveries.append(slot.index) } }
  func add(_ function: QueuedFunction) { add { $0.functions.append(function) } }
  func add(_ slots: PassList<SlotIndex>) {
    add { state in
      for i in slots.indices { state.deliveries.append(slots[i]) }
    }
  }

  /// A function has not begun after all; whoever has taken it out looks for work again.
  func putBack(_ function: QueuedFunction) { state.withContendedLock { $0.functions.prepend(function) } }

  /// The queue is not suspended any more: a worker does what has waited.
  func goOn() {
    let worker = state.withContendedLock { state in
      batch.count > 0 || state.deliveries.count > 0 || !state.functions.isEmpty ? helper(&state) : nil
    }
    worker?.run()
  }

  /// Whether a worker has something to do, or is about to look.
  var isAtWork: Bool {
    state.withContendedLock { state in (state.idle | state.asked).nonzeroBitCount < state.workers.count }
  }

  /// By a pass. Where that calls nothing, the worker may wait for the end of its turn.
  private func add(_ append: (inout State) -> Void) {
    let (worker, passCalls) = state.withContendedLock { state in
      append(&state)
      return (helper(&state), state.core.map { $0.hooks != nil || $0.closing.hasBegun } ?? true)
    }
    passCalls ? worker?.run() : worker?.runAfterTurn()
  }

  /// The pass that has handed over is about to call something: no worker waits for its end.
  func hasten() {
    let (workers, asked) = state.withContendedLock { ($0.workers, $0.asked) }
    for number in workers.indices where asked & 1 << UInt64(number) != 0 { workers[number].run() }
  }

  /// Something waits: the worker to be sent on its way once the lock has been released; `nil` if one is already, or all
  /// have something to do.
  private func helper(_ state: inout State) -> (any Worker)? {
    if state.asked != 0 || state.core?.isSuspended == true { return nil }
    if state.idle == 0, state.workers.count < HandOver.mostWorkers {
      // All have something to do: another one may begin earlier than they come to an end.
      _ = Memory.promises {
        addWorker(&state)
        return true
      }
    }
    if state.idle == 0 { return nil }
    let number = state.idle.trailingZeroBitCount
    state.idle &= ~(1 << UInt64(number))
    state.asked |= 1 << UInt64(number)
    return state.workers[number]
  }

  @inline(never)
  private func addWorker(_ state: inout State) {
    let number = state.workers.count
    state.workers.append(makeWorker { [self] () throws(Forked) in try runWork(number) })
    state.idle |= 1 << UInt64(number)
  }

  private enum Work {
    case nothing
    case function(QueuedFunction)
    case deliveries
  }

  /// What a worker does next. The batch is filled when it is empty; only here, so that whoever finds it empty behind the
  /// lock knows that nothing waits but what is in the ring.
  private func next(_ state: inout State, _ number: Int) -> Work {
    state.asked &= ~(1 << UInt64(number))
    guard let core = state.core else { return .nothing }
    if core.isSuspended {
      if number < state.workers.count { state.idle |= 1 << UInt64(number) }
      return .nothing
    }
    state.functionIsNext.toggle()
    let isEmpty = batch.count == 0
    if state.functionIsNext || isEmpty && state.deliveries.count == 0, let function = state.functions.popFirst() {
      return .function(function)
    }
    if isEmpty, state.deliveries.count > 0 {
      batch.fill(min(state.deliveries.count, DeliveryBatch.size)) { state.deliveries.takeFirst() }
    } else if isEmpty {
      if number < state.workers.count { state.idle |= 1 << UInt64(number) }
      return .nothing
    }
    return .deliveries
  }

  /// What a worker does in a turn.
  private func runWork(_ number: Int) throws(Forked) {
    var turns = 0
    while turns < HandOver.quantum {
      let (core, work, worker): (QueueCore?, Work, (any Worker)?) = state.withContendedLock { state in
        let work = self.next(&state, number)
        var isMore = state.deliveries.count > 0 || !state.functions.isEmpty
        if case .deliveries = work { isMore = isMore || batch.count > 1 } else { isMore = isMore || batch.count > 0 }
        return (state.core, work, isMore ? helper(&state) : nil)
      }
      guard let core else { return }
      worker?.run()
      switch work {
      case .nothing: return
      case .function(let function):
        try core.runHandedOver(function)
        turns += 1
      case .deliveries:
        turns += try core.deliverHandedOver(atMost: HandOver.quantum - turns) { batch.next().map { Slab.slot($0) } }
      }
    }
    state.withLock { number < $0.workers.count ? $0.workers[number] : nil }?.run()
  }
}

/// Deliveries that wait, by their slots: `count` of them from `first` on, in a ring in the `PassScratch`.
struct SlotRing {
  private var slots = PassList<SlotIndex>()
  private var first = 0
  private(set) var count = 0

  mutating func append(_ slot: SlotIndex) {
    if count == slots.capacity { invariantFailure("a delivery more than there are slots", Int64(count)) }
    let place = first + count
    slots[place < slots.capacity ? place : place - slots.capacity] = slot
    count += 1
  }

  /// Takes out the first; there is one.
  mutating func takeFirst() -> SlotIndex {
    let slot = slots[first]
    first = first + 1 == slots.capacity ? 0 : first + 1
    count -= 1
    return slot
  }

  /// Moves to a larger place.
  mutating func move(to larger: PassList<SlotIndex>) {
    for i in 0..<count { larger[i] = slots[(first + i) % slots.capacity] }
    slots = larger
    first = 0
  }
}

/// Deliveries, by their slots, that the workers of a concurrent queue take out one at a time, in order, without a lock.
///
/// One word says which are left: a number of the filling, the first, and the end. Whoever takes one reads the slot, then
/// moves the first by compare-and-swap. If that succeeds, the batch was not filled anew in between, for that changes the
/// number; so the slot is the one that stood there (P24).
@safe final class DeliveryBatch: @unchecked Sendable {
  // SAFETY: allocated in init, freed in deinit; initialized throughout.
  private let slots: UnsafeMutablePointer<Atomic<SlotIndex>>
  private let left = Atomic<UInt64>(0)

  static var size: Int { 256 }

  init() {
    unsafe slots = UnsafeMutablePointer.allocate(capacity: DeliveryBatch.size)
    for i in 0..<DeliveryBatch.size { unsafe (slots + i).initialize(to: Atomic(.unused)) }
  }

  deinit {
    unsafe slots.deinitialize(count: DeliveryBatch.size)
    unsafe slots.deallocate()
  }

  private static func first(_ left: UInt64) -> Int { Int(left & 0xffff) }
  private static func end(_ left: UInt64) -> Int { Int((left >> 16) & 0xffff) }

  /// How many are left.
  var count: Int {
    let left = left.load(ordering: .relaxed)
    return DeliveryBatch.end(left) - DeliveryBatch.first(left)
  }

  /// Fills the batch, which is empty. By one thread at a time.
  func fill(_ count: Int, _ slot: () -> SlotIndex) {
    checkIndex(count, below: DeliveryBatch.size + 1)
    let number = left.load(ordering: .relaxed) >> 32 &+ 1
    for i in 0..<count { unsafe slots[i].store(slot(), ordering: .relaxed) }
    left.store(number << 32 | UInt64(count) << 16, ordering: .releasing)
  }

  /// Takes out the first; `nil` if there is none.
  func next() -> SlotIndex? {
    var old = left.load(ordering: .acquiring)
    while true {
      if DeliveryBatch.first(old) == DeliveryBatch.end(old) { return nil }
      let slot = unsafe slots[DeliveryBatch.first(old)].load(ordering: .relaxed)
      let result = left.compareExchange(expected: old, desired: old + 1, ordering: .acquiring)
      if result.exchanged { return slot }
      old = result.original
    }
  }
}
