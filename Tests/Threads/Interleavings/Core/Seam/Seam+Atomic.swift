import Synchronization

/// In front of Synchronization's, and laid out as that: memory of the slab is bound to it. One thread runs at a time,
/// so that a read and a write make an operation, and what order it asks for makes no difference.
package struct Atomic<Value: AtomicRepresentable & BitwiseCopyable>: ~Copyable {
  private let cell: _Cell<Value>

  package init(_ value: Value) { cell = _Cell(value) }

  @inline(__always)
  fileprivate var value: Value {
    get { unsafe opaque(cell._address).assumingMemoryBound(to: Value.self).pointee }
    nonmutating set { unsafe opaque(cell._address).assumingMemoryBound(to: Value.self).pointee = newValue }
  }
}

/// The same pointer, of which the compiler does not know that it leads into a constant, as the core's atomics are: it would
/// read one before the step that lets others change it.
@inline(never) @_optimize(none)
private func opaque(_ pointer: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer { unsafe pointer }

extension Atomic: @unchecked Sendable where Value: Sendable {}

@inline(__always)
package func atomicMemoryFence(
  ordering: AtomicUpdateOrdering, file: StaticString = #fileID, line: UInt32 = #line
) {
  Seam.step("fence", file, line)
}

extension Atomic {
  @inline(__always)
  package func load(ordering: AtomicLoadOrdering, file: StaticString = #fileID, line: UInt32 = #line) -> Value {
    if !Seam.isOfScan(Seam.bits(value) == 0, file) {
      Seam.step("load", file, line, quietly: ordering == .relaxed || ordering == .acquiring)
    }
    let value = value
    Seam.note(value, value)
    return value
  }

  @inline(__always)
  package func store(
    _ new: Value, ordering: AtomicStoreOrdering, file: StaticString = #fileID, line: UInt32 = #line
  ) {
    Seam.step("store", file, line, quietly: ordering == .relaxed)
    Seam.note(value, new)
    value = new
  }

  @inline(__always)
  package func exchange(
    _ new: Value, ordering: AtomicUpdateOrdering, file: StaticString = #fileID, line: UInt32 = #line
  ) -> Value {
    update("exchange", file, line) { _ in new }.oldValue
  }

  @inline(__always)
  package func compareExchange(
    expected: Value, desired: Value, ordering: AtomicUpdateOrdering, file: StaticString = #fileID,
    line: UInt32 = #line
  ) -> (exchanged: Bool, original: Value) {
    let isExpected = { (old: Value) in Seam.bits(old) == Seam.bits(expected) }
    let original = update("compareExchange", file, line) { isExpected($0) ? desired : $0 }.oldValue
    return (isExpected(original), original)
  }

  @inline(__always)
  fileprivate func update(
    _ name: StaticString, _ file: StaticString, _ line: UInt32, _ change: (Value) -> Value
  ) -> (oldValue: Value, newValue: Value) {
    Seam.step(name, file, line)
    let old = value
    value = change(old)
    Seam.note(old, value)
    return (old, value)
  }
}

extension Atomic where Value: FixedWidthInteger {
  @inline(__always) @discardableResult
  package func add(
    _ operand: Value, ordering: AtomicUpdateOrdering, file: StaticString = #fileID, line: UInt32 = #line
  ) -> (oldValue: Value, newValue: Value) {
    update("add", file, line) { $0 &+ operand }
  }

  @inline(__always) @discardableResult
  package func subtract(
    _ operand: Value, ordering: AtomicUpdateOrdering, file: StaticString = #fileID, line: UInt32 = #line
  ) -> (oldValue: Value, newValue: Value) {
    update("subtract", file, line) { $0 &- operand }
  }

  @inline(__always) @discardableResult
  package func wrappingAdd(
    _ operand: Value, ordering: AtomicUpdateOrdering, file: StaticString = #fileID, line: UInt32 = #line
  ) -> (oldValue: Value, newValue: Value) {
    update("wrappingAdd", file, line) { $0 &+ operand }
  }

  @inline(__always) @discardableResult
  package func bitwiseOr(
    _ operand: Value, ordering: AtomicUpdateOrdering, file: StaticString = #fileID, line: UInt32 = #line
  ) -> (oldValue: Value, newValue: Value) {
    update("bitwiseOr", file, line) { $0 | operand }
  }

  @inline(__always) @discardableResult
  package func bitwiseAnd(
    _ operand: Value, ordering: AtomicUpdateOrdering, file: StaticString = #fileID, line: UInt32 = #line
  ) -> (oldValue: Value, newValue: Value) {
    update("bitwiseAnd", file, line) { $0 & operand }
  }

  @inline(__always) @discardableResult
  package func max(
    _ operand: Value, ordering: AtomicUpdateOrdering, file: StaticString = #fileID, line: UInt32 = #line
  ) -> (oldValue: Value, newValue: Value) {
    update("max", file, line) { Swift.max($0, operand) }
  }
}
