import CChime

/// Drives a real virtual queue and the model together: each call goes to both, each callback of the queue is shown to
/// the model while it runs, and after each step all that the interface can tell is compared.
///
/// Used by one thread. After the first difference nothing more is done.
final class Lockstep {
  let queue: chime_queue_t
  let model: ModelQueue
  let seed: UInt64
  private(set) var difference: String?
  private var generator: OperationGenerator
  private(set) var step = 0
  private var history: [[HistoryLine]] = Array(repeating: [], count: 30)
  fileprivate var subjects: [Subject] = []
  /// All ids that were ever given out.
  private var ids: Set<chime_timer_t> = []
  private var queueIsReleased = false
  /// Calls under way: 0 between steps.
  private var depth = 0

  init(seed: UInt64) {
    self.seed = seed
    let start = Int64(seed % 1000)
    queue = makeVirtualQueue(start: start)
    model = ModelQueue(now: start)
    generator = OperationGenerator(seed: seed)
  }

  /// Makes the steps and releases the queue; returns a description of the first difference.
  func run(steps: Int) -> String? {
    while step < steps, difference == nil {
      step += 1
      history[step % history.count] = []
      perform(generator.step(model))
      attempt { () throws(Difference) in try compareAll() }
    }
    releaseQueue()
    return difference
  }

  private func releaseQueue() {
    for timer in model.unreleased { _ = model.release(timer) }
    queueIsReleased = true
    let status = chime_queue_release(queue)
    attempt { () throws(Difference) in
      if status != ok { throw Difference("release of the queue answers \(name(of: status))") }
      try model.nothingIsOwedToTheReleased()
    }
  }

  // MARK: Failure

  fileprivate func attempt(_ body: () throws(Difference) -> Void) {
    if difference != nil { return }
    do { try body() } catch { fail(error.description) }
  }

  private func fail(_ text: String) {
    let steps = (max(1, step - history.count + 1)...max(1, step)).map { number in
      "step \(number):\n" + history[number % history.count].map { "    \($0)\n" }.joined()
    }
    difference = "CHIME_SEED=\(seed), step \(step), time \(model.now): \(text)\n"
      + "the queue's choices: \(Reading.text(model.readings))\n" + steps.joined()
  }

  private func note(_ line: HistoryLine) { history[step % history.count].append(line) }

  // MARK: Calls

  fileprivate func perform(_ operation: Operation) {
    if difference != nil { return }
    depth += 1
    defer { depth -= 1 }
    note(.call(operation, depth: depth))
    attempt { () throws(Difference) in
      try reconcile()
      try call(operation)
      try reconcile()
      if depth == 1 { try model.nothingIsOwedToTheReleased() }
    }
  }

  private func call(_ operation: Operation) throws(Difference) {
    switch operation {
    case .create(let traits): try create(traits, nil, anonymous: false)
    case .start(let traits, let schedule, let anonymous): try create(traits, schedule, anonymous: anonymous)
    case .after(let delay, let anonymous):
      try createSimply(makeSchedule(first: delay), anonymous: anonymous) { context, id in
        chime_timer_after(queue, delay, subjectHandler, context, subjectFinalizer, id)
      }
    case .every(let interval, let anonymous):
      let schedule = makeSchedule(first: interval, interval: interval == 0 ? -1 : interval)
      try createSimply(schedule, anonymous: anonymous) { context, id in
        chime_timer_every(queue, interval, subjectHandler, context, subjectFinalizer, id)
      }
    case .activate(let timer, let schedule):
      try call(timer, schedule, model.activate, chime_timer_activate)
    case .restart(let timer, let schedule):
      try call(timer, schedule, model.restart, chime_timer_restart)
    case .reschedule(let timer, let schedule):
      try call(timer, schedule, model.reschedule, chime_timer_reschedule)
    case .suspend(let timer): try call(timer, model.suspend, chime_timer_suspend)
    case .resume(let timer): try call(timer, model.resume, chime_timer_resume)
    case .postpone(let timer, let delay):
      try postpone(timer, .delay(delay)) { chime_timer_postpone($0, delay) }
    case .postponeUntil(let timer, let deadline):
      try postpone(timer, .until(deadline)) { chime_timer_postpone_until($0, deadline) }
    case .fire(let timer): try call(timer, model.fire, chime_timer_fire)
    case .cancel(let timer): try call(timer, model.cancel, chime_timer_cancel)
    case .cancelAndWait(let timer, let timeout):
      try call(timer, { model.cancelAndWait($0, timeout: timeout) }) { chime_timer_cancel_and_wait($0, timeout) }
    case .release(let timer): try call(timer, model.release, chime_timer_release)
    case .jump(let duration): try check(chime_queue_jump(queue, duration), in: model.jump(duration))
    case .advance(let duration):
      try advance(to: duration < 0 ? nil : saturatingSum(model.now, duration)) { chime_queue_advance(queue, duration) }
    case .advanceTo(let deadline):
      try advance(to: deadline) { chime_queue_advance_to(queue, deadline) }
    case .script(let timer, let callback, let operation):
      if subjects.indices.contains(timer) { subjects[timer].addScript(callback, operation) }
    }
  }

  /// The model goes first: a release calls back before it returns.
  private func call(
    _ number: Int, _ expected: (ModelTimer) -> [chime_status], _ real: (chime_timer_t) -> chime_status
  ) throws(Difference) {
    guard subjects.indices.contains(number) else {
      let status = real(chime_timer_t(truncatingIfNeeded: number) &* 0x1_0001)
      if status != invalidHandle && status != invalidArgument { throw Difference("a forged id: \(name(of: status))") }
      return
    }
    let timer = model.timers[number]
    if timer.id == 0 { return }
    let statuses = expected(timer)
    try check(real(timer.id), in: statuses)
    if difference == nil { try compare(timer) }
  }

  private func call(
    _ number: Int, _ schedule: chime_schedule?, _ expected: (ModelTimer, ScheduleArgument) -> [chime_status],
    _ real: (chime_timer_t, UnsafePointer<chime_schedule>?) -> chime_status
  ) throws(Difference) {
    try call(number, { expected($0, ScheduleArgument(schedule)) }) { id in
      guard let schedule else { return real(id, nil) }
      return withUnsafePointer(to: schedule) { real(id, $0) }
    }
  }

  private func postpone(
    _ number: Int, _ amount: Postponement, _ real: (chime_timer_t) -> chime_status
  ) throws(Difference) {
    try call(number, { model.postpone($0, amount) }) { id in
      let status = real(id)
      if status == ok { model.takeEffect(amount, on: model.timers[number]) }
      return status
    }
  }

  private func advance(to deadline: Int64?, _ real: () -> chime_status) throws(Difference) {
    if depth > 1 {
      // Inside a handler that a release outside any pass has called there is no pass to collide with.
      if model.target == nil { return }
      return try check(real(), in: deadline == nil ? [invalidArgument, wouldDeadlock] : [wouldDeadlock])
    }
    guard let deadline else { return try check(real(), in: [invalidArgument]) }
    model.advanceBegins(to: deadline)
    try check(real(), in: [ok])
    if difference != nil { return }
    try reconcile()
    try model.advanceEnded()
  }

  private func check(_ status: chime_status, in expected: [chime_status]) throws(Difference) {
    if difference != nil { return }
    note(.status(status, depth: depth))
    if !expected.contains(status) {
      throw Difference("\(name(of: status)) was returned, not \(expected.map(name(of:)).joined(separator: " or "))")
    }
  }

  // MARK: Creation

  private func create(_ traits: TimerTraits, _ schedule: chime_schedule?, anonymous: Bool) throws(Difference) {
    var options = chime_timer_options()
    options.size = UInt32(MemoryLayout<chime_timer_options>.size)
    options.flags = traits.selfReleasing ? UInt32(CHIME_TIMER_SELF_RELEASE) : 0
    options.handler = subjectHandler
    options.registration_handler = traits.registration ? subjectHandler : nil
    options.cancel_handler = traits.cancellation ? subjectHandler : nil
    options.finalizer = subjectFinalizer
    try add(traits, schedule, anonymous: anonymous) { context, id in
      options.context = context
      guard let schedule else { return chime_timer_create(queue, &options, id) }
      return withUnsafePointer(to: schedule) { chime_timer_start(queue, &options, $0, id) }
    }
  }

  private func createSimply(
    _ schedule: chime_schedule, anonymous: Bool,
    _ real: (UnsafeMutableRawPointer, UnsafeMutablePointer<chime_timer_t>?) -> chime_status
  ) throws(Difference) {
    try add(TimerTraits(), schedule, anonymous: anonymous, real)
  }

  private func add(
    _ traits: TimerTraits, _ schedule: chime_schedule?, anonymous: Bool,
    _ real: (UnsafeMutableRawPointer, UnsafeMutablePointer<chime_timer_t>?) -> chime_status
  ) throws(Difference) {
    let argument = ScheduleArgument(schedule)
    var traits = traits
    if anonymous { traits.selfReleasing = true }
    let subject = Subject(lockstep: self)
    var id: chime_timer_t = 0
    let context = Unmanaged.passUnretained(subject).toOpaque()
    let status = anonymous ? real(context, nil) : withUnsafeMutablePointer(to: &id) { real(context, $0) }
    guard argument.isNull || argument.schedule != nil else {
      if id != 0 { throw Difference("a refused creation stored an id") }
      return try check(status, in: [invalidArgument])
    }
    try check(status, in: [ok])
    let timer = model.addTimer(traits)
    timer.id = id
    subject.timer = timer
    subjects.append(subject)
    if !argument.isNull { _ = model.activate(timer, argument) }
    if !anonymous, id == 0 || !ids.insert(id).inserted {
      throw Difference("the id \(id) of a new timer is 0 or was used before")
    }
  }

  // MARK: Callbacks

  fileprivate func receive(_ subject: Subject, _ tick: chime_tick) {
    guard difference == nil, let timer = subject.timer else { return }
    note(.tick(timer.number, tick, depth: depth))
    attempt { () throws(Difference) in
      do throws(Difference) {
        try reconcile()
        if timer.id == 0 { timer.id = tick.timer }
        if tick.timer != timer.id { throw Difference("the tick names timer \(tick.timer), not \(timer.id)") }
        try model.callbackBegins(timer, tick)
      } catch {
        throw Difference("callback of timer \(timer.number), \(HistoryLine.text(tick)): \(error)")
      }
      if !queueIsReleased, now(of: queue) != model.now {
        throw Difference("the time is \(now(of: queue)), not \(model.now)")
      }
      if !timer.isReleased { try compare(timer) }
    }
    if !queueIsReleased { for operation in subject.nextScript() { perform(operation) } }
    if difference == nil { model.callbackReturned(timer) }
  }

  fileprivate func finalize(_ subject: Subject) {
    guard difference == nil, let timer = subject.timer else { return }
    note(.finalizer(timer.number, depth: depth))
    attempt { () throws(Difference) in
      do throws(Difference) { try model.finalizerRuns(timer) } catch {
        throw Difference("finalizer of timer \(timer.number): \(error)")
      }
    }
  }
}

// MARK: C callbacks

/// What the context of a timer points to.
final class Subject {
  private unowned let lockstep: Lockstep
  var timer: ModelTimer?
  private var callbacks = 0
  private var scripts: [Int: [Operation]] = [:]

  init(lockstep: Lockstep) { self.lockstep = lockstep }

  func addScript(_ callback: Int, _ operation: Operation) {
    scripts[callbacks + callback, default: []].append(operation)
  }

  /// The calls to make in the callback that has begun.
  func nextScript() -> [Operation] {
    defer { callbacks += 1 }
    return scripts.removeValue(forKey: callbacks) ?? []
  }

  fileprivate func receive(_ tick: chime_tick) { lockstep.receive(self, tick) }
  fileprivate func finalize() { lockstep.finalize(self) }

  fileprivate static func at(_ context: UnsafeMutableRawPointer?) -> Subject {
    Unmanaged<Subject>.fromOpaque(context!).takeUnretainedValue()
  }
}

private let subjectHandler: chime_handler = { tick, context in Subject.at(context).receive(tick.pointee) }
private let subjectFinalizer: chime_finalizer = { context in Subject.at(context).finalize() }
