@testable import ChimeCore

/// The home thread of a bound queue changes a timer by plain stores while other threads come to change it (P22).
extension Scenario {
  static let homes: [Scenario] = [
    scenario("cancel at home beside cancel") { home in
      home.does("cancel") { TimerRef.cancel(home.timer) }
      home.another("cancel") { TimerRef.cancel(home.timer) }
    },
    scenario("cancel at home beside restart") { home in
      home.does("cancel") { TimerRef.cancel(home.timer) }
      home.another("restart") { TimerRef(home.timer)?.restart(Schedule(first: second)) }
    },
    scenario("cancel at home beside two who come") { home in
      home.does("cancel") { TimerRef.cancel(home.timer) }
      home.another("restart") { TimerRef(home.timer)?.restart(Schedule(first: second)) }
      home.another("suspend") { TimerRef(home.timer)?.suspend() }
    },
    scenario("postpone at home beside cancel") { home in
      home.does("postpone", changes: false) { TimerRef.postpone(home.timer, until: home.now + 60 * second) }
      home.another("cancel") { TimerRef.cancel(home.timer) }
    },
    scenario("restart at home beside cancel") { home in
      home.does("restart") { TimerRef.rearm(home.timer, nil) ?? TimerRef(home.timer)?.restart(nil) }
      home.another("cancel") { TimerRef.cancel(home.timer) }
    },
    scenario("restart at home beside postpone") { home in
      home.does("restart") { TimerRef.rearm(home.timer, nil) ?? TimerRef(home.timer)?.restart(nil) }
      home.another("postpone", changes: false) { TimerRef.postpone(home.timer, until: home.now + 60 * second) }
    },
    scenario("restart at home beside a query") { home in
      home.does("restart") { TimerRef.rearm(home.timer, .init(first: 7, firstIsDeadline: true, leeway: .none)) }
      home.another("info", changes: false) {
        guard let info = TimerRef(home.timer)?.info else { return .unknownHandle }
        let isMoved = info.generation == home.generation + 1
        home.world.expect(info.nextDeadline == (isMoved ? 7 : home.deadline), "half a restart: \(info)")
        return .ok
      }
    },
    scenario("restart at home beside release of the queue") { home in
      home.timerEndsWithQueue = true
      home.does("restart") { TimerRef.rearm(home.timer, nil) ?? .unknownHandle }
      home.another("release of the queue", changes: false) { QueueCore.release(home.queue.id) }
      home.afterwards { home.world.expect(TimerRef(home.timer)?.state == nil, "a timer outlives its queue") }
    },
    scenario("release at home beside release") { home in
      home.does("release", ends: true) { TimerRef.release(home.timer) }
      home.another("release", ends: true) { TimerRef.release(home.timer) }
    },
    scenario("release at home beside suspend") { home in
      home.does("release", ends: true) { TimerRef.release(home.timer) }
      home.another("suspend") { TimerRef(home.timer)?.suspend() }
    },
    scenario("a timer made and cancelled at home beside a change of another") { home in
      var id: UInt64 = 0
      home.usesSlotsAgain = true
      home.does("create", changes: false) { home.create(&id) }
      home.does("cancel", changes: false) { TimerRef.cancel(id) }
      home.another("cancel") { TimerRef.cancel(home.timer) }
      home.afterwards { home.world.expect(TimerRef(id)?.state == .cancelled, "it was not cancelled") }
    },
    scenario("create at home beside release of the queue") { home in
      var id: UInt64 = 0
      home.usesSlotsAgain = true
      // One that is released with the queue would have the other thread leave home before it comes to the next one.
      home.hasTimer = false
      home.does("create", changes: false) { home.create(&id) }
      home.another("release of the queue", changes: false) { QueueCore.release(home.queue.id) }
      home.afterwards { home.world.expect(TimerRef(id)?.state == nil, "a timer outlives its queue") }
    },
  ]

  private static func scenario(_ name: String, _ body: @escaping (Home) -> Void) -> Scenario {
    Scenario(name, preemptions: 2) { world in
      let home = Home(world)
      body(home)
      home.race()
    }
  }
}

/// A bound queue, a timer that its home thread has made, the calls of that thread, and those of others.
final class Home {
  let world: World
  private(set) var queue: Queue!
  private(set) var timer: UInt64 = 0
  var hasTimer = true
  var timerEndsWithQueue = false
  /// Whether the next timer has a slot that had one of the home thread before.
  var usesSlotsAgain = false
  var now: Int64 { queue.core.control.now }

  private var calls: [() -> Void] = []
  private var checks: [() -> Void] = []
  private var othersWait = 0
  private var isMade = false
  private let condition = Condition()
  /// As they are before the calls.
  private(set) var generation: UInt64 = 0
  private(set) var deadline: Int64 = 0
  /// Accepted calls that give the timer another generation, and those that end it.
  private var changes: UInt64 = 0
  private var ends = 0

  init(_ world: World) { self.world = world }

  /// A call of the home thread; they come one after the other.
  func does(
    _ name: String, ends: Bool = false, changes: Bool = true, _ call: @escaping () -> Status?
  ) {
    calls.append { [unowned self] in note(world.call(name, call), ends, changes) }
  }

  /// A call of another thread.
  func another(
    _ name: String, ends: Bool = false, changes: Bool = true, _ call: @escaping () -> Status?
  ) {
    othersWait += 1
    world.thread(name) { [self] in
      condition.withLock { while !isMade { condition.wait(until: .max) } }
      note(world.call(name, call), ends, changes)
    }
  }

  func afterwards(_ check: @escaping () -> Void) { checks.append(check) }

  func create(_ id: inout UInt64) -> Status? {
    TimerRef.createPlain(
      on: queue.id, .record, .none, selfRelease: false, first: 10 * second, firstIsDeadline: false,
      leeway: .none, out: &id)
  }

  func race() {
    world.thread("home") { [self] in
      make()
      for call in calls { call() }
    }
    world.race()
    for check in checks { check() }
    if !hasTimer || timerEndsWithQueue { return }
    if let word = TimerRef(timer)?.word {
      world.expect(ends == 0, "the timer was released, and lives")
      world.expect(
        word.generation == generation + changes, "\(changes) changes, and \(word.generation - generation) generations")
    } else {
      world.expect(ends == 1, "the timer was released \(ends) times")
    }
  }

  private func note(_ status: Status?, _ ends: Bool, _ changes: Bool) {
    guard status == .ok else { return }
    if ends { self.ends += 1 }
    if changes { self.changes += 1 }
  }

  /// Nobody else runs meanwhile.
  private func make() {
    world.scheduler.preempts = false
    queue = world.queue(.host, isBound: true)
    // Fills the thread's cache of free slots.
    _ = TimerRef.create(on: queue.id, TimerOptions(handler: .record), nil, out: &timer)
    _ = TimerRef.release(timer)
    if usesSlotsAgain {
      for _ in 0..<2 * ThreadCache.capacity {
        _ = create(&timer)
        _ = TimerRef.release(timer)
      }
    }
    world.expect(create(&timer) == .ok, "the timer was not made in the short way")
    let word = TimerRef(timer)?.word
    world.expect(word?.isAtHome == true, "the timer is not at home")
    generation = word?.generation ?? 0
    deadline = TimerRef(timer)?.nextDeadline ?? 0
    if !hasTimer { _ = TimerRef.release(timer) }
    world.scheduler.preempts = true
    condition.withLock {
      isMade = true
      for _ in 0..<othersWait { condition.signal() }
    }
  }
}
