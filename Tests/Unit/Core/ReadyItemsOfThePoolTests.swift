import Testing

@testable import ChimeCore

/// The order in which items of the pool have their turns.
@Suite struct ReadyItemsOfThePoolTests {
  private func item(_ qos: QualityOfService) -> PoolItem { PoolItem(qos) }

  /// 0.1 s longer than the highest class.
  @Test func aLowerClassWaitsLongerAndNotForEver() {
    var ready = ReadyItems()
    let (low, before, after) = (item(.background), item(.userInteractive), item(.userInteractive))
    ready.append(low, 0)
    ready.append(before, 99_999_999)
    ready.append(after, 100_000_001)
    #expect(ready.popFirst() === before)
    #expect(ready.popFirst() === low)
    #expect(ready.popFirst() === after)
  }

  @Test func anItemThatIsTakenOutHasNoTurn() {
    var ready = ReadyItems()
    let items = (0..<3).map { _ in item(.utility) }
    for item in items { ready.append(item, 0) }
    ready.remove(items[1])
    #expect(ready.popFirst() === items[0])
    ready.append(items[1], 0)
    #expect(ready.popFirst() === items[2])
    #expect(ready.popFirst() === items[1])
    #expect(ready.isEmpty)
  }
}
