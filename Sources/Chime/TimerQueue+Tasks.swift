import ChimeCore

// Handlers that wait, on any queue: each call is a part of a task, and the calls of one timer never overlap.
extension AnyTimerQueue {
  /// Calls an asynchronous handler by a schedule. The queue only starts the calls; they run as tasks, on the handler's own
  /// actor if it has one: like that of a `Task`, it is isolated as the code is around it, and may use the state there.
  ///
  /// Calls never overlap: for ticks that come while one runs there is one more call, of the newest of them, whose `missed`
  /// counts the others. A call begins only if its tick is current then: never once the timer was cancelled, suspended,
  /// restarted or rescheduled, or has ended. One that has begun ends by itself: stopping the timer does not cancel it, and
  /// answers `running` until it has returned.
  ///
  /// Unlike a `Task`, a handler does not keep the task-local values of the code that makes it: a call begins in a tick, where
  /// there is no task. Capture the values that it needs, and bind them in the handler:
  ///
  ///     let id = Request.id
  ///     poll = try queue.scheduleTask(.every(.seconds(1))) { _ in
  ///       await Request.$id.withValue(id) { await refresh() }
  ///     }
  ///
  /// A `Task` that reads `ticks(_:)` keeps all of them. On virtual time, and after `resume`, a call may begin in the task that
  /// calls `advance` or `resume`, and then has the values of that task: do not rely on them.
  ///
  /// - Parameters:
  ///   - schedule: when. `MissedPolicy.delay` counts from the beginning of a call.
  ///   - label: for debuggers; see `schedule(_:label:handler:)`.
  ///   - handler: runs in a task. What it captures is kept: `[weak self]`, or `actor:`.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument` if the schedule's deadline is on another clock; `limit`, `noMemory`; `shutDown` if the queue
  ///   has ended.
  public func scheduleTask(
    _ schedule: Schedule, label: String = "",
    @_inheritActorContext handler: @escaping @isolated(any) @Sendable (ChimeTimer.Tick) async -> Void
  ) throws -> ChimeTimer {
    let calls = TaskCalls(on: self)
    let starter = calls.makeStarter { _ in
      Task { await calls.run(on: handler.isolation) { tick in await handler(tick) } }
    }
    return try ChimeTimer.start(on: self, schedule, label: label, calls: calls) { tick in
      if calls.put(tick) { starter.start(.tick) }
    }
  }

  /// Calls `handler` on an actor by a schedule, as long as the actor lives. The handler is isolated to the actor, and can
  /// use its state, with or without `await`; see `scheduleTask(_:label:handler:)`.
  ///
  /// On the actor's own `SerialTimerQueue` a call begins inside the tick; elsewhere it waits for its turn on the actor. Task-local
  /// values are not kept there either.
  ///
  /// - Parameters:
  ///   - schedule: when.
  ///   - label: for debuggers; see `schedule(_:label:handler:)`.
  ///   - actor: held only during a call.
  ///   - handler: runs on the actor.
  /// - Returns: the timer; it stops when its last reference goes, or the actor does.
  /// - Throws: as `scheduleTask(_:label:handler:)`.
  public func scheduleTask<Isolation: Actor>(
    _ schedule: Schedule, label: String = "", actor: Isolation,
    handler: @escaping @Sendable (isolated Isolation, ChimeTimer.Tick) async -> Void
  ) throws -> ChimeTimer {
    let target = try WeakTarget(actor)
    let calls = TaskCalls(on: self) { target.object == nil }
    let home = isExecutor(of: actor) ? (self as? SerialTimerQueue)?.context : nil
    let starter = calls.makeStarter { occasion in
      if occasion == .tick, home?.isCurrent == true, let actor = target.object, #available(macOS 26, iOS 26, *) {
        _ = actor.assumeIsolated { actor in
          Task.immediate { await calls.run(on: actor) { tick in await handler(actor, tick) } }
        }
        return
      }
      Task {
        guard let actor = target.object else { return calls.giveUp() }
        await calls.run(on: actor) { tick in await handler(actor, tick) }
      }
    }
    return try ChimeTimer.start(on: self, schedule, label: label, target, calls: calls) { _, tick in
      if calls.put(tick) { starter.start(.tick) }
    }
  }

  /// Whether the actor runs on this queue.
  private func isExecutor(of actor: some Actor) -> Bool {
    // SAFETY: a reference to an executor is two pointers, to the object and to how it is one.
    let object = unsafe unsafeBitCast(actor.unownedExecutor, to: (UnsafeRawPointer?, Int).self).0
    return unsafe object == UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
  }
}
