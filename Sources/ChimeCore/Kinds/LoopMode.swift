/// The name of a run loop's mode. Compared byte by byte, without the tables that Unicode's equivalence needs.
package struct LoopMode: Equatable, Sendable {
  package let name: String

  package init(_ name: String) { self.name = name }

  /// The default mode, and the set of common modes, by their names in chime_run_loop.h.
  package static var `default`: LoopMode { LoopMode("kCFRunLoopDefaultMode") }
  package static var common: LoopMode { LoopMode("kCFRunLoopCommonModes") }
  /// The mode in which `chime_main_run` runs the main thread's loop.
  static var mainQueue: LoopMode { LoopMode("chime.main") }

  package var isEmpty: Bool { name.utf8.isEmpty }

  package static func == (a: LoopMode, b: LoopMode) -> Bool { a.name.utf8.elementsEqual(b.name.utf8) }
}

/// Some modes, each once; in what order makes no difference.
package struct LoopModes: Equatable, Sendable {
  package private(set) var all: [LoopMode]

  package init(_ modes: [LoopMode] = []) {
    all = []
    for mode in modes { insert(mode) }
  }

  package mutating func insert(_ mode: LoopMode) {
    if !contains(mode) { all.append(mode) }
  }

  package func contains(_ mode: LoopMode) -> Bool { all.contains { $0 == mode } }

  package static func == (a: LoopModes, b: LoopModes) -> Bool {
    a.all.count == b.all.count && a.all.allSatisfy { b.contains($0) }
  }
}
