import Chime
import ChimeTestSupport
import Foundation
import Testing

/// Random programs of asynchronous handlers, debounced and throttled actions, and everything that stops them or waits for them,
/// on virtual time, beside a model of which call begins and ends when, and of what is lost.
///
/// A program runs on the actor of its handlers. Between two awaits it holds that actor up, and moves time on there: so ticks
/// come whose calls wait for the actor, and everything that can happen to such a call does.
///
/// A program that fails prints its seed; `CHIME_SEED=` runs it alone, and says what it does. `CHIME_ROUNDS=` for more of them.
@Suite(.timeLimit(.minutes(20))) struct TaskModelTests {
  private static func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }

  @Test(arguments: Home.allCases) func randomProgramsDoWhatTheModelSays(_ home: Home) async throws {
    let seeds = Self.number("CHIME_SEED").map { $0...$0 } ?? 1...(Self.number("CHIME_ROUNDS") ?? 300) / 4
    for seed in seeds {
      let program = try Program(UInt64(seed), home, isTold: seeds.count == 1)
      switch home {
      case .main, .mainQueue: await program.run(on: MainActor.shared)
      case .actor, .ownQueue: await program.run(on: program.owner)
      }
      if program.hasFailed { return }
    }
  }
}

/// Where handlers run, and whose time it is.
enum Home: CaseIterable, Sendable {
  case actor, main, mainQueue, ownQueue
}

private actor Owner {
  let own: SerialTimerQueue?
  let fallback = Fallback()
  init(_ own: SerialTimerQueue?) { self.own = own }
  actor Fallback {}
  nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe own?.asUnownedSerialExecutor() ?? fallback.unownedExecutor
  }
}

private typealias Body = @Sendable (ChimeTimer.Tick?, isolated any Actor) async -> Void

/// One timer or action: what it does, and what the model says that it does.
private final class Subject: @unchecked Sendable {
  // Unchecked: used on the program's actor, but for `log`; plain actions run there, too.
  enum Kind: CustomStringConvertible {
    case once(after: Int64), every(Int64), task(Timing), plain(Timing)
    var description: String {
      switch self {
      case .once(let delay): "once after \(ms(delay))"
      case .every(let interval): "every \(ms(interval))"
      case .task(let timing): "task, \(timing)"
      case .plain(let timing): "plain, \(timing)"
      }
    }
  }

  struct Timing {
    var length: Int64 = 0
    var longest = Int64.max
    var leading = false
    var trailing = true
    var extends = false
    func end(_ latest: Int64, _ first: Int64) -> Int64 {
      min(latest + length, longest == .max ? .max : first + longest)
    }
  }

  let kind: Kind
  let seed: UInt64
  let log = Log<String>()
  var (timer, action): (ChimeTimer?, TriggeredAction?) = (nil, nil)

  // What the model knows.
  var expected: [String] = []
  var calls: [Call] = []
  struct Call: Equatable {
    var sequence: UInt64 = 0
    var missed: UInt64 = 0
    var isExtra = false
  }
  /// Of a timer: the call that waits, and the one that a suspension holds back.
  var (waiting, held): (Call?, Call?) = (nil, nil)
  var isSuspended = false
  var (state, deadline, interval, sequence, fires) = (TimerState.running, Int64.max, Int64(0), UInt64(0), false)
  /// Of an action.
  var (isOpen, isLeading, isWanted, isDue, hasLost) = (false, false, false, false, false)
  var (latest, first, end): (Int64, Int64, Int64) = (0, 0, .max)
  /// Of both: when the call that runs ends, and how many have begun.
  var runsUntil: Int64?
  var begun = 0
  /// Who waits for the end of which call, by number; the last for the end of the one that runs.
  var waits: [(name: String, call: Int)] = []
  var results: [String] = []
  let seen = Log<String>()

  init(_ kind: Kind, seed: UInt64) { (self.kind, self.seed) = (kind, seed) }

  var isAction: Bool { if case .once = kind { false } else if case .every = kind { false } else { true } }
  var isPlain: Bool { if case .plain = kind { true } else { false } }
  var timing: Timing {
    switch kind {
    case .task(let timing), .plain(let timing): timing
    default: Timing()
    }
  }
  var isPending: Bool { isLeading || isWanted || isDue || runsUntil != nil }

  /// How long a call takes. Odd parts, so that nothing else happens when it ends.
  func duration(_ call: Int) -> Int64 {
    var generator = SplitMix64(seed: seed &+ UInt64(call) &* 977)
    if isPlain || generator.chance(30) { return 0 }
    return Int64.random(in: 0...9, using: &generator) * 1_000_000 + Int64.random(in: 1...999_999, using: &generator)
  }
}

private func ms(_ nanoseconds: Int64) -> String { "\(Double(nanoseconds) / 1_000_000)" }

private final class Program: @unchecked Sendable {
  // Unchecked: used on one actor only.
  private let seed: UInt64
  private let home: Home
  private let isTold: Bool
  private var random: SplitMix64
  let owner: Owner
  private let queue: AnyTimerQueue
  private let clock: TimerQueueClock
  private var subjects: [Subject] = []
  private var now: Int64 = 0
  private var hasEnded = false
  private var waits = 0
  private(set) var hasFailed = false

  init(_ seed: UInt64, _ home: Home, isTold: Bool) throws {
    (self.seed, self.home, self.isTold) = (seed, home, isTold)
    random = SplitMix64(seed: seed &* 4 &+ UInt64(Home.allCases.firstIndex(of: home) ?? 0))
    let own = home == .ownQueue ? try SerialTimerQueue(virtual: .zero) : nil
    owner = Owner(own)
    queue = try own ?? (home == .mainQueue ? MainTimerQueue(virtual: .zero) : VirtualTimerQueue())
    clock = queue.clock
  }

  private func tell(_ text: @autoclosure () -> String) { if isTold { print("\(home) at \(ms(now)): \(text())") } }

  private func expect(_ isTrue: Bool, _ text: @autoclosure () -> String) {
    if isTrue { return }
    hasFailed = true
    let text = text()
    Issue.record("CHIME_SEED=\(seed), \(home), at \(ms(now)): \(text)")
  }

  // MARK: What the program does

  func run(on actor: isolated any Actor) async {
    do {
      for number in 0..<Int.random(in: 1...3, using: &random) { try make(seed &* 31 &+ UInt64(number)) }
      for _ in 0..<Int.random(in: 5...40, using: &random) where !hasEnded && !hasFailed {
        if random.chance(25), home != .ownQueue { try hold() }
        for _ in 0..<Int.random(in: 0...2, using: &random) { try act(on: actor) }
        if hasEnded { break }
        if random.chance(50) { try await settle() }
      }
      if !hasEnded, random.chance(60) {
        try await settle()
        if random.chance(50), home != .ownQueue { try hold() }
        shutDown(on: actor)
      }
      if hasEnded { try await lookAtTheEnd() } else { try await settle(for: 200_000_000) }
      for subject in subjects {
        if !(await soon { subject.seen.count == subject.results.count }) {
          expect(false, "\(subject.kind): a wait is left")
        }
        compare(subject, isSettled: true)
      }
      if !hasEnded { _ = try await queue.shutdown() }
    } catch { expect(false, "\(error)") }
  }

  private func make(_ seed: UInt64) throws {
    func length(_ most: Int64) -> Int64 { Int64.random(in: 1...most, using: &random) * 1_000_000 }
    let kind: Subject.Kind
    switch Int.random(in: 0..<6, using: &random) {
    case 0: kind = .once(after: length(9))
    case 1, 2: kind = .every(length(9))
    default:
      var timing = Subject.Timing(length: length(9), extends: random.chance(50))
      if timing.extends, random.chance(40) { timing.longest = length(12) }
      (timing.leading, timing.trailing) =
        [(false, true), (true, true), (true, false)].randomElement(using: &random) ?? (false, true)
      kind = random.chance(65) ? .task(timing) : .plain(timing)
    }
    let subject = Subject(kind, seed: seed)
    subjects.append(subject)
    tell("made \(subjects.count - 1): \(kind)")
    let (clock, queue) = (clock, queue)
    let calls = Counter()
    let body: Body = { [unowned subject] tick, _ in
      let call = calls.add()
      let text = tick.map { "\($0.isExtra ? "extra " : "")\($0.sequence), missed \($0.missed)" } ?? "\(call)"
      subject.log.add("begin \(text) at \(ms(queue.now.nanoseconds))")
      if tick?.isCurrent == false { subject.log.add("stale") }
      let length = subject.duration(call)
      if length > 0 { try? await clock.sleep(for: .nanoseconds(length)) }
      subject.log.add("end at \(ms(queue.now.nanoseconds))")
    }
    switch kind {
    case .once(let delay):
      subject.deadline = now + delay
      subject.timer = try makeTimer(.once(after: .nanoseconds(delay)), body)
    case .every(let interval):
      (subject.deadline, subject.interval) = (now + interval, interval)
      subject.timer = try makeTimer(.every(.nanoseconds(interval)), body)
    case .task(let timing): subject.action = try makeAction(Self.timing(timing), body)
    case .plain(let timing):
      subject.action = try makePlainAction(Self.timing(timing)) { [unowned subject] in
        let call = calls.add()
        subject.log.add("begin \(call) at \(ms(queue.now.nanoseconds))")
        if subject.action?.isPending != true { subject.log.add("not pending") }
        let returned = Counter()
        if call % 3 == 0, #available(macOS 26, iOS 26, *) {
          Task.immediate {
            try? await subject.action?.flush()
            subject.seen.add("in call \(call) flushed \(returned.value == 1 ? "after" : "before") it")
          }
        }
        subject.log.add("end at \(ms(queue.now.nanoseconds))")
        returned.add()
      }
    }
  }

  private static func timing(_ timing: Subject.Timing) -> TriggeredAction.Timing {
    let length = Duration.nanoseconds(timing.length)
    if !timing.extends { return .throttle(length, leading: timing.leading, trailing: timing.trailing) }
    let longest = timing.longest == .max ? nil : Duration.nanoseconds(timing.longest)
    return .debounce(length, atMost: longest, leading: timing.leading, trailing: timing.trailing)
  }

  private func makeTimer(_ schedule: Schedule, _ body: @escaping Body) throws -> ChimeTimer {
    switch home {
    case .actor, .ownQueue: try queue.scheduleTask(schedule, actor: owner) { owner, tick in await body(tick, owner) }
    case .main, .mainQueue:
      try queue.scheduleTask(schedule) { @MainActor tick in await body(tick, MainActor.shared) }
    }
  }

  private func makeAction(_ timing: TriggeredAction.Timing, _ body: @escaping Body) throws -> TriggeredAction {
    switch home {
    case .actor, .ownQueue:
      let action = try TriggeredAction(timing, on: queue)
      action.setAction(on: owner) { owner in await body(nil, owner) }
      return action
    case .main, .mainQueue:
      return try TriggeredAction(timing, on: queue, task: { @MainActor in await body(nil, MainActor.shared) })
    }
  }

  private func makePlainAction(
    _ timing: TriggeredAction.Timing, _ body: @escaping @Sendable () -> Void
  ) throws -> TriggeredAction {
    if let main = queue as? MainTimerQueue { return try TriggeredAction(timing, on: main) { body() } }
    guard let queue = queue as? TimerQueue else { fatalError() }
    return try TriggeredAction(timing, on: queue, action: body)
  }

  /// Time goes on, and the actor is not free.
  private func hold() throws {
    let length = Int64.random(in: 0...8, using: &random) * 1_000_000
    tell("hold for \(ms(length))")
    switch queue {
    case let queue as VirtualTimerQueue: try queue.advanceTimers(by: .nanoseconds(length))
    case let queue as MainTimerQueue: try MainActor.assumeIsolated { try queue.advanceTimers(by: .nanoseconds(length)) }
    default: break
    }
    move(to: now + length, isHeld: true)
  }

  /// Time goes on, and everything else.
  private nonisolated(nonsending) func settle(for length: Int64? = nil) async throws {
    let length = length ?? Int64.random(in: 0...12, using: &random) * 1_000_000
    tell("advance by \(ms(length))")
    guard let queue = queue as? any VirtualTimeQueue else { return }
    try await queue.advance(by: .nanoseconds(length))
    move(to: now + length, isHeld: false)
    for subject in subjects { compare(subject, isSettled: true) }
  }

  private func compare(_ subject: Subject, isSettled: Bool = false) {
    let number = subjects.firstIndex { $0 === subject } ?? 0
    let (log, seen) = (subject.log.all, subject.seen.all)
    expect(
      log == subject.expected, "\(number), \(subject.kind): \(log.suffix(6)), and not \(subject.expected.suffix(6))")
    expect(
      !isSettled || seen.sorted() == subject.results.sorted(),
      "\(number), \(subject.kind): waits \(seen.sorted().suffix(4)), and not \(subject.results.sorted().suffix(4))")
    guard !hasEnded else { return }
    if let timer = subject.timer {
      let state = subject.state == .finished && subject.isSuspended && subject.held != nil ? .suspended : subject.state
      expect(timer.state == state, "\(number), \(subject.kind) is \(timer.state), and not \(state)")
    }
    if let action = subject.action {
      expect(action.isPending == subject.isPending, "\(number), \(subject.kind): pending is \(action.isPending)")
    }
  }

  private func act(on actor: isolated any Actor) throws {
    guard let subject = subjects.randomElement(using: &random) else { return }
    let number = subjects.firstIndex { $0 === subject } ?? 0
    if let action = subject.action {
      switch Int.random(in: 0..<10, using: &random) {
      case 0:
        tell("\(number) cancel")
        action.cancel()
        subject.cancelAction()
      case 1, 2, 3:
        tell("\(number) flush")
        wait(for: subject, on: actor) {
          try await action.flush()
          return "flushed"
        }
        subject.flush(name(), now)
      default:
        tell("\(number) trigger")
        action.trigger()
        subject.trigger(now)
      }
      return compare(subject)
    }
    guard let timer = subject.timer else { return }
    let length = Int64.random(in: 1...9, using: &random) * 1_000_000
    let (outcome, expected): (ChimeTimer.Outcome, ChimeTimer.Outcome)
    switch Int.random(in: 0..<12, using: &random) {
    case 0: (outcome, expected) = (timer.cancel(), subject.stop(.cancelled))
    case 1, 2, 3, 4: (outcome, expected) = (timer.suspend(), subject.suspend())
    case 5, 6, 7: (outcome, expected) = (timer.resume(), subject.resume(now))
    case 8:
      let isOnce = random.chance(50)
      outcome = try timer.restart(
        isOnce ? .once(after: .nanoseconds(length)) : .every(.nanoseconds(length)))
      expected = subject.restart(now + length, every: isOnce ? 0 : length)
    case 9 where subject.deadline > now && subject.state != .cancelled:
      (outcome, expected) = (timer.fire(), .done)
      subject.fires = true
    case 10:
      tell("\(number) cancelAndWait")
      wait(for: subject, on: actor) { "\(try await timer.cancelAndWait())" }
      let outcome = subject.stop(.cancelled)
      if outcome.isRunning {
        subject.waits.append((name() + (outcome == .running ? " done" : " ignored"), subject.begun))
      } else {
        subject.results.append("\(name()) \(outcome)")
      }
      return compare(subject)
    default: return
    }
    tell("\(number) is \(timer.state): \(outcome)")
    expect(outcome == expected, "\(number), \(subject.kind): \(outcome), and not \(expected)")
    compare(subject)
  }

  private func name() -> String { "wait \(waits)" }

  /// Begins a wait at once, on the actor.
  private func wait(
    for subject: Subject, on actor: isolated any Actor,
    _ body: nonisolated(nonsending) @escaping () async throws -> String
  ) {
    waits += 1
    let (name, queue) = (name(), queue)
    guard #available(macOS 26, iOS 26, *) else { return }
    Task.immediate {
      _ = actor
      do {
        let text = try await body()
        subject.seen.add("\(name) \(text)")
      } catch {
        subject.seen.add("\(name) \(error as? ChimeError == .shutDown ? "lost" : "\(error)")")
      }
      _ = queue
    }
  }

  private func shutDown(on actor: isolated any Actor) {
    tell("shutdown")
    let queue = queue
    guard let subject = subjects.first else { return }
    wait(for: subject, on: actor) { "\(try await queue.shutdown())" }
    hasEnded = true
    subject.results.append("\(name()) done")
    for subject in subjects { subject.loseAll(now) }
  }

  /// What ran has ended; nothing begins; what was lost is told, and nothing else.
  private nonisolated(nonsending) func lookAtTheEnd() async throws {
    for subject in subjects {
      if !(await soon { subject.seen.count == subject.results.count && subject.log.count == subject.expected.count }) {
        expect(
          false,
          "\(subject.kind): \(subject.seen.all), \(subject.log.all), and not \(subject.results), \(subject.expected)")
      }
      guard let action = subject.action else { continue }
      expect(await soon { !action.isPending }, "pending after the end")
      do {
        try await action.flush()
        expect(!subject.hasLost, "\(subject.kind): the loss is not told")
      } catch { expect(subject.hasLost, "\(subject.kind): lost \(error)") }
    }
  }

  // MARK: What the model does

  private func move(to end: Int64, isHeld: Bool) {
    while true {
      repeat { if !isHeld { for subject in subjects { subject.settle(now) } } } while pass()
      var next = subjects.map(\.nextTick).min() ?? .max
      if !isHeld { next = min(next, subjects.compactMap(\.runsUntil).min() ?? .max) }
      if next > end { break }
      now = max(now, next)
    }
    now = end
  }

  /// Gives whether there was anything.
  private func pass() -> Bool {
    var hasTicked = false
    for subject in subjects where subject.nextTick <= now {
      subject.tick(now)
      hasTicked = true
    }
    return hasTicked
  }
}

extension Subject {
  var nextTick: Int64 {
    if isAction { return isLeading ? 0 : isOpen || isWanted ? end : .max }
    return fires ? 0 : state == .running ? deadline : .max
  }

  /// What was held back comes with the next tick after a resume.
  private func put(_ call: Call) {
    waiting = merge(isSuspended ? call : merge(call, held), waiting)
    if !isSuspended { held = nil }
  }

  private func merge(_ new: Call, _ old: Call?) -> Call {
    guard let old else { return new }
    var call = new
    call.missed += old.missed + 1
    return call
  }

  func tick(_ now: Int64) {
    if isAction { return tickAction(now) }
    if fires {
      fires = false
      sequence += 1
      put(Call(sequence: sequence, isExtra: true))
    }
    guard state == .running, deadline <= now else { return }
    sequence += 1
    var missed: Int64 = 0
    if interval > 0 {
      missed = (now - deadline) / interval
      deadline += (missed + 1) * interval
    } else {
      (state, deadline) = (.finished, .max)
    }
    put(Call(sequence: sequence, missed: UInt64(missed)))
  }

  private func tickAction(_ now: Int64) {
    let timing = timing
    if isLeading {
      isLeading = false
      end = timing.extends ? timing.end(now, now) : now + timing.length
    } else if isWanted, !timing.extends {
      isWanted = false
      end = now + timing.length
    } else {
      defer { (isOpen, isWanted, end) = (false, false, .max) }
      if !isWanted { return }
    }
    isDue = true
    if isPlain { begin(now) }
  }

  /// The actor is free.
  func settle(_ now: Int64) {
    while true {
      if let until = runsUntil {
        if until > now { return }
        endCall(now)
      }
      if isAction ? !isDue : waiting == nil { return }
      begin(now)
    }
  }

  private func begin(_ now: Int64) {
    begun += 1
    let text =
      isAction
      ? "\(begun)"
      : "\(waiting?.isExtra == true ? "extra " : "")\(waiting?.sequence ?? 0), missed \(waiting?.missed ?? 0)"
    (waiting, isDue) = (nil, false)
    expected.append("begin \(text) at \(ms(now))")
    runsUntil = now + duration(begun)
    guard isPlain else { return }
    if begun % 3 == 0 {
      if isLeading || isWanted { end = min(end, now) }
      waits.append(("in call \(begun) flushed after it", isLeading || isWanted ? begun + 1 : begun))
    }
    endCall(now)
  }

  private func endCall(_ now: Int64) {
    runsUntil = nil
    expected.append("end at \(ms(now))")
    results += waits.filter { $0.call <= begun }.map(\.name)
    waits.removeAll { $0.call <= begun }
  }

  // MARK: Timers

  /// What a call gives that stops what was due.
  private func outcome(_ hasStopped: Bool) -> ChimeTimer.Outcome {
    let hasDropped = waiting != nil || held != nil || fires
    (waiting, held, fires, isSuspended) = (nil, nil, false, false)
    if hasStopped || hasDropped { return runsUntil != nil ? .running : .done }
    return runsUntil != nil ? .ignoredRunning : .ignored
  }

  func stop(_ end: TimerState) -> ChimeTimer.Outcome {
    let hasStopped = state == .running || state == .suspended
    if hasStopped { (state, deadline) = (end, .max) }
    return outcome(hasStopped)
  }

  func restart(_ deadline: Int64, every interval: Int64) -> ChimeTimer.Outcome {
    if state != .running, state != .suspended { sequence = 0 }
    (state, self.deadline, self.interval) = (.running, deadline, interval)
    return outcome(true)
  }

  func suspend() -> ChimeTimer.Outcome {
    let (last, kept, suspends) = (waiting, held, isSuspended || state == .running || waiting != nil)
    let hasStopped = state == .running
    if hasStopped { state = .suspended }
    held = nil
    let outcome = outcome(hasStopped)
    held = last.flatMap { $0.isExtra && $0.missed == 0 ? nil : merge($0, kept) } ?? kept
    isSuspended = suspends
    return outcome
  }

  func resume(_ now: Int64) -> ChimeTimer.Outcome {
    if state != .suspended, !isSuspended || held == nil { return .ignored }
    if state == .suspended { state = .running }
    isSuspended = false
    if state == .running, deadline <= now { return .done }
    if let held { waiting = waiting.map { merge($0, held) } ?? held }
    held = nil
    return .done
  }

  // MARK: Actions

  func trigger(_ now: Int64) {
    latest = now
    if !isWanted { first = now }
    if !isOpen {
      (isOpen, isLeading, isWanted) = (true, timing.leading, !timing.leading)
      end = timing.end(now, now)
    } else if isLeading {
      isWanted = timing.trailing
    } else {
      if timing.trailing { isWanted = true }
      if timing.extends { end = isWanted ? timing.end(now, first) : now + timing.length }
    }
  }

  func cancelAction() {
    (isOpen, isLeading, isWanted, isDue, end) = (false, false, false, false, .max)
    if runsUntil == nil {
      results += waits.map(\.name)
      waits = []
    } else {
      waits = waits.map { ($0.name, min($0.call, begun)) }
    }
  }

  func flush(_ name: String, _ now: Int64) {
    if !isPending { return results.append("\(name) flushed") }
    let isAwaited = isLeading || isWanted || isDue
    if isAwaited, !isDue, !isLeading { end = min(end, now) }
    waits.append((name + " flushed", isAwaited ? begun + 1 : begun))
  }

  // MARK: The end

  func loseAll(_ now: Int64) {
    hasLost = isLeading || isWanted || isDue
    (isOpen, isLeading, isWanted, isDue, waiting, held, fires, state) = (
      false, false, false, false, nil, nil, false, .cancelled
    )
    for wait in waits where wait.call > begun {
      results.append(
        wait.name.hasPrefix("wait") ? wait.name.replacingOccurrences(of: "flushed", with: "lost") : wait.name)
    }
    waits.removeAll { $0.call > begun }
    if runsUntil != nil { endCall(now) }
  }
}
