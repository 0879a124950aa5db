import Chime
import Counted

// Kinds of work, for ../counts.py, which has valgrind count instructions and allocations.
//
//     SwiftCounts              their names
//     SwiftCounts NAME COUNT   one of them, twice as often: the second half inside `counted`

/// A kind of work that is done again and again. Kept out of closures, so that `counted` can call a function.
nonisolated(unsafe) var body: (Int) throws -> Void = { _ in }
nonisolated(unsafe) var count = 0

func work(_ name: String) throws -> (Int) throws -> Void {
  let queue = try VirtualTimerQueue()
  switch name {
  case "made, cancelled, dropped":
    return { count in
      for _ in 0..<count {
        let timer = try queue.schedule(after: .seconds(3600)) { _ in }
        timer.cancel()
      }
    }
  case "made, cancelled, dropped; repeating":
    return { count in
      for _ in 0..<count {
        let timer = try queue.schedule(every: .seconds(3600)) { _ in }
        timer.cancel()
      }
    }
  case "made, cancelled, dropped; a capture":
    return { count in
      for number in 0..<count {
        let timer = try queue.schedule(after: .seconds(3600)) { _ in print(number) }
        timer.cancel()
      }
    }
  case "a tick":
    let timer = try queue.schedule(every: .seconds(1)) { _ in }
    return { count in
      try queue.advanceTimers(by: .seconds(count))
      withExtendedLifetime(timer) {}
    }
  case "a move":
    let timer = try queue.schedule(after: .seconds(3600)) { _ in }
    var delay = Duration.seconds(3600)
    return { count in
      for _ in 0..<count {
        delay += .nanoseconds(1)  // virtual time stands: without that the deadline would, too
        try timer.postpone(by: delay)
      }
    }
  case "a restart":
    let timer = try queue.schedule(after: .seconds(3600)) { _ in }
    let schedule = try Schedule.once(after: .seconds(3600))
    return { count in for _ in 0..<count { try timer.restart(schedule) } }
  default: fatalError("no such work: \(name)")
  }
}

let names = [
  "made, cancelled, dropped", "made, cancelled, dropped; repeating", "made, cancelled, dropped; a capture", "a tick",
  "a move", "a restart",
]
let arguments = CommandLine.arguments.dropFirst()

if let name = arguments.first, let given = arguments.dropFirst().first.flatMap({ Int($0) }) {
  body = try work(name)
  try body(given)  // what is made once
  count = given
  counted { try! body(count) }
} else {
  for name in names { print(name) }
}
