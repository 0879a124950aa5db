/// The options of a queue, for both interfaces.
package struct QueueOptions: Sendable {
  package var label: String
  package var qos: QualityOfService
  package var clock: Clock
  /// How many timers may exist at once; 0: no limit.
  package var timerLimit: UInt64 = 0
  /// A virtual queue's first instant, 0 or more.
  package var start: Int64 = 0
  /// Where a virtual queue's random numbers begin.
  package var seed: UInt64 = 0
  /// Virtual queues; the others do.
  package var honoursLeeway = false
  /// Host-driven queues: only the thread that creates the queue may drive it.
  package var isBound = false
  /// Host-driven queues: timers have no functions, ticks are taken as records.
  package var givesRecords = false
  /// Precise queues: the SCHED_FIFO priority of the thread; 0: the usual scheduling.
  package var realtimePriority: Int32 = 0
  /// Called around the handlers that run on a thread of libdispatch or of Chime.
  package var hooks: QueueHooks?

  package init(label: String = "", qos: QualityOfService = .unspecified, clock: Clock = .monotonic) {
    self.label = label
    self.qos = qos
    self.clock = clock
  }

  /// For debuggers, and so not of any length: libdispatch copies it.
  package var dispatchLabel: String { 1...255 ~= label.utf8.count ? label : "chime.queue" }
}

/// What a host wants called around handlers on threads that it did not create, to attach them to a language's runtime.
package struct QueueHooks: Sendable {
  let enter: ContextFunction?
  let leave: ContextFunction?
  /// Ends with the queue.
  package let owned: OwnedContext
  var context: Context { owned.context }

  package init(enter: ContextFunction?, leave: ContextFunction?, context: OwnedContext) {
    self.enter = enter
    self.leave = leave
    owned = context
  }
}
