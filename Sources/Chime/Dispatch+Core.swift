import ChimeCore
import Dispatch

// Dispatch's own types as the core takes them.

extension WorkQueue {
  convenience init(_ queue: DispatchQueue) { unsafe self.init(queue.raw) }
}

extension DispatchQueue {
  /// The `dispatch_queue_t`. On Apple's systems that is the object. On Linux the overlay's class has it as its one stored
  /// property, and offers no other way to it.
  fileprivate var raw: UnsafeMutableRawPointer {
    let object = unsafe Unmanaged.passUnretained(self).toOpaque()
    #if canImport(Darwin)
      return unsafe object
    #else
      return unsafe object.load(fromByteOffset: 16, as: UnsafeMutableRawPointer.self)
    #endif
  }
}

extension QualityOfService {
  init(_ qos: DispatchQoS) {
    let qosClass: QualityOfService =
      switch qos.qosClass {
      case .background: .background
      case .utility: .utility
      case .default: .default
      case .userInitiated: .userInitiated
      case .userInteractive: .userInteractive
      case .unspecified: .unspecified
      @unknown default: .unspecified
      }
    self.init(number: qosClass.number, relativePriority: Int32(qos.relativePriority))
  }
}

extension QueueCore {
  package static func makeWrapping(_ queue: DispatchQueue, _ options: QueueOptions) -> Result<UInt64, Status> {
    unsafe makeWrapping(queue.raw, options)
  }
}
