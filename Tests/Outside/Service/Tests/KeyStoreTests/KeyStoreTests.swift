import Chime
import KeyStore
import Synchronization
import Testing

/// Each test has a time of its own, so all of them run side by side.
@Suite struct KeyStoreTests {
  private final class Disk: Sendable {
    let written = Mutex<[[String: String]]>([])
  }

  @Test(arguments: 1...50) func aRenewedKeyLivesOn(_ number: Int) async throws {
    let (queue, disk) = (try VirtualTimerQueue(), Disk())
    let store = try KeyStore(on: queue) { values in disk.written.withLock { $0.append(values) } }
    try await store.set("\(number)", for: "a")
    try await queue.advance(by: .seconds(20))
    try await store.set("\(number)", for: "a")
    try await queue.advance(by: .seconds(29))
    #expect(await store.value(for: "a") == "\(number)")
    try await queue.advance(by: .seconds(1))
    #expect(await store.value(for: "a") == nil)
    try await queue.run()
    #expect(disk.written.withLock { $0 } == [["a": "\(number)"], ["a": "\(number)"], [:]])
  }

  @Test(arguments: 1...50) func whatHasChangedIsWrittenAtTheEnd(_ number: Int) async throws {
    let (queue, disk) = (try VirtualTimerQueue(), Disk())
    let store = try KeyStore(on: queue) { [clock = queue.clock] values in
      try? await clock.sleep(for: .seconds(3))
      disk.written.withLock { $0.append(values) }
    }
    try await store.set("\(number)", for: "a")
    let closing = Task { try await store.close() }
    try await queue.run()
    try await closing.value
    #expect(disk.written.withLock { $0 } == [["a": "\(number)"]])
    #expect(try await queue.shutdown() == .done)
  }
}
