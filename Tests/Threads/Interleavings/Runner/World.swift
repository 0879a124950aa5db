@testable import ChimeCore

/// What one run of a scenario has: its queues, its timers, its threads, and what must hold of them.
final class World {
  let scheduler = Scheduler.shared
  private(set) var queues: [Queue] = []
  private(set) var timers: [TimerLog] = []
  private var threads: [Coroutine] = []
  private var hasRaced = false

  // MARK: Making

  /// - Parameters:
  ///   - limit: of timers; 0 for none.
  ///   - isWall: whether the queue is on the wall clock, which a scenario steps by `QueueCore.stepWallClock`.
  func queue(_ kind: Queue.Kind, limit: UInt64 = 0, isWall: Bool = false) -> Queue {
    let queue = Queue(kind, number: queues.count, limit: limit, isWall: isWall, self)
    queues.append(queue)
    return queue
  }

  /// A timer that the scenario makes itself, by `create`.
  func log(
    _ queue: Queue, target: UInt64 = 0, finalizer: Bool = true, _ body: ((CoreTick) -> Void)? = nil
  ) -> TimerLog {
    let log = TimerLog(self, queue, body)
    log.target = target
    log.hasFinalizer = finalizer
    timers.append(log)
    return log
  }

  /// A timer with a log; `after` is from now, or a point in time.
  @discardableResult
  func timer(
    _ queue: Queue, after: Int64?, isDeadline: Bool = false, every: Int64 = 0, finalizer: Bool = true,
    callbacks: Bool = false, releasesItself: Bool = false, _ body: ((CoreTick) -> Void)? = nil
  ) -> TimerLog {
    let log = log(queue, finalizer: finalizer, body)
    log.releasesItself = releasesItself
    log.firstIsDeadline = isDeadline
    let status = log.create(after, every: every, callbacks: callbacks)
    expect(status == .ok, "create answered \(status.rawValue)")
    return log
  }

  /// Releases a queue and makes another one, which may get its control block.
  func replace(_ queue: Queue, by kind: Queue.Kind) -> Queue {
    call("release") { QueueCore.release(queue.id) }
    return call("create") { self.queue(kind) }
  }

  /// - Parameters:
  ///   - time: the thread is held up until then, at a step drawn at random.
  ///   - steps: one of its first so many.
  func thread(
    _ name: String, heldUpUntil time: Int64? = nil, within steps: Int = 128, _ body: @escaping () -> Void
  ) {
    threads.append(scheduler.add(name, isDaemon: false, body))
    if let time { scheduler.holdUp(threads[threads.count - 1], until: time, within: steps) }
  }

  /// A thread that makes one call, after which both are named.
  func thread<Result>(calls name: String, _ body: @escaping () -> Result) { thread(name) { self.call(name, body) } }

  /// The same for a call on a timer.
  func thread(calls name: String, on timer: TimerLog?, _ body: @escaping (TimerRef) -> Status) {
    thread(name) { self.call(name, on: timer, body) }
  }

  // MARK: Running

  /// Lets all threads run, in the order that the scheduler decides, until those of the scenario have ended; the calling one
  /// does this meanwhile. Once; at the end of a scenario that has not done so.
  func race(_ body: () -> Void = {}) {
    if hasRaced { return }
    hasRaced = true
    scheduler.trace.isOn = true
    scheduler.check = { [unowned self] in forgotten() }
    scheduler.preempts = true
    body()
    scheduler.join(threads)
    scheduler.preempts = false
    scheduler.check = nil
    // The queues' threads come to rest.
    if scheduler.coroutines.contains(where: \.isDaemon) { sleep(until: scheduler.clock + 1000) }
  }

  /// A call of the scenario, named in the list of steps.
  @discardableResult
  func call<Result>(_ name: String, _ body: () -> Result) -> Result {
    scheduler.trace.add("[ \(name)")
    let result = body()
    scheduler.trace.add("] \(name) = \((result as? Status).map { "\($0.rawValue)" } ?? "\(result)")")
    return result
  }

  /// The same for one that may answer only this.
  @discardableResult
  func call(_ name: String, answers first: Status, _ others: Status..., by body: () -> Status) -> Status {
    let status = call(name, body)
    expect(status == first || others.contains(status), "\(name) answered \(status.rawValue)")
    return status
  }

  /// The same for a call on a timer.
  @discardableResult
  func call(_ name: String, on timer: TimerLog?, _ body: (TimerRef) -> Status) -> Status {
    call(name) { timer?.ref.map(body) ?? .invalidHandle }
  }

  func expect(_ holds: Bool, _ what: @autoclosure () -> String) {
    if !holds { scheduler.fail(what()) }
  }

  /// Waits until a time on the scheduler's clock.
  func sleep(until time: Int64) {
    _ = WakeUp().sleep(until: time)
  }

  /// Waits for the end of the queues' threads.
  func joinWorkers() { for coroutine in scheduler.coroutines where coroutine.isDaemon { scheduler.join([coroutine]) } }

  // MARK: Looking over

  /// After the race: every timer that runs ticks when it is due; then all end, and every finalizer has been called once.
  func finish() {
    let wereAlive = queues.map(\.isAlive)
    for queue in queues where queue.isAlive { queue.settle(timers.filter { $0.queue === queue }) }
    for log in timers where !log.isReleased {
      _ = log.ref?.release()
      log.isReleased = true
    }
    for queue in queues { queue.end() }
    joinWorkers()
    for queue in queues {
      expect(queue.core.closing.isOver, "queue \(queue.number) has not ended")
    }
    for log in timers {
      // A queue of records that was released in the race has taken the last of them with it.
      if log.queue.kind == .records, !wereAlive[log.queue.number] { continue }
      let wanted = log.hasFinalizer && log.wasCreated ? 1 : 0
      expect(log.finalized == wanted, "\(log.finalized) finalizers of a timer instead of \(wanted)")
    }
  }

  /// A timer that no pass will find, though no pass is under way that may hold it: it runs, but is not in the wheel, in
  /// the inbox or in the batch, and nobody writes it or runs its callback. (On a concurrent queue the end of a callback
  /// holds it for a moment, too.)
  private func forgotten() -> String? {
    for log in timers where log.wasCreated && log.queue.kind != .concurrent {
      guard let timer = log.ref, let word = timer.word, word.isRunning, !word.isBusy, !word.hasWriter, !word.isInInbox
      else { continue }
      let core = log.queue.core
      if core.passLock.isTaken { continue }
      // No tick comes any more; its release will find the timer.
      if core.closing.hasBegun { continue }
      if timer.slot.deadline.saturatingAdd(word.postponement) == .max { continue }
      if Slab.position(of: timer.slot.index).tick != nil { continue }
      if core.batch.contains(timer.slot) { continue }
      return "a running timer is in no wheel, no inbox and no batch"
    }
    return nil
  }

  /// After a run that was not red, the scheduler off: the next begins with the same memory.
  func reset() { for queue in queues { queue.reset() } }
}

/// One timer of a scenario, and what its callbacks have seen.
final class TimerLog {
  unowned let world: World
  let queue: Queue
  let body: ((CoreTick) -> Void)?
  var id: UInt64 = 0
  var ref: TimerRef? { TimerRef(id) }
  var hasFinalizer = true
  var target: UInt64 = 0
  var releasesItself = false
  var firstIsDeadline = false
  var wasCreated = false
  var isReleased = false

  private(set) var ticks = 0
  private(set) var finalized = 0
  private(set) var isInside = false

  // Promise 7: no tick starts after a call that stops has returned, until one that starts has begun.
  private var isStopped = false
  // Nor a registration callback, if the call was a cancel or a release.
  private var isEnded = false
  private var startsBegun = 0
  private var startsUnderWay = 0
  /// Callbacks that had been claimed when the stopping call returned, and may begin later.
  private var claimed = 0

  init(_ world: World, _ queue: Queue, _ body: ((CoreTick) -> Void)?) {
    self.world = world
    self.queue = queue
    self.body = body
  }

  func create(_ after: Int64?, every: Int64 = 0, callbacks: Bool = false) -> Status {
    let context = Context(Unmanaged.passUnretained(self).toOpaque())
    let records = queue.kind == .records
    let callback =
      records
      ? TickFunction.record
      : TickFunction { tick, context in TimerLog.of(Context(context)).called(tick.load(as: CoreTick.self)) }
    let finalizer = records ? ContextFunction.record : ContextFunction { TimerLog.of(Context($0)).finalize() }
    var flags: TimerOptions.Flags = records ? .givesRecords : []
    if releasesItself { flags.insert(.selfRelease) }
    var options = TimerOptions(
      handler: callback, context: context, finalizer: hasFinalizer ? finalizer : nil, target: target, flags: flags)
    if callbacks { (options.registrationHandler, options.cancelHandler) = (callback, callback) }
    let schedule = after.map { Schedule(first: $0, firstIsDeadline: firstIsDeadline, interval: every) }
    let started = createFast(schedule, options)
    let status =
      if case .done(let status) = started { status } else {
        TimerRef.create(on: queue.id, options, schedule, out: &id)
      }
    wasCreated = status == .ok
    return status
  }

  /// As `chime_timer_start` does, for a timer that has a handler and nothing else.
  private func createFast(_ schedule: Schedule?, _ options: TimerOptions) -> TimerRef.ShortForm {
    guard let schedule, schedule.interval == 0, !options.needsSideRecord, !options.flags.contains(.givesRecords) else {
      return .needsMore
    }
    return TimerRef.createFast(
      on: queue.id, options.handler, options.context, selfRelease: releasesItself, first: schedule.first,
      firstIsDeadline: schedule.firstIsDeadline, leeway: .none, out: &id)
  }

  static func of(_ context: Context) -> TimerLog {
    Unmanaged<TimerLog>.fromOpaque(context.pointer!).takeUnretainedValue()
  }

  private func called(_ tick: CoreTick) {
    let scheduler = world.scheduler
    scheduler.trace.add("( callback \(tick.kind) of timer \(tick.sequence)")
    world.expect(!isInside, "two callbacks of a timer at a time")
    isInside = true
    queue.exclusively {
      begun(tick)
      scheduler.step("in the callback", "", 0)
      if tick.isTick { body?(tick) }
      scheduler.step("in the callback", "", 0)
    }
    isInside = false
    scheduler.trace.add(") callback")
  }

  /// A tick that was taken as a record.
  func recorded(_ tick: CoreTick) {
    world.scheduler.trace.add("( ) record \(tick.kind) of timer \(tick.sequence)")
    if tick.kind == TickKind.finalize.rawValue { finalize() } else { begun(tick) }
  }

  private func begun(_ tick: CoreTick) {
    world.expect(finalized == 0, "a callback after the finalizer")
    world.expect(tick.scheduled <= tick.actual, "a tick before its time")
    if tick.isTick ? isStopped : isEnded && tick.kind == TickKind.armed.rawValue {
      world.expect(claimed > 0, "a tick or a registration after the call that stopped the timer had returned")
      claimed -= 1
    }
    if tick.isTick { ticks += 1 }
  }

  private func finalize() {
    world.scheduler.trace.add("( ) finalizer")
    world.expect(!isInside, "a finalizer while a callback runs")
    finalized += 1
    world.expect(finalized == 1, "a second finalizer")
    // One that its queue has released: the ids of all others are stale by then.
    if queue.core.closing.hasBegun, !isReleased {
      for other in world.timers where other.queue === queue {
        world.expect(other.ref?.word == nil, "a last callback while the id of another timer of the queue is good")
      }
    }
    world.scheduler.step("in the finalizer", "", 0)
  }

  // MARK: Calls that stop and start

  func starting(_ body: () -> Status) -> Status {
    (isStopped, isEnded) = (false, false)
    startsBegun += 1
    startsUnderWay += 1
    let status = body()
    startsUnderWay -= 1
    return status
  }

  /// - Parameter ends: it is a cancel or a release.
  func stopping(waits: Bool = false, ends: Bool = true, _ body: () -> Status) -> Status {
    let before = startsBegun
    let wasQuiet = startsUnderWay == 0
    let status = body()
    if wasQuiet, startsBegun == before, status == .ok || status == .running {
      if waits { world.expect(!isInside, "a callback runs after the call that waited for its end") }
      isStopped = true
      isEnded = isEnded || ends
      claimed = status == .running ? 1 : 0
    }
    return status
  }
}

extension CoreTick {
  /// Rather than a registration, a cancel callback or a finalizer.
  var isTick: Bool { kind == TickKind.due.rawValue || kind == TickKind.fired.rawValue }
}
