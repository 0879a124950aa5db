import ChimeCore
import Dispatch

// Dispatch's own types as the core takes them.

extension DispatchQueue {
  /// The `dispatch_queue_t` inside; `nil` if it cannot be known.
  ///
  /// On Apple's systems the object is one. On Linux the overlay's class wraps one and has no public way to it: its own
  /// description of itself, `Mirror`, names it. If a later overlay has another name for it, the answer is `nil`, and
  /// whoever asks throws `unsupported`.
  fileprivate var handle: UnsafeMutableRawPointer? {
    #if canImport(Darwin)
      return unsafe Unmanaged.passUnretained(self).toOpaque()
    #else
      for child in Mirror(reflecting: self).children where child.label == "__wrapped" {
        guard let pointer = unsafe child.value as? OpaquePointer else { return nil }
        return unsafe UnsafeMutableRawPointer(pointer)
      }
      return nil
    #endif
  }
}

extension WorkQueue {
  /// `nil` if the queue cannot be known; see `DispatchQueue.handle`.
  static func of(_ queue: DispatchQueue) -> WorkQueue? {
    guard let handle = unsafe queue.handle else { return nil }
    return unsafe WorkQueue(handle)
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
  package static func makeWrapping(_ queue: DispatchQueue, _ options: QueueOptions) throws(Status) -> UInt64 {
    guard let handle = unsafe queue.handle else {
      throw Status.unsupported.because("the dispatch queue does not say what it wraps")
    }
    return try unsafe makeWrapping(handle, options)
  }
}
