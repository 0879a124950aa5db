/// What a timer tells of each tick, and releases when it has ended.
class TickReceiver {
  func ticked(_ tick: CoreTick) {}

  /// Makes a timer that tells this, and starts it. Gives its id.
  final func makeTimer(on queue: UInt64, _ schedule: Schedule) -> Result<UInt64, Status> {
    let handler = unsafe TickFunction { tick, context in
      // SAFETY: the core's tick; and the reference that the timer's context is.
      if let context = unsafe context {
        let record = unsafe tick.load(as: CoreTick.self)
        unsafe Unmanaged<TickReceiver>.fromOpaque(context).takeUnretainedValue().ticked(record)
      }
    }
    let context = Context.retaining(self)
    var id: UInt64 = 0
    let options = TimerOptions(handler: handler, context: context, flags: .ownsContext)
    let status = unsafe TimerRef.create(on: queue, options, schedule, out: &id)
    if !status.isFailure { return .success(id) }
    context.releaseObject()
    return .failure(status)
  }
}
