@testable import ChimeCore

/// The home thread of a bound queue changes a timer by plain stores while other threads come to change it (P22).
extension Scenario {
  static let homes: [Scenario] =
    ([
      (.cancel, [.cancel]), (.cancel, [.restart]), (.cancel, [.restart, .suspend]), (.postpone, [.cancel]),
      (.rearm, [.cancel]), (.rearm, [.postpone]), (.release, [.release]), (.release, [.suspend]),
    ] as [(Home.Call, [Home.Call])]).map { call, others in
      scenario("\(call.name) at home beside \(others.map(\.name).joined(separator: " and "))") { home in
        home.make([call], beside: others)
        home.expectEveryChange()
      }
    } + [
      scenario("rearm at home beside a query") { home in
        let rearm = Home.Call("rearm") {
          TimerRef.rearm($0.timer, .init(first: 7, firstIsDeadline: true, leeway: .none))
        }
        let query = Home.Call("info", changes: false) { home in
          guard let info = TimerRef(home.timer)?.info else { return .unknownHandle }
          let isMoved = info.generation == home.generation + 1
          home.world.expect(info.nextDeadline == (isMoved ? 7 : home.deadline), "half a restart: \(info)")
          return .ok
        }
        home.make([rearm], beside: [query])
        home.expectEveryChange()
      },
      scenario("rearm at home beside release of the queue") { home in
        home.make([Home.Call("rearm") { TimerRef.rearm($0.timer, nil) ?? .unknownHandle }], beside: [.releaseOfQueue])
        home.world.expect(TimerRef(home.timer)?.state == nil, "a timer outlives its queue")
      },
      scenario("a timer made and cancelled at home beside a change of another") { home in
        var id: UInt64 = 0
        home.useSlots()
        let create = Home.Call("create", changes: false) { $0.create(&id) }
        home.make([create, Home.Call("cancel", changes: false) { _ in TimerRef.cancel(id) }], beside: [.cancel])
        home.world.expect(TimerRef(id)?.state == .cancelled, "it was not cancelled")
        home.expectEveryChange()
      },
      scenario("create at home beside release of the queue") { home in
        var id: UInt64 = 0
        home.useSlots()
        // If it were released with the queue, the other thread would leave home before it comes to the next timer.
        _ = TimerRef.release(home.timer)
        home.make([Home.Call("create") { $0.create(&id) }], beside: [.releaseOfQueue])
        home.world.expect(TimerRef(id)?.state == nil, "a timer outlives its queue")
      },
    ]

  private static func scenario(_ name: String, _ body: @escaping (Home) -> Void) -> Scenario {
    Scenario(name, preemptions: 2) { body(Home($0)) }
  }
}

/// A bound queue of the thread that makes this, and a timer of it.
final class Home {
  /// A call on the timer, and what it does if it is accepted: gives the timer another generation, or ends it.
  struct Call {
    let name: String
    let changes: Bool
    let ends: Bool
    let body: (Home) -> Status?

    init(_ name: String, changes: Bool = true, ends: Bool = false, _ body: @escaping (Home) -> Status?) {
      (self.name, self.changes, self.ends, self.body) = (name, changes, ends, body)
    }

    static let cancel = Call("cancel") { TimerRef.cancel($0.timer) }
    static let restart = Call("restart") { TimerRef($0.timer)?.restart(Schedule(first: second)) }
    static let rearm = Call("rearm") { TimerRef.rearm($0.timer, nil) ?? TimerRef($0.timer)?.restart(nil) }
    static let suspend = Call("suspend") { TimerRef($0.timer)?.suspend() }
    static let release = Call("release", ends: true) { TimerRef.release($0.timer) }
    static let postpone = Call("postpone", changes: false) {
      TimerRef.postpone($0.timer, until: $0.queue.core.control.now + 60 * second)
    }
    static let releaseOfQueue = Call("release of the queue", changes: false) { QueueCore.release($0.queue.id) }
  }

  let world: World
  let queue: Queue
  private(set) var timer: UInt64 = 0
  /// As they are before the calls.
  private(set) var generation: UInt64 = 0
  private(set) var deadline: Int64 = 0
  /// Accepted calls that give the timer another generation, and those that end it.
  private var changes: UInt64 = 0
  private var ends = 0

  init(_ world: World) {
    self.world = world
    queue = world.queue(.host, isBound: true)
    // Fills the thread's cache of free slots.
    _ = TimerRef.create(on: queue.id, TimerOptions(handler: .record), nil, out: &timer)
    _ = TimerRef.release(timer)
    world.expect(create(&timer) == .ok, "the timer was not made in the short way")
    let word = TimerRef(timer)?.word
    world.expect(word?.isAtHome == true, "the timer is not at home")
    generation = word?.generation ?? 0
    deadline = TimerRef(timer)?.nextDeadline ?? 0
  }

  /// Has the next timer be in a slot that had one of the home thread before.
  func useSlots() {
    var timer: UInt64 = 0
    for _ in 0..<2 * ThreadCache.capacity {
      _ = create(&timer)
      _ = TimerRef.release(timer)
    }
  }

  func create(_ id: inout UInt64) -> Status? {
    TimerRef.createPlain(
      on: queue.id, .record, .none, selfRelease: false, first: 10 * second, firstIsDeadline: false,
      leeway: .none, out: &id)
  }

  /// Calls of the home thread, one after the other, beside one of each of other threads.
  func make(_ calls: [Call], beside others: [Call]) {
    for other in others { world.thread(other.name) { [self] in make(other) } }
    world.race {
      for call in calls { make(call) }
    }
  }

  private func make(_ call: Call) {
    guard world.call(call.name, { call.body(self) }) == .ok else { return }
    if call.ends { ends += 1 }
    if call.changes { changes += 1 }
  }

  func expectEveryChange() {
    if let word = TimerRef(timer)?.word {
      world.expect(ends == 0, "the timer was released, and lives")
      world.expect(
        word.generation == generation + changes, "\(changes) changes, and \(word.generation - generation) generations")
    } else {
      world.expect(ends == 1, "the timer was released \(ends) times")
    }
  }
}
