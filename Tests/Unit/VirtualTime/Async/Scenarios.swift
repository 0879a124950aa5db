import AsyncAlgorithms
import Chime

/// What needs swift-async-algorithms.
let scenarios: [Scenario] = [
  Scenario(name: "debounce", expected: ["chime at 500"]) { queue, clock, log in
    let (keys, typed) = AsyncStream.makeStream(of: String.self)
    let task = Task {
      for await text in keys.debounce(for: .milliseconds(300), clock: clock) {
        log.add("\(text) at \(clock.now.milliseconds)")
      }
    }
    for text in ["c", "ch", "chime"] {
      typed.yield(text)
      try await queue.advance(by: .milliseconds(100))
    }
    try await queue.advance(by: .seconds(1))
    typed.finish()
    await task.value
    return log.all
  },

  Scenario(name: "throttle", expected: ["0 at 0", "3 at 300", "6 at 600", "9 at 900"]) { queue, clock, log in
    let (numbers, sent) = AsyncStream.makeStream(of: Int.self)
    let task = Task {
      for await number in numbers._throttle(for: .milliseconds(300), clock: clock) {
        log.add("\(number) at \(clock.now.milliseconds)")
      }
    }
    for number in 0..<10 {
      sent.yield(number)
      try await queue.advance(by: .milliseconds(100))
    }
    sent.finish()
    await task.value
    return log.all
  },

  Scenario(name: "chunks by AsyncTimerSequence", expected: ["[1, 2] at 100", "[3] at 200", "[4] at 300"]) {
    queue, clock, log in
    let (numbers, sent) = AsyncStream.makeStream(of: Int.self)
    let task = Task {
      let pulse = AsyncTimerSequence(interval: .milliseconds(100), clock: clock)
      for await chunk in numbers.chunked(by: pulse) { log.add("\(chunk) at \(clock.now.milliseconds)") }
    }
    try await queue.untilArmed()
    for now in [[1, 2], [3], [4]] {
      for number in now { sent.yield(number) }
      try await queue.advance(by: .milliseconds(100))
    }
    sent.finish()
    task.cancel()
    await task.value
    return log.all
  },
]
