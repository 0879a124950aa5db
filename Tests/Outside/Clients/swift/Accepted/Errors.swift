import Chime
import ChimeCompat

/// A catch that names errors, in code that throws the others. Swift 6.3.1 crashes, or does not end, where a call says the
/// type of its error: in 22 of 64 such shapes, and in none of 64 where it does not.
enum Errors {
  static func bound(_ queue: AnyTimerQueue) throws {
    do {
      let timer = try queue.schedule(after: .seconds(1)) { _ in }
      print("made \(timer)")
    } catch ChimeError.limit { print("none left") }
  }

  static func short(_ queue: AnyTimerQueue) throws {
    do {
      let action = try TriggeredAction(.debounce(.seconds(1)), on: queue) {}
      print("made \(action)")
    } catch .limit { print("none left") }
  }

  static func captured(_ timer: ChimeTimer) throws {
    var count = 0
    let add = { count += 1 }
    add()
    do { try timer.restart(after: .seconds(1)) } catch ChimeError.shutDown { add() }
    print(count)
  }

  static func closures(_ queue: AnyTimerQueue) -> Task<Void, any Error> {
    Task {
      do {
        let timer = try queue.scheduleTask(.every(.seconds(1))) { [names = ["a"]] _ in print(names) }
        print("made \(timer)")
      } catch ChimeError.shutDown { print("ended") }
    }
  }

  static func loop(_ queue: AnyTimerQueue) throws -> [ChimeTimer] {
    var timers: [ChimeTimer] = []
    while true {
      do { timers.append(try queue.schedule(every: .seconds(1)) { _ in }) } catch ChimeError.limit {
        return timers
      }
    }
  }

  static func ends(_ queue: some VirtualTimeQueue, _ work: @Sendable () async throws -> Int) async throws -> [Int] {
    async let result = work()
    var ends: [Int] = []
    for step in 0..<3 {
      do { try await queue.advance(by: .seconds(step)) } catch ChimeError.shutDown { ends.append(step) }
    }
    do { try queue.jump(by: .seconds(1)) } catch ChimeError.shutDown { ends.append(-1) }
    return ends + [try await result]
  }

  static func machine(_ machine: DispatchSourceTimerMachine) throws {
    do {
      let outcome = try machine.activate(repeatTimeInterval: .seconds(1))
      print("\(outcome)")
    } catch DispatchSourceTimerMachine.ScheduleError.handlerMissing { print("no handler") }
  }

  static func any(_ queue: AnyTimerQueue) -> String {
    do {
      let timer = try queue.schedule(at: queue.now) { _ in }
      return "\(timer)"
    } catch let error as ChimeError {
      switch error {
      case .shutDown: return "ended"
      default: return error.description
      }
    } catch { return "\(error)" }
  }

  final class Owner {
    let name: String
    let timer: ChimeTimer?

    init(on queue: AnyTimerQueue) throws {
      do {
        let timer = try queue.schedule(every: .seconds(1)) { _ in }
        print("made \(timer)")
        self.timer = timer
      } catch ChimeError.limit { timer = nil }
      name = "owner"
    }
  }

  actor Counter {
    private var count = 0
    private var timer: ChimeTimer?

    func start(on queue: AnyTimerQueue) async throws {
      do {
        let timer = try queue.scheduleTask(.every(.seconds(1)), actor: self) { me, _ in me.count += 1 }
        print("made \(timer)")
        self.timer = timer
      } catch ChimeError.limit { count = -1 }
    }
  }
}
