import Dispatch

/// How a queue is made, for both interfaces.
package struct QueueOptions: Sendable {
  package var label: String
  package var qos: DispatchQoS
  /// Timers that may exist at once; 0: no limit.
  package var timerLimit: UInt64
  /// A virtual queue's first instant, 0 or more.
  package var start: Int64
  package var honoursLeeway: Bool

  package init(
    label: String = "", qos: DispatchQoS = .unspecified, timerLimit: UInt64 = 0, start: Int64 = 0,
    honoursLeeway: Bool = false
  ) {
    self.label = label
    self.qos = qos
    self.timerLimit = timerLimit
    self.start = start
    self.honoursLeeway = honoursLeeway
  }

  var dispatchLabel: String { label.isEmpty ? "chime.queue" : label }
}

/// The factories. Each gives the new queue's id, or why there is none: limit, noMemory, resource, unsupported.
extension QueueCore {
  package static func makeSerial(_ options: QueueOptions) -> Result<UInt64, Status> {
    make(options, at: .serial(label: options.dispatchLabel, qos: options.qos))
  }

  package static func makeConcurrent(_ options: QueueOptions) -> Result<UInt64, Status> {
    let target = DispatchQueue(label: options.dispatchLabel, qos: options.qos, attributes: .concurrent)
    return make(options, at: .concurrent(label: options.dispatchLabel, on: target))
  }

  package static func makeGlobal(_ qos: DispatchQoS.QoSClass, _ options: QueueOptions) -> Result<UInt64, Status> {
    make(options, at: .concurrent(label: options.dispatchLabel, on: .global(qos: qos)))
  }

  package static func makeMain(_ options: QueueOptions) -> Result<UInt64, Status> {
    guard MainQueue.canBeDrained else { return .failure(.unsupported) }
    return make(options, at: .main())
  }

  /// - Parameter dispatchQueue: a `dispatch_queue_t`, retained as long as the queue needs it.
  package static func makeWrapping(
    _ dispatchQueue: UnsafeMutableRawPointer, _ options: QueueOptions
  ) -> Result<UInt64, Status> {
    guard let place = unsafe DispatchPlace.wrapping(dispatchQueue, label: options.dispatchLabel) else {
      return .failure(.unsupported)
    }
    return make(options, at: place)
  }

  package static func makeWrapping(_ queue: DispatchQueue, _ options: QueueOptions) -> Result<UInt64, Status> {
    unsafe makeWrapping(UnsafeMutableRawPointer(HostQueue.raw(of: queue)), options)
  }

  package static func makeVirtual(_ options: QueueOptions) -> Result<UInt64, Status> {
    acquire(options, isVirtual: true).map { cell, id in
      let core = QueueCore(
        id: id, cell: cell, label: options.label, isLimited: options.timerLimit > 0, shift: 0, handOver: nil)
      core.open(VirtualAdapter())
      return id
    }
  }

  private static func make(_ options: QueueOptions, at place: DispatchPlace) -> Result<UInt64, Status> {
    guard Descriptors.areLeft else { return .failure(.resource) }
    return make(options, handOver: place.handOver) { DispatchAdapter($0, place) }
  }

  /// A queue on a clock of the real world, with an adapter of the caller's kind.
  package static func make(
    _ options: QueueOptions, handOver: (@Sendable (@escaping @Sendable () -> Void) -> Void)? = nil,
    adapter: (QueueCore) -> any QueueAdapter
  ) -> Result<UInt64, Status> {
    acquire(options, isVirtual: false).map { cell, id in
      // A tick of the wheel is 1,024 ns.
      let core = QueueCore(
        id: id, cell: cell, label: options.label, isLimited: options.timerLimit > 0, shift: 10, handOver: handOver)
      core.open(adapter(core))
      return id
    }
  }

  private static func acquire(
    _ options: QueueOptions, isVirtual: Bool
  ) -> Result<(cell: QueueCell, id: UInt64), Status> {
    QueueCells.acquire(limited: options.timerLimit > 0).map { cell, id in
      cell.prepare(
        isVirtual: isVirtual, start: options.start, honoursLeeway: !isVirtual || options.honoursLeeway,
        timerLimit: options.timerLimit)
      return (cell, id)
    }
  }
}

extension QueueCell {
  /// Sets the cell up for a new queue; nobody knows the queue yet.
  func prepare(isVirtual: Bool, start: Int64, honoursLeeway: Bool, timerLimit: UInt64) {
    unsafe storage.pointee.isVirtual.store(isVirtual, ordering: .relaxed)
    unsafe storage.pointee.honoursLeeway.store(honoursLeeway, ordering: .relaxed)
    virtualNow = start
    if timerLimit > 0 {
      unsafe storage.pointee.slots.withLock { slots in
        slots.limit = timerLimit
        slots.live = 0
      }
    }
  }
}
