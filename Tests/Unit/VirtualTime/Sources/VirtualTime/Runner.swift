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

// MARK: Others' work

/// An advance waits neither for the main thread nor for a job that somebody else has running: the watchdog sees that it ends.
func besideOthers() async {
  let (stopped, goesOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
  DispatchQueue.main.async {
    stopped.signal()
    goesOn.wait()
  }
  await withCheckedContinuation { continuation in
    Thread {
      stopped.wait()
      continuation.resume()
    }.start()
  }
  await advanceAnEmptyQueue()
  goesOn.signal()
  let ends = Count()
  let busy = Task.detached { while ends.get() == 0 {} }
  await advanceAnEmptyQueue()
  ends.add()
  await busy.value
  print("beside others: an advance has waited neither for the main thread nor for another task")
}

private func advanceAnEmptyQueue() async {
  let test = Task { try await VirtualTimerQueue().advance(by: .seconds(1)) }
  if case .failure(let error) = await test.result {
    print("an advance beside others: \(error)")
    failures.add()
  }
  ended.add()
}
