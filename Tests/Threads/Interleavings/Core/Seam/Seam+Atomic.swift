import Synchronization

/// In front of Synchronization's, and laid out as that: memory of the slab is bound to it. One thread runs at a time,
/// so that a read and a write make an operation, and what order it asks for makes no difference.
package struct Atomic<Value: AtomicRepresentable & BitwiseCopyable>: ~Copyable {
  fileprivate let real: Synchronization.Atomic<Value>

  package init(_ value: Value) { real = Synchronization.Atomic(value) }
}

extension Atomic: @unchecked Sendable where Value: Sendable {}

@inline(__always)
package func atomicMemoryFence(
  ordering: AtomicUpdateOrdering, file: StaticString = #fileID, line: UInt32 = #line
) {
  Seam.step("fence", file, line)
}

// Synchronization has each operation once for each width.

extension Atomic where Value.AtomicRepresentation == _Atomic8BitStorage {
  @inline(__always)
  package func load(ordering: AtomicLoadOrdering, file: StaticString = #fileID, line: UInt32 = #line) -> Value {
    let isZero = unsafeBitCast(real.load(ordering: .relaxed), to: UInt8.self) == 0
    if !Seam.isOfScan(isZero, file) {
      Seam.step("load", file, line, quietly: ordering == .relaxed || ordering == .acquiring)
    }
    let value = real.load(ordering: .relaxed)
    Seam.note(value, value)
    return value
  }

  @inline(__always)
  package func store(
    _ value: Value, ordering: AtomicStoreOrdering, file: StaticString = #fileID, line: UInt32 = #line
  ) {
    Seam.step("store", file, line, quietly: ordering == .relaxed)
    Seam.note(real.load(ordering: .relaxed), value)
    real.store(value, ordering: .relaxed)
  }

  @inline(__always)
  package func exchange(
    _ value: Value, ordering: AtomicUpdateOrdering, file: StaticString = #fileID, line: UInt32 = #line
  ) -> Value {
    Seam.step("exchange", file, line)
    let old = real.exchange(value, ordering: .relaxed)
    Seam.note(old, value)
    return old
  }

  @inline(__always)
  package func compareExchange(
    expected: Value, desired: Value, ordering: AtomicUpdateOrdering, file: StaticString = #fileID,
    line: UInt32 = #line
  ) -> (exchanged: Bool, original: Value) {
    Seam.step("compareExchange", file, line)
    let result = real.compareExchange(expected: expected, desired: desired, ordering: .relaxed)
    Seam.note(result.original, result.exchanged ? desired : result.original)
    return result
  }
}

extension Atomic where Value.AtomicRepresentation == _Atomic32BitStorage {
  @inline(__always)
  package func load(ordering: AtomicLoadOrdering, file: StaticString = #fileID, line: UInt32 = #line) -> Value {
    let isZero = unsafeBitCast(real.load(ordering: .relaxed), to: UInt32.self) == 0
    if !Seam.isOfScan(isZero, file) {
      Seam.step("load", file, line, quietly: ordering == .relaxed || ordering == .acquiring)
    }
    let value = real.load(ordering: .relaxed)
    Seam.note(value, value)
    return value
  }

  @inline(__always)
  package func store(
    _ value: Value, ordering: AtomicStoreOrdering, file: StaticString = #fileID, line: UInt32 = #line
  ) {
    Seam.step("store", file, line, quietly: ordering == .relaxed)
    Seam.note(real.load(ordering: .relaxed), value)
    real.store(value, ordering: .relaxed)
  }

  @inline(__always)
  package func exchange(
    _ value: Value, ordering: AtomicUpdateOrdering, file: StaticString = #fileID, line: UInt32 = #line
  ) -> Value {
    Seam.step("exchange", file, line)
    let old = real.exchange(value, ordering: .relaxed)
    Seam.note(old, value)
    return old
  }

  @inline(__always)
  package func compareExchange(
    expected: Value, desired: Value, ordering: AtomicUpdateOrdering, file: StaticString = #fileID,
    line: UInt32 = #line
  ) -> (exchanged: Bool, original: Value) {
    Seam.step("compareExchange", file, line)
    let result = real.compareExchange(expected: expected, desired: desired, ordering: .relaxed)
    Seam.note(result.original, result.exchanged ? desired : result.original)
    return result
  }
}

extension Atomic where Value.AtomicRepresentation == _Atomic64BitStorage {
  @inline(__always)
  package func load(ordering: AtomicLoadOrdering, file: StaticString = #fileID, line: UInt32 = #line) -> Value {
    let isZero = unsafeBitCast(real.load(ordering: .relaxed), to: UInt64.self) == 0
    if !Seam.isOfScan(isZero, file) {
      Seam.step("load", file, line, quietly: ordering == .relaxed || ordering == .acquiring)
    }
    let value = real.load(ordering: .relaxed)
    Seam.note(value, value)
    return value
  }

  @inline(__always)
  package func store(
    _ value: Value, ordering: AtomicStoreOrdering, file: StaticString = #fileID, line: UInt32 = #line
  ) {
    Seam.step("store", file, line, quietly: ordering == .relaxed)
    Seam.note(real.load(ordering: .relaxed), value)
    real.store(value, ordering: .relaxed)
  }

  @inline(__always)
  package func exchange(
    _ value: Value, ordering: AtomicUpdateOrdering, file: StaticString = #fileID, line: UInt32 = #line
  ) -> Value {
    Seam.step("exchange", file, line)
    let old = real.exchange(value, ordering: .relaxed)
    Seam.note(old, value)
    return old
  }

  @inline(__always)
  package func compareExchange(
    expected: Value, desired: Value, ordering: AtomicUpdateOrdering, file: StaticString = #fileID,
    line: UInt32 = #line
  ) -> (exchanged: Bool, original: Value) {
    Seam.step("compareExchange", file, line)
    let result = real.compareExchange(expected: expected, desired: desired, ordering: .relaxed)
    Seam.note(result.original, result.exchanged ? desired : result.original)
    return result
  }
}

/// The integers that the core counts and marks with.
package protocol SeamInteger: FixedWidthInteger, BitwiseCopyable, AtomicRepresentable {
  static func read(_ real: borrowing Synchronization.Atomic<Self>) -> Self
  static func write(_ value: Self, _ real: borrowing Synchronization.Atomic<Self>)
}

extension SeamInteger where AtomicRepresentation == _Atomic8BitStorage {
  package static func read(_ real: borrowing Synchronization.Atomic<Self>) -> Self { real.load(ordering: .relaxed) }
  package static func write(_ value: Self, _ real: borrowing Synchronization.Atomic<Self>) {
    real.store(value, ordering: .relaxed)
  }
}

extension SeamInteger where AtomicRepresentation == _Atomic32BitStorage {
  package static func read(_ real: borrowing Synchronization.Atomic<Self>) -> Self { real.load(ordering: .relaxed) }
  package static func write(_ value: Self, _ real: borrowing Synchronization.Atomic<Self>) {
    real.store(value, ordering: .relaxed)
  }
}

extension SeamInteger where AtomicRepresentation == _Atomic64BitStorage {
  package static func read(_ real: borrowing Synchronization.Atomic<Self>) -> Self { real.load(ordering: .relaxed) }
  package static func write(_ value: Self, _ real: borrowing Synchronization.Atomic<Self>) {
    real.store(value, ordering: .relaxed)
  }
}

extension Int: SeamInteger {}
extension Int32: SeamInteger {}
extension Int64: SeamInteger {}
extension UInt: SeamInteger {}
extension UInt8: SeamInteger {}
extension UInt32: SeamInteger {}
extension UInt64: SeamInteger {}

extension Atomic where Value: SeamInteger {
  @inline(__always) @discardableResult
  package func add(
    _ operand: Value, ordering: AtomicUpdateOrdering, file: StaticString = #fileID, line: UInt32 = #line
  ) -> (oldValue: Value, newValue: Value) {
    update("add", file, line) { old in old &+ operand }
  }

  @inline(__always) @discardableResult
  package func subtract(
    _ operand: Value, ordering: AtomicUpdateOrdering, file: StaticString = #fileID, line: UInt32 = #line
  ) -> (oldValue: Value, newValue: Value) {
    update("subtract", file, line) { old in old &- operand }
  }

  @inline(__always) @discardableResult
  package func wrappingAdd(
    _ operand: Value, ordering: AtomicUpdateOrdering, file: StaticString = #fileID, line: UInt32 = #line
  ) -> (oldValue: Value, newValue: Value) {
    update("wrappingAdd", file, line) { old in old &+ operand }
  }

  @inline(__always) @discardableResult
  package func wrappingSubtract(
    _ operand: Value, ordering: AtomicUpdateOrdering, file: StaticString = #fileID, line: UInt32 = #line
  ) -> (oldValue: Value, newValue: Value) {
    update("wrappingSubtract", file, line) { old in old &- operand }
  }

  @inline(__always) @discardableResult
  package func bitwiseOr(
    _ operand: Value, ordering: AtomicUpdateOrdering, file: StaticString = #fileID, line: UInt32 = #line
  ) -> (oldValue: Value, newValue: Value) {
    update("bitwiseOr", file, line) { old in old | operand }
  }

  @inline(__always) @discardableResult
  package func bitwiseAnd(
    _ operand: Value, ordering: AtomicUpdateOrdering, file: StaticString = #fileID, line: UInt32 = #line
  ) -> (oldValue: Value, newValue: Value) {
    update("bitwiseAnd", file, line) { old in old & operand }
  }

  @inline(__always) @discardableResult
  package func max(
    _ operand: Value, ordering: AtomicUpdateOrdering, file: StaticString = #fileID, line: UInt32 = #line
  ) -> (oldValue: Value, newValue: Value) {
    update("max", file, line) { old in Swift.max(old, operand) }
  }

  @inline(__always) @discardableResult
  package func min(
    _ operand: Value, ordering: AtomicUpdateOrdering, file: StaticString = #fileID, line: UInt32 = #line
  ) -> (oldValue: Value, newValue: Value) {
    update("min", file, line) { old in Swift.min(old, operand) }
  }

  @inline(__always)
  private func update(
    _ name: StaticString, _ file: StaticString, _ line: UInt32, _ change: (Value) -> Value
  ) -> (oldValue: Value, newValue: Value) {
    Seam.step(name, file, line)
    let old = Value.read(real)
    let new = change(old)
    Value.write(new, real)
    Seam.note(old, new)
    return (old, new)
  }
}
