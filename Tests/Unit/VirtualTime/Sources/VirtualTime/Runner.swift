import Chime
import Dispatch
import Foundation
import Synchronization

final class Count: Sendable {
  private let number = Atomic<Int>(0)
  @discardableResult func add(_ more: Int = 1) -> Int {
    number.add(more, ordering: .sequentiallyConsistent).newValue
  }
  func get() -> Int { number.load(ordering: .sequentiallyConsistent) }
}

/// One test that went wrong.
final class Example: Sendable { let text = Mutex("") }

/// Everything that went wrong in this program.
let failures = Count()
/// How many tests have ended: the watchdog's pulse.
let ended = Count()

/// Ends the program when no test has ended for 30 s. A thread of its own, which no queue can hold up.
func watch() {
  let thread = Thread {
    var (last, since) = (-1, ContinuousClock.now)
    while true {
      Thread.sleep(forTimeInterval: 0.5)
      if ended.get() != last { (last, since) = (ended.get(), .now) }
      if ContinuousClock.now - since > .seconds(30) {
        print("no test has ended for 30 s: \(running.withLock { $0 }.sorted().joined(separator: "; "))")
        fflush(nil)
        exit(1)
      }
    }
  }
  thread.start()
}

/// The names of the tests that run at this moment.
let running = Mutex<[String]>([])

/// Runs each of the scenarios `count` times, and tells how many were wrong. Each run is a task of its own, as with Swift
/// Testing.
func report(_ mode: String, _ scenarios: [Scenario], lanes: Int) async {
  let (reds, next, example) = (Count(), Count(), Example())
  let start = ContinuousClock.now
  let total = count * scenarios.count
  @Sendable func lane() async {
    while true {
      let number = next.add() - 1
      if number >= total { return }
      let scenario = scenarios[number % scenarios.count]
      running.withLock { $0.append(scenario.name) }
      let result = await Task { try await scenario.run() }.result
      running.withLock { names in names.firstIndex(of: scenario.name).map { _ = names.remove(at: $0) } }
      ended.add()
      let wrong: String? =
        switch result {
        case .success(let seen): seen == scenario.expected ? nil : "\(seen), expected \(scenario.expected)"
        case .failure(let error): "\(error)"
        }
      if let wrong {
        reds.add()
        example.text.withLock { $0 = "\(scenario.name): \(wrong)" }
      }
    }
  }
  await withTaskGroup(of: Void.self) { group in
    for _ in 0..<lanes { group.addTask { await lane() } }
  }
  failures.add(reds.get())
  let name = scenarios.count == 1 ? scenarios[0].name : "\(scenarios.count) tests"
  let tail = reds.get() > 0 ? ", such as: \(example.text.withLock { $0 })" : ""
  print("\(mode), \(name): \(reds.get()) of \(total) red, \((ContinuousClock.now - start) / total) each\(tail)")
  fflush(nil)
}

/// Threads that take all the processors give.
final class BusyThreads: Sendable {
  private let ends = Atomic<Bool>(false)

  init(_ count: Int) {
    for _ in 0..<count {
      Thread { [self] in
        var number: UInt64 = 1
        while !ends.load(ordering: .relaxed) { number = number &* 6_364_136_223_846_793_005 &+ 1 }
        if number == 0 { print(number) }
      }.start()
    }
  }

  func stop() { ends.store(true, ordering: .relaxed) }
}

// MARK: Costs

/// Checks that tests do not wait for each other, nor for the main thread.
func costs() async {
  await sideBySide()
  await emptyQueue("idle")
  let (stopped, goesOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
  DispatchQueue.main.async {
    stopped.signal()
    goesOn.wait()
  }
  await Task.detached { await blocking { stopped.wait() } }.value
  await Task.detached { await emptyQueue("waiting") }.value
  goesOn.signal()
  // As long as somebody else's job runs.
  let ends = Count()
  let busy = Task.detached { while ends.get() == 0 {} }
  await emptyQueue("idle, and another task busy", of: 5)
  ends.add()
  await busy.value
}

/// Waits on a thread where nobody minds.
private func blocking(_ body: @escaping @Sendable () -> Void) async {
  await withCheckedContinuation { continuation in
    Thread {
      body()
      continuation.resume()
    }.start()
  }
}

private func sideBySide() async {
  let tests = (scenarios + taskScenarios).prefix(lanes)
  @Sendable func run(_ scenario: Scenario) async {
    if let seen = try? await Task(operation: { try await scenario.run() }).value, seen == scenario.expected { return }
    failures.add()
  }
  var (serial, together) = (Duration.seconds(1000), Duration.seconds(1000))
  for _ in 0..<10 {
    let start = ContinuousClock.now
    for test in tests { await run(test) }
    let middle = ContinuousClock.now
    await withTaskGroup(of: Void.self) { group in
      for test in tests { group.addTask { await run(test) } }
    }
    serial = min(serial, middle - start)
    together = min(together, .now - middle)
    ended.add()
  }
  print("\(tests.count) tests: one after the other \(serial), side by side \(together)")
  if together > serial * 2 {
    print("that is more than twice")
    failures.add()
  }
}

/// Time of an advance of a queue without timers: the median of many.
private func emptyQueue(_ name: String, of times: Int = 101) async {
  let test = Task {
    let queue = try VirtualTimerQueue()
    var taken: [Duration] = []
    for _ in 0..<times {
      let start = ContinuousClock.now
      try await queue.advance(by: .seconds(1))
      taken.append(.now - start)
      ended.add()
    }
    let median = taken.sorted()[times / 2]
    print("an advance of an empty queue, main thread \(name): \(median)")
    if median >= .milliseconds(1) {
      print("that is a millisecond or more")
      failures.add()
    }
  }
  if case .failure(let error) = await test.result {
    print("\(error)")
    failures.add()
  }
}
