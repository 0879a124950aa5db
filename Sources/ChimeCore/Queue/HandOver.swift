/// What a concurrent queue has handed over to its dispatch queue and that has not begun: deliveries, by their slots, and
/// functions. Runners do it, each of which takes one thing after the other for as long as there is any. The first is made
/// with the queue, the others as they are wanted, and kept; where one cannot be made, those that are there do its work. So
/// handing over makes no object, as a block would (promise 19). Any thread.
final class HandOver: @unchecked Sendable {
  // Unchecked: everything that changes is behind the lock.
  private static var mostRunners: Int { 48 }
  /// After so many turns a runner lets other work of the dispatch queue go first.
  private static var turnsAtOnce: Int { 64 }

  private enum Item {
    case delivery(UInt32)
    case function(QueuedFunction)
  }

  private struct State {
    /// The queue, from its opening to its end.
    var core: QueueCore?
    /// Slots, in a ring: `count` of them from `first` on.
    var slots = PassList<UInt32>()
    var first = 0
    var count = 0
    var functions = FunctionList()
    /// Whose turn is next, so that neither keeps the other waiting.
    var functionIsNext = false
    var runners: [any Runner] = []
    /// A bit for each runner that has nothing to do.
    var idle: UInt64 = 0

    var hasWork: Bool { count > 0 || !functions.isEmpty }

    mutating func next() -> Item? {
      functionIsNext.toggle()
      if functionIsNext || count == 0, let function = functions.popFirst() { return .function(function) }
      if count == 0 { return nil }
      let slot = slots[first]
      first = first + 1 == slots.capacity ? 0 : first + 1
      count -= 1
      return .delivery(slot)
    }

    mutating func append(_ slot: UInt32) {
      if count == slots.capacity { invariantFailure("a delivery more than there are slots", Int64(count)) }
      let place = first + count
      slots[place < slots.capacity ? place : place - slots.capacity] = slot
      count += 1
    }
  }

  private let target: any BlockQueue
  private let state = Locked(State())

  init(_ target: any BlockQueue) {
    self.target = target
    state.withLock { $0.runners.reserveCapacity(HandOver.mostRunners) }
  }

  func open(_ core: QueueCore) {
    state.withLock { state in
      state.core = core
      state.runners.append(target.makeRunner { [self] in work(0) })
      state.idle = 1
    }
  }

  /// The queue has ended, and nothing is handed over any more.
  func close() {
    let ended = state.withLock { state in
      let ended = (state.core, state.runners)
      (state.core, state.runners, state.slots) = (nil, [], PassList())
      return ended
    }
    for runner in ended.1 { runner.close() }
  }

  /// Has a larger place for slots. Called by the pass.
  func move(to slots: PassList<UInt32>) {
    state.withLock { state in
      for i in 0..<state.count { slots[i] = state.slots[(state.first + i) % state.slots.capacity] }
      state.slots = slots
      state.first = 0
    }
  }

  func add(_ slot: TimerSlot) { add { $0.append(slot.index) } }
  func add(_ function: QueuedFunction) { add { $0.functions.append(function) } }

  private func add(_ append: (inout State) -> Void) {
    let (runner, number): ((any Runner)?, Int) = state.withLock { state in
      append(&state)
      if state.idle == 0 { return (nil, state.runners.count) }
      let number = state.idle.trailingZeroBitCount
      state.idle &= state.idle - 1
      return (state.runners[number], number)
    }
    if let runner { runner.run() } else if number < HandOver.mostRunners { addRunner() }
  }

  /// All runners have something to do: another one may begin earlier than they come to an end.
  @inline(never)
  private func addRunner() {
    _ = Memory.promises {
      let number = state.withLock { state in
        let number = state.runners.count
        if state.core == nil || number == HandOver.mostRunners { return -1 }
        state.runners.append(target.makeRunner { [self] in work(number) })
        return number
      }
      if number >= 0 { state.withLock { $0.runners.indices.contains(number) ? $0.runners[number] : nil }?.run() }
      return true
    }
  }

  /// What a runner does.
  private func work(_ number: Int) {
    for _ in 0..<HandOver.turnsAtOnce {
      let (core, item): (QueueCore?, Item?) = state.withLock { state in
        let item = state.next()
        if item == nil, number < state.runners.count { state.idle |= 1 << UInt64(number) }
        return (state.core, item)
      }
      guard let core, let item else { return }
      switch item {
      case .delivery(let slot): core.deliverHandedOver(Slab.slot(slot))
      case .function(let function): core.runHandedOver(function)
      }
      if core.isAbandoned { return }
    }
    state.withLock { number < $0.runners.count ? $0.runners[number] : nil }?.run()
  }
}
