// What the Swift interface asks of the core beyond what C does.

extension TimerRef {
  /// The timer's label, empty if it has none.
  package var label: String {
    var text = ""
    unsafe withLabel { label in text = unsafe String(cString: label) }
    return text
  }
}

extension QueueCore {
  /// The queue's label, empty if it has none; `nil` if the queue has ended.
  package static func label(of id: UInt64) -> String? { find(id)?.label }

  /// Whether the queue's time is virtual.
  package static func isVirtual(_ id: UInt64) -> Bool { find(id)?.control.isVirtual ?? false }
}
