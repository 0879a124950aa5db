import ChimeTestSupport
import Testing

@testable import Chime
@testable import ChimeCore

/// Each container of the core beside a plain array that does the same: heaps, rings, lists, stacks, caches, tables. Random
/// operations, and after each the container holds what the array does. (The wheel: `WheelTests`; the order of a batch:
/// `BatchItemTests`.) [10]
@Suite final class ContainerTests {
  /// The last one is new in each run; a failure prints it as the test's argument.
  static let seeds: [UInt64] = [1, 2, 3, .random(in: 4 ... .max)]

  let core: QueueCore
  /// Of timers that nothing runs: a container may use what their cells have for it.
  let slots: [TimerSlot]

  init() throws {
    let core = try QueueCore.makeForTest()
    self.core = core
    slots = try (0..<100).map { _ in try #require(TimerRef(try core.makeTimer())).slot }
  }

  deinit { core.release() }

  /// Makes steps, which draw on the random numbers and say whether container and array still agree.
  private func drive(_ seed: UInt64, steps: Int = 3000, _ step: (inout SplitMix64) throws -> Bool) throws {
    var random = SplitMix64(seed: seed)
    for number in 0..<steps { try #require(try step(&random), "step \(number)") }
  }

  // MARK: The pool

  @Test(arguments: seeds) func theEarliestOfAHeapIsFirst(seed: UInt64) throws {
    let items = (0..<40).map { _ in PoolItem(.utility) }
    let table = unsafe ItemHeap.makeTable()
    #expect(unsafe table != nil)
    guard let table = unsafe table else { return }
    var heap = unsafe ItemHeap(table)
    var times = [Int64](repeating: .max, count: items.count)
    try drive(seed) { random in
      let i = Int.random(in: 0..<items.count, using: &random)
      if random.chance(30) {
        times[i] = .max
        heap.remove(items[i])
      } else {
        times[i] = random.chance(5) ? .max : random.distance(bits: random.chance(50) ? 62 : 4)
        heap.place(items[i], at: times[i])
      }
      let placed = items.filter { $0.place >= 0 }.sorted { $0.place < $1.place }
      return zip(items, times).allSatisfy { $0.time == $1 && ($0.place >= 0) == ($1 < .max) }
        && placed.map(\.place).elementsEqual(0..<placed.count) && heap.first === placed.first
        && placed.indices.dropFirst().allSatisfy { placed[($0 - 1) / 2].time <= placed[$0].time }
    }
    for time in times.sorted() where time < .max {
      let first = try #require(heap.first)
      #expect(first.time == time)
      heap.remove(first)
    }
    #expect(heap.first == nil)
  }

  @Test(arguments: seeds) func readyItemsGoByTheirTimeAndTheHeadStartOfTheirClass(seed: UInt64) throws {
    let classes: [QualityOfService] = [.background, .utility, .default, .userInitiated, .userInteractive]
    let items = (0..<40).map { PoolItem(classes[$0 % classes.count]) }
    var (ready, array) = (ReadyItems(), [PoolItem]())
    var now: Int64 = 0
    func turn(_ item: PoolItem) -> (Int64, Int) { (item.since + Tunables.lowerClass(item.qos.rank), -item.qos.rank) }
    func popFirst() -> Bool {
      // Of equal ones the first.
      let index = array.indices.min { turn(array[$0]) < turn(array[$1]) }
      return ready.popFirst() === index.map { array.remove(at: $0) }
    }
    try drive(seed) { random in
      now += random.distance(bits: random.chance(50) ? 26 : 20)
      let item = items.randomElement(using: &random)!
      var isSame = true
      switch (random.chance(50), array.firstIndex { $0 === item }) {
      case (true, nil):
        array.append(item)
        ready.append(item, now)
      case (true, let index?) where random.chance(50):
        array.remove(at: index)
        ready.remove(item)
      default: isSame = popFirst()
      }
      return isSame && ready.count == array.count && ready.isEmpty == array.isEmpty
    }
    while !array.isEmpty { #expect(popFirst()) }
    #expect(ready.popFirst() == nil)
  }

  /// 0.1 s longer than the highest class.
  @Test func aLowerClassWaitsLongerAndNotForEver() {
    var ready = ReadyItems()
    let items = [QualityOfService.background, .userInteractive, .userInteractive].map { PoolItem($0) }
    for (item, since) in zip(items, [0, 99_999_999, 100_000_001] as [Int64]) { ready.append(item, since) }
    for i in [1, 0, 2] { #expect(ready.popFirst() === items[i]) }
  }

  // MARK: A queue's lists

  @Test(arguments: seeds) func functionsComeInTheirOrderAndFromTheMiddle(seed: UInt64) throws {
    let functions = (0..<30).map { _ in QueuedFunction(.record, .none, nil) }
    var (list, array) = (FunctionList(), [QueuedFunction]())
    try drive(seed) { random in
      let function = functions.randomElement(using: &random)!
      var isSame = true
      switch (random.chance(60), array.firstIndex { $0 === function }) {
      case (true, nil):
        array.append(function)
        list.append(function)
      case (true, let index?):
        array.remove(at: index)
        list.remove(function)
      default: isSame = list.popFirst() === (array.isEmpty ? nil : array.removeFirst())
      }
      return isSame && list.count == array.count && list.isEmpty == array.isEmpty
    }
    for function in array { #expect(list.popFirst() === function) }
    #expect(list.popFirst() == nil)
  }

  /// What a concurrent queue hands over: a ring that moves to a larger place wherever it begins, and a batch, filled from it.
  @Test(arguments: seeds) func deliveriesAreHandedOverInTheirOrder(seed: UInt64) throws {
    for round in 0..<30 as Range<UInt64> {
      var capacity = 4
      var scratch = try #require(PassScratch(slots: capacity))
      defer { scratch.unmap() }
      var (ring, array) = (SlotRing(), [SlotIndex]())
      let batch = DeliveryBatch()
      var filled: [SlotIndex] = []
      ring.move(to: scratch.deliveries)
      try drive(seed &+ round, steps: 300) { random in
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<50 where array.count < capacity:
          let slot = slots.randomElement(using: &random)!.index
          ring.append(slot)
          array.append(slot)
        case 0..<50 where capacity < 200, 99 where capacity < 200:
          capacity += Int.random(in: 1...capacity, using: &random)
          let larger = try #require(PassScratch(slots: capacity))
          ring.move(to: larger.deliveries)
          scratch.unmap()
          scratch = larger
        case 50..<75 where !array.isEmpty:
          if ring.takeFirst() != array.removeFirst() { return false }
        case 75..<80 where filled.isEmpty && !array.isEmpty:
          filled = Array(array.prefix(Int.random(in: 1...array.count, using: &random)))
          array.removeFirst(filled.count)
          batch.fill(filled.count) { ring.takeFirst() }
        default:
          if batch.next() != (filled.isEmpty ? nil : filled.removeFirst()) { return false }
        }
        return ring.count == array.count && batch.count == filled.count
      }
      for slot in array { #expect(ring.takeFirst() == slot) }
    }
  }

  @Test(arguments: seeds) func aListOfThePassKeepsWhatItHoldsWhereverItMoves(seed: UInt64) throws {
    var capacity = 4
    var scratch = try #require(PassScratch(slots: capacity))
    defer { scratch.unmap() }
    var (list, array) = (scratch.due, [SlotIndex]())
    try drive(seed) { random in
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<60 where array.count < capacity:
        let slot = slots.randomElement(using: &random)!.index
        list.append(slot)
        array.append(slot)
      case 0..<60 where capacity < 20_000, 97 where capacity < 20_000:
        capacity += Int.random(in: 1...capacity, using: &random)
        let larger = try #require(PassScratch(slots: capacity))
        list.move(to: larger.due)
        scratch.unmap()
        scratch = larger
      case 98:
        list.removeAll()
        array.removeAll()
      case 99:
        for _ in 0..<capacity - array.count {
          list.append(slots[0].index)
          array.append(slots[0].index)
        }
      default: if list.popLast() != array.popLast() { return false }
      }
      return list.last == array.last && list.isEmpty == array.isEmpty && list.indices == array.indices
        && (array.isEmpty || list[array.count / 2] == array[array.count / 2])
    }
    #expect(list.indices.map { list[$0] } == array)
  }

  /// An intrusive stack, which is taken as a whole.
  @Test(arguments: seeds) func theInboxGivesEachSlotOnceTheLatestFirst(seed: UInt64) throws {
    var array: [UInt32] = []
    try drive(seed) { random in
      if random.chance(90) {
        let slot = slots.randomElement(using: &random)!
        let isNew = slot.set(TimerWord.inboxBit)
        if isNew == array.contains(slot.index.number) { return false }
        if isNew {
          core.control.push(slot)
          array.append(slot.index.number)
        }
        return !core.control.inboxIsEmpty
      }
      var taken: [UInt32] = []
      core.control.drain { slot, word in taken.append(word.isInInbox ? 0 : slot.index.number) }
      defer { array.removeAll() }
      return taken == array.reversed() && core.control.inboxIsEmpty
    }
    core.control.drain { _, _ in }
  }

  // MARK: Slots

  @Test(arguments: seeds) func freeSlotsComeInTheOrderInWhichTheyWereGivenBack(seed: UInt64) throws {
    var (free, out, array) = (FreeSlots(), slots.map(\.index), [SlotIndex]())
    try drive(seed) { random in
      if random.chance(50), !out.isEmpty {
        let slot = out.remove(at: Int.random(in: 0..<out.count, using: &random))
        free.append(slot)
        array.append(slot)
        return free.count == array.count
      }
      let slot = free.popFirst()
      if let slot { out.append(slot) }
      return slot == (array.isEmpty ? nil : array.removeFirst()) && free.count == array.count
    }
    for slot in array { #expect(free.popFirst() == slot) }
    #expect(free.popFirst() == nil)
  }

  /// Its two counts are those that a thread has after 2^32 timers.
  @Test(arguments: seeds) func aThreadsCacheGivesTheSlotThatHasBeenThereLongest(seed: UInt64) throws {
    var storage = ThreadCacheStorage()
    (storage.pushed, storage.popped) = (.max - 1000, .max - 1000)
    try unsafe withUnsafeMutablePointer(to: &storage) { pointer in
      let cache = unsafe ThreadCache(pointer)
      var array: [SlotIndex] = []
      var pushes = 50
      try drive(seed) { random in
        if random.chance(2) { pushes = 100 - pushes + (random.chance(50) ? 20 : -20) }
        if random.chance(pushes) {
          let slot = slots.randomElement(using: &random)!.index
          let isTaken = cache.push(slot)
          if isTaken { array.append(slot) }
          return isTaken == (array.count <= ThreadCache.capacity && isTaken) && cache.count == array.count
            && (isTaken || array.count == ThreadCache.capacity)
        }
        let hadEnough = array.count > ThreadCache.kept
        if random.chance(50), !hadEnough { return cache.pop() == nil && cache.count == array.count }
        let slot = random.chance(50) ? cache.takeOldest() : cache.pop() ?? cache.takeOldest()
        return slot == (array.isEmpty ? nil : array.removeFirst()) && cache.count == array.count
          && cache.hasEnough == (array.count > ThreadCache.kept)
      }
    }
  }

  /// Other tests take and give control blocks at the same time.
  @Test(arguments: seeds) func noControlBlockIsGivenOutTwice(seed: UInt64) throws {
    var (out, ended): ([(control: QueueControlBlock, id: UInt64)], Set<UInt64>) = ([], [])
    func giveBack(_ i: Int) {
      let (control, id) = out.remove(at: i)
      QueueControlBlocks.noteEnd(of: control, id: id)
      QueueControlBlocks.takeBack(control)
      ended.insert(id)
    }
    try drive(seed, steps: 500) { random in
      if out.count < 30, random.chance(55) {
        let isLimited = random.chance(50)
        let new = try QueueControlBlocks.acquire(limited: isLimited)
        defer { out.append(new) }
        return new.control.isLimited == isLimited && !out.contains { $0.control == new.control }
          && !ended.contains(new.id) && !QueueControlBlocks.hasEnded(new.id)
      }
      if !out.isEmpty { giveBack(Int.random(in: 0..<out.count, using: &random)) }
      return ended.allSatisfy { QueueControlBlocks.hasEnded($0) }
        && !out.contains { QueueControlBlocks.hasEnded($0.id) }
    }
    while !out.isEmpty { giveBack(0) }
  }

  // MARK: Tables and lists of objects

  @Test(arguments: seeds) func anIDNamesItsObjectUntilThatIsRemoved(seed: UInt64) throws {
    final class Object: Sendable {}
    let table = HandleTable<Object>(.weakTimer)
    var (live, stale): ([(id: UInt64, object: Object)], Set<UInt64>) = ([], [])
    try drive(seed) { random in
      if live.count < 50, random.chance(55) {
        let object = Object()
        let id = try table.add(object)
        if stale.contains(id) || live.contains(where: { $0.id == id }) { return false }
        live.append((id, object))
      } else if !live.isEmpty {
        let (id, object) = live.remove(at: Int.random(in: 0..<live.count, using: &random))
        if table.remove(id) !== object || table.remove(id) != nil { return false }
        stale.insert(id)
      }
      return live.allSatisfy { table.find($0.id) === $0.object && table.hasNamed($0.id) }
        && stale.shuffled(using: &random).prefix(20).allSatisfy { table.find($0) == nil && table.hasNamed($0) }
        && !table.hasNamed(Handle.id(.weakTimer, index: 60, version: 1))
    }
  }

  /// A handler whose key is there already takes that one's turn.
  @Test(arguments: seeds) func namedHandlersAreCalledInTheOrderOfTheirKeys(seed: UInt64) throws {
    let (called, ended) = (Log<Int>(), Log<Int>())
    let handler = unsafe TickFunction { _, context in
      if let context = unsafe context { unsafe Unmanaged<Named>.fromOpaque(context).takeUnretainedValue().call() }
    }
    let finalizer = unsafe ContextFunction { context in
      if let context = unsafe context { unsafe Unmanaged<Named>.fromOpaque(context).takeRetainedValue().end() }
    }
    let tick = CoreTick(
      timer: 0, generation: 0, sequence: 0, missed: 0, scheduled: 0, actual: 0, context: .none, target: .none,
      kind: TickKind.due.rawValue)
    let named = NamedHandlers()
    var array: [(key: String, number: Int)] = []
    var number = 0
    try drive(seed, steps: 1000) { random in
      let key = "\(Int.random(in: 0..<12, using: &random))"
      let index = array.firstIndex { $0.key == key }
      var (status, wanted, gone) = (Status.ok, Status.ok, [Int]())
      if random.chance(60) {
        number += 1
        status = named.add(key, handler, .retaining(Named(number, called, ended)), finalizer).status
        if let index { gone = [array[index].number] }
        if let index { array[index].number = number } else { array.append((key, number)) }
      } else {
        status = named.remove(key).status
        if let index { gone = [array.remove(at: index).number] } else { wanted = .ignored }
      }
      return try status == wanted && ended.take() == gone && named.call(tick, after: .record)
        && called.take() == array.map(\.number)
    }
    try named.close()
    #expect(ended.take() == array.map(\.number))
  }

  /// A list through the timers' side records: with its target each of its timers is cancelled, and no other.
  @Test(arguments: seeds) func aTargetEndsTheTimersThatItStillHas(seed: UInt64) throws {
    let timers = try slots[..<30].map { slot in
      guard let writing = slot.beginWriting(slot.word) else { throw Status.busy }
      #expect(writing.makeSideRecord() != nil)
      writing.undo()
      return TimerRef(slot: slot, version: slot.version)
    }
    for round in 0..<30 as Range<UInt64> {
      let id = try TimerTarget.make(.none, nil)
      let target = try TimerTarget.find(id)
      for timer in timers { #expect(!timer.restart(Schedule(first: 1 << 60)).isFailure) }
      var attached: Set<Int> = []
      try drive(seed &+ round, steps: 100) { random in
        let i = Int.random(in: 0..<timers.count, using: &random)
        if random.chance(40) {
          target.detach(timers[i].slot)
          attached.remove(i)
        } else if attached.insert(i).inserted {
          target.attach(timers[i].slot)
        }
        return true
      }
      #expect(TimerTarget.releaseReference(id) == .ok)
      for (i, timer) in timers.enumerated() { #expect(timer.state == (attached.contains(i) ? .cancelled : .running)) }
    }
  }

  /// A list of those that wait, beside those of other tests: each that is in it is woken, and no other.
  @Test(arguments: seeds) func thoseWhoWaitForAQueueAreWokenByItsEnd(seed: UInt64) throws {
    let cores = try (0..<3).map { _ in try QueueCore.makeForTest() }
    defer { for core in cores { core.release() } }
    let waiters = (0..<30).map { WaitRegistry.Waiter(.queue(cores[$0 % cores.count])) }
    var entered: Set<Int> = []
    defer { for i in entered { WaitRegistry.leave(waiters[i]) } }
    try drive(seed, steps: 1000) { random in
      let i = Int.random(in: 0..<waiters.count, using: &random)
      if random.chance(40) {
        WaitRegistry.leave(waiters[i])
        entered.remove(i)
      } else if entered.insert(i).inserted {
        if !WaitRegistry.enter(waiters[i]) { return false }
      }
      if !random.chance(20) { return true }
      for waiter in waiters { _ = waiter.wakeUp.sleep(until: .min) }
      let ended = Int.random(in: 0..<cores.count, using: &random)
      WaitRegistry.queueEnded(cores[ended])
      // Another test's thread that is in the registry just then wakes them in its place, and with them all others.
      let end = Clock.monotonic.now + 30_000_000_000
      return entered.allSatisfy { $0 % cores.count != ended || waiters[$0].wakeUp.sleep(until: end) }
    }
  }

  /// The stack of the callbacks that a thread is inside, which lies on its own.
  @Test(arguments: seeds) func aThreadIsInsideTheCallbacksThatHaveNotReturned(seed: UInt64) throws {
    let cores = try (0..<3).map { _ in try QueueCore.makeForTest() }
    defer { for core in cores { core.release() } }
    var random = SplitMix64(seed: seed)
    var (array, steps) = ([QueueControlBlock](), 0)
    func agrees() -> Bool {
      let frames = ThreadState.frames
      return frames.map(\.control) == array.reversed() && frames.isEmpty == array.isEmpty
        && cores.allSatisfy { frames.holds($0.control) == array.contains($0.control) }
    }
    func enter() throws(Forked) {
      let control = cores.randomElement(using: &random)!.control
      array.append(control)
      try ThreadState.inside(control) { _ throws(Forked) in
        while steps < 1000, array.count > 20 || random.chance(50) {
          steps += 1
          #expect(agrees(), "step \(steps)")
          if array.count <= 20 { try enter() } else { break }
        }
      }
      array.removeLast()
      #expect(agrees(), "step \(steps)")
    }
    while steps < 1000 {
      steps += 1
      try enter()
    }
  }
}

/// A named handler's context: what it has called, and that it has ended.
private final class Named {
  private let (number, called, ended): (Int, Log<Int>, Log<Int>)

  init(_ number: Int, _ called: Log<Int>, _ ended: Log<Int>) {
    (self.number, self.called, self.ended) = (number, called, ended)
  }

  func call() { called.add(number) }
  func end() { ended.add(number) }
}
