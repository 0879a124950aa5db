import CDispatch
import Dispatch
import Glibc
import Synchronization

/// A place in libdispatch where the passes of a queue run: a queue of Chime's own, the main queue, or one of the
/// host's. Knows how to put a block there and whether the caller stands there.
struct DispatchPlace: Sendable {
  /// Where the timer source's handler runs; itself the place, or a serial queue that targets it.
  let timerQueue: DispatchQueue
  /// Puts a block on the place itself, behind the blocks that are there.
  let submit: @Sendable (@escaping @Sendable () -> Void) -> Void
  /// Runs a block on the place and waits; nil where the caller could stand on it without Chime knowing.
  let runAndWait: (@Sendable (() -> Void) -> Void)?
  /// Hands a handler to a concurrent place; nil where handlers run in the pass.
  let handOver: (@Sendable (@escaping @Sendable () -> Void) -> Void)?
  let isOnPlace: @Sendable () -> Bool
  /// What it shares with work of the host's.
  let shared: Place?
  let isOwn: Bool

  var isMain: Bool { shared == .main }

  /// A serial queue of Chime's own.
  static func serial(_ queue: DispatchQueue) -> DispatchPlace {
    DispatchPlace(
      timerQueue: queue, submit: { queue.async(execute: $0) }, runAndWait: { queue.sync(execute: $0) }, handOver: nil,
      isOnPlace: { false }, shared: nil, isOwn: true)
  }

  /// A serial queue of Chime's own on which the host has work of its own done, too: an actor's.
  static func serial(shared host: HostQueue, _ queue: DispatchQueue) -> DispatchPlace {
    DispatchPlace(
      timerQueue: queue, submit: { queue.async(execute: $0) }, runAndWait: nil, handOver: nil,
      isOnPlace: { host.isCurrent }, shared: host.place, isOwn: true)
  }

  /// A concurrent queue, of Chime's own or a global one; its passes run on a private serial queue.
  static func concurrent(label: String, on target: DispatchQueue) -> DispatchPlace {
    let queue = DispatchQueue(label: label)
    return DispatchPlace(
      timerQueue: queue, submit: { queue.async(execute: $0) }, runAndWait: nil,
      handOver: { target.async(execute: $0) }, isOnPlace: { false }, shared: nil, isOwn: true)
  }

  /// libdispatch's main queue.
  static func main() -> DispatchPlace {
    DispatchPlace(
      timerQueue: .main, submit: { DispatchQueue.main.async(execute: $0) }, runAndWait: nil, handOver: nil,
      isOnPlace: { MainQueue.isHere }, shared: .main, isOwn: false)
  }

  /// A queue of the host's; `nil` when it belongs to another copy of libdispatch.
  static func wrapping(_ pointer: UnsafeMutableRawPointer, label: String) -> DispatchPlace? {
    guard unsafe HostQueue.isOurs(pointer) else { return nil }
    let host = unsafe HostQueue(pointer)
    if host.isMain { return main() }
    let queue = host.makeTarget(label: label)
    if host.isConcurrent {
      return DispatchPlace(
        timerQueue: queue, submit: { queue.async(execute: $0) }, runAndWait: nil, handOver: { host.async($0) },
        isOnPlace: { false }, shared: nil, isOwn: false)
    }
    host.mark()
    return DispatchPlace(
      timerQueue: queue, submit: { host.async($0) }, runAndWait: nil, handOver: nil, isOnPlace: { host.isCurrent },
      shared: host.place, isOwn: false)
  }
}

/// A `dispatch_queue_t` that the host handed over; retained as long as this object lives.
@safe final class HostQueue: Sendable {
  // SAFETY: a dispatch object is thread-safe; retained in init, released in deinit.
  private nonisolated(unsafe) let raw: OpaquePointer

  init(_ pointer: UnsafeMutableRawPointer) {
    unsafe raw = OpaquePointer(pointer)
    unsafe Undeclared.dispatchRetain(raw)
  }

  convenience init(_ queue: DispatchQueue) { unsafe self.init(UnsafeMutableRawPointer(HostQueue.raw(of: queue))) }

  deinit { unsafe Undeclared.dispatchRelease(raw) }

  func async(_ block: @escaping @Sendable () -> Void) { unsafe dispatch_async(raw, block) }

  /// A serial queue that runs its blocks on the host's.
  func makeTarget(label: String) -> DispatchQueue {
    let queue = DispatchQueue(label: label, attributes: .initiallyInactive)
    unsafe dispatch_set_target_queue(dispatch_object_t(_dq: HostQueue.raw(of: queue)), raw)
    queue.activate()
    return queue
  }

  // MARK: Standing on it

  /// The address of this byte is the key; its value on a queue is the queue.
  // SAFETY: only its address is used.
  private nonisolated(unsafe) static let key = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)

  /// Whether any queue was ever marked.
  private static let anyIsMarked = Atomic<Bool>(false)

  func mark() {
    unsafe dispatch_queue_set_specific(raw, HostQueue.key, UnsafeMutableRawPointer(raw), nil)
    HostQueue.anyIsMarked.store(true, ordering: .relaxed)
  }

  var isCurrent: Bool { unsafe dispatch_get_specific(HostQueue.key) == UnsafeMutableRawPointer(raw) }

  var place: Place { .dispatchQueue(unsafe UInt(bitPattern: raw)) }

  /// The marked queue that the caller stands on, by its address; 0 for none.
  static var current: UInt {
    if !anyIsMarked.load(ordering: .relaxed) { return 0 }
    return unsafe UInt(bitPattern: dispatch_get_specific(HostQueue.key))
  }

  // MARK: What it is

  var isMain: Bool { unsafe raw == HostQueue.raw(of: .main) }

  /// Whether blocks on it can run at the same time: told by the type object that libdispatch gives its queues.
  var isConcurrent: Bool {
    let type = unsafe HostQueue.type(of: raw)
    let own = DispatchQueue(label: "", attributes: .concurrent)
    return unsafe type == HostQueue.type(of: HostQueue.raw(of: own))
      || type == HostQueue.type(of: HostQueue.raw(of: .global()))
  }

  /// Whether the object was made by the libdispatch that Chime uses: its type object lies in the same loaded file.
  static func isOurs(_ pointer: UnsafeMutableRawPointer) -> Bool {
    let own = DispatchQueue(label: "")
    return unsafe image(of: type(of: OpaquePointer(pointer))) == image(of: type(of: raw(of: own)))
  }

  private static func image(of address: UnsafeRawPointer?) -> UnsafeMutableRawPointer? {
    var info = unsafe Undeclared.ImageInfo()
    guard let address = unsafe address, unsafe Undeclared.dladdr(address, &info) != 0 else { return nil }
    return unsafe info.fileBase
  }

  /// The first word of every dispatch object points to its type.
  private static func type(of object: OpaquePointer) -> UnsafeRawPointer? {
    unsafe UnsafeRawPointer(object).load(as: UnsafeRawPointer?.self)
  }

  /// The `dispatch_queue_t` inside Swift's `DispatchQueue`: on Linux the overlay's class has it as its one stored
  /// property. (libdispatch offers no other way to set a foreign target.)
  static func raw(of queue: DispatchQueue) -> OpaquePointer {
    unsafe Unmanaged.passUnretained(queue).toOpaque().load(fromByteOffset: 16, as: OpaquePointer.self)
  }
}
