import Chime
import Dispatch
import Foundation

/// What goes on in this program.
struct Progress {
  /// The names of the tests that run at this moment.
  var running: [String] = []
  /// The watchdog's pulse.
  var ended = 0
}
let progress = Guarded(Progress())

/// Ends the program when tests run, and none has ended for two minutes: beside tests that keep all threads of tasks, each move
/// of time waits for seconds. A thread of its own, which no queue can hold up.
let watch: Void = Thread.detachNewThread {
  var (last, since) = (-1, ContinuousClock.now)
  while true {
    Thread.sleep(forTimeInterval: 0.5)
    let (ended, running) = progress.withLock { ($0.ended, $0.running) }
    if ended != last || running.isEmpty { (last, since) = (ended, .now) }
    if ContinuousClock.now - since > .seconds(120) {
      print("no test has ended for two minutes: \(running.sorted().joined(separator: "; "))")
      fflush(nil)
      exit(1)
    }
  }
}

/// One run, as a task of its own, as with Swift Testing. Says what is wrong.
private func wrong(with scenario: Scenario) async -> String? {
  progress.withLock { $0.running.append(scenario.name) }
  let result = await Task { try await scenario.run() }.result
  let wrong: String? =
    switch result {
    case .success(let seen): seen == scenario.expected ? nil : "\(seen), expected \(scenario.expected)"
    case .failure(let error): "\(error)"
    }
  progress.withLock { progress in
    progress.running.firstIndex(of: scenario.name).map { _ = progress.running.remove(at: $0) }
    progress.ended += 1
  }
  return wrong.map { "\(scenario.name): \($0)" }
}

/// Runs each of the scenarios `count` times, so many at once. Tells how many were wrong, and gives what they saw.
func reds(_ mode: String, _ scenarios: [Scenario], count: Int, lanes: Int) async -> [String] {
  watch
  let start = ContinuousClock.now
  let total = count * scenarios.count
  let reds = await withTaskGroup(of: [String].self) { group in
    for lane in 0..<lanes {
      group.addTask {
        var reds: [String] = []
        for number in stride(from: lane, to: total, by: lanes) {
          if let red = await wrong(with: scenarios[number % scenarios.count]) { reds.append(red) }
        }
        return reds
      }
    }
    return await group.reduce(into: []) { $0 += $1 }
  }
  let name = scenarios.count == 1 ? scenarios[0].name : "\(scenarios.count) tests"
  print("\(mode), \(name): \(reds.count) of \(total) red, \((ContinuousClock.now - start) / max(total, 1)) each")
  fflush(nil)
  return reds
}

/// Each kind alone and side by side, then all of them mixed; both beside threads that take all they get.
func redsInAllModes(_ scenarios: [Scenario], count: Int) async -> [String] {
  var all: [String] = []
  for scenario in scenarios {
    all += await reds("serial", [scenario], count: count, lanes: 1)
    all += await reds("side by side", [scenario], count: count, lanes: 20)
  }
  all += await reds("mixed", scenarios, count: count, lanes: 20)
  let isOver = Guarded(false)
  beBusy(on: 3) { isOver.withLock { $0 } }
  for scenario in scenarios { all += await reds("beside busy loops", [scenario], count: count, lanes: 1) }
  all += await reds("mixed beside busy loops", scenarios, count: count, lanes: 20)
  isOver.withLock { $0 = true }
  return all
}

/// Threads that take all the processors give, until what is given is set.
func beBusy(on threads: Int, until isOver: @escaping @Sendable () -> Bool) {
  for _ in 0..<threads { Thread.detachNewThread { while !isOver() {} } }
}

/// An advance waits neither for the main thread nor for a job that somebody else has running: the watchdog sees that it ends.
func redsBesideOthers(count: Int) async -> [String] {
  let advances = Scenario(name: "an advance beside others", expected: []) {
    try await VirtualTimerQueue().advance(by: .seconds(1))
    return []
  }
  let (stopped, goesOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
  DispatchQueue.main.async {
    stopped.signal()
    goesOn.wait()
  }
  await withCheckedContinuation { continuation in
    Thread.detachNewThread {
      stopped.wait()
      continuation.resume()
    }
  }
  var all = await reds("while the main thread waits", [advances], count: count, lanes: 1)
  goesOn.signal()
  let busy = Task.detached { while !Task.isCancelled {} }
  all += await reds("while another task runs", [advances], count: count, lanes: 1)
  busy.cancel()
  await busy.value
  return all
}
