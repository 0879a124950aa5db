import CDispatch
import CSuite
import ChimeTestSupport
import Dispatch
import Foundation
import Testing

/// Runs every test of the C suite, one case each, named as in C.
///
/// The tests of the main queue are left to the standalone program, as they need the process's main thread. With a
/// fiftieth of the rounds unless `CSUITE_SCALE` says otherwise: all of them are for the program, against the library that
/// users get, and which thread meets which other `Tests/Threads/Interleavings` decides.
@Suite(.serialized) struct CSuiteTests {
  /// A test of the C suite.
  struct Case: CustomTestStringConvertible, Sendable {
    let index: Int32
    let name: String
    var testDescription: String { name }
  }

  static let cases: [Case] = (0..<csuite_count()).map { index in
    Case(index: index, name: String(cString: csuite_name(index)))
  }

  /// The two dispatch queues that wrapped queues are tested on; they live as long as the process.
  ///
  /// Swift's `DispatchQueue` hands out no pointer, and does not import the attribute of concurrent queues.
  static let dispatchQueuesAreGiven: Bool = {
    setenv("CSUITE_SCALE", "50", 0)
    guard let attribute = dlsym(nil, "_dispatch_queue_attr_concurrent") else { return false }
    let serial = dispatch_queue_create("csuite.serial", nil)
    let concurrent = dispatch_queue_create("csuite.concurrent", OpaquePointer(attribute))
    csuite_set_dispatch_queues(UnsafeMutableRawPointer(serial), UnsafeMutableRawPointer(concurrent))
    return true
  }()

  @Test func theSuiteHasTests() {
    #expect(Self.cases.count > 100)
    #expect(Set(Self.cases.map(\.name)).count == Self.cases.count)
  }

  @Test(arguments: cases)
  func passes(_ test: Case) async throws {
    #expect(Self.dispatchQueuesAreGiven, "wrapped queues cannot be tested")
    let (result, message) = try await Self.run(test.index)
    #expect(result == Int32(CSUITE_PASSED), "\(test.name): \(message)")
  }

  /// Runs a test on a thread of its own: it blocks, and the threads of Swift concurrency are the ones that libdispatch
  /// gives to concurrent queues.
  private static func run(_ index: Int32) async throws -> (Int32, String) {
    try await onAThread {
      var message = [CChar](repeating: 0, count: 2048)
      let result = csuite_run(index, &message, message.count)
      return (result, String(decoding: message.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
    }
  }
}
