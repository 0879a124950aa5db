import Chime
import ChimeCore
import Dispatch

extension DispatchSourceTimerMachine {
  /// An idle machine around timers that a factory makes; it has none until it is started.
  ///
  /// - Parameters:
  ///   - queue: where handlers run; `nil` for a global queue.
  ///   - factory: makes a timer each time the machine is started.
  ///   - handler: runs at each tick, unless `activate` or `restart` was given another one.
  public convenience init(
    queue: DispatchQueue? = nil, factory: any TimerAdapterFactory, handler: sending (() -> Void)? = nil
  ) {
    self.init(AdapterFactory(factory, queue), handler: handler)
  }

  /// `init(queue:factory:handler:)`, with the factory under the name that it has in the systems that this machine comes
  /// from.
  ///
  /// - Parameters:
  ///   - queue: where handlers run; `nil` for a global queue.
  ///   - timerFactory: makes a timer each time the machine is started.
  ///   - handler: runs at each tick, unless `activate` or `restart` was given another one.
  public convenience init(
    queue: DispatchQueue? = nil, timerFactory: any TimerAdapterFactory, handler: sending (() -> Void)? = nil
  ) {
    self.init(queue: queue, factory: timerFactory, handler: handler)
  }
}

/// A factory as the machine knows it.
final class AdapterFactory: MachineTimerFactory {
  private let factory: any TimerAdapterFactory
  private let queue: DispatchQueue?

  init(_ factory: any TimerAdapterFactory, _ queue: DispatchQueue?) {
    self.factory = factory
    self.queue = queue
  }

  func makeTimer() -> any MachineTimer { factory.makeTimer(queue: queue) }
  func submit(_ body: @escaping @Sendable () -> Void) { (queue ?? .global()).async(execute: body) }
  var now: Int64 { factory.now.machineInstant }
}
