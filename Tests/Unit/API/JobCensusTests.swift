import Chime
import Testing

/// The table of `JobCensus`: whose waiting is over when.
struct JobCensusTests {
  private let own = JobScope(number: 1, isCertain: true)
  private let others = JobScope(number: 2, isCertain: true)
  private let anybodys = JobScope(number: 2, isCertain: false)

  /// Whose waiting is over, with how.
  private func names(_ ready: [(String, QuietEnd)]) -> [String] { ready.map { "\($0.0): \($0.1)" } }

  @Test func nothingLiveIsNotWaitedFor() {
    var census = JobCensus<String>()
    #expect(names(census.wait(for: [1], "a")) == ["a: quiet(begun: 0)"])
    #expect(!census.isWaitedFor)
  }

  @Test func theLastJobsEndEndsAllWaits() {
    var census = JobCensus<String>()
    #expect(census.begin(own).isEmpty)
    #expect(census.begin(others).isEmpty)
    #expect(census.wait(for: [1], "a").isEmpty)
    #expect(census.wait(for: [2], "b").isEmpty)
    #expect(census.begin(anybodys).isEmpty)
    #expect(census.end(own).isEmpty)
    #expect(census.end(others).isEmpty)
    #expect(names(census.end(anybodys)) == ["a: quiet(begun: 1)", "b: quiet(begun: 1)"])
  }

  @Test func anotherTestsJobsAreWaitedForSoLong() {
    for scope in [others, anybodys] {
      var census = JobCensus<String>()
      _ = census.begin(scope)
      #expect(census.wait(for: [1], "a").isEmpty)
      for _ in 1..<JobCensus<String>.patience(with: scope) { #expect(census.passTick().isEmpty) }
      #expect(names(census.passTick()) == ["a: quiet(begun: 0)"])
      // That is known, until it ends.
      #expect(names(census.wait(for: [1], "a")) == ["a: quiet(begun: 0)"])
      #expect(census.end(scope).isEmpty)
      _ = census.begin(scope)
      #expect(census.wait(for: [1], "a").isEmpty)
    }
  }

  @Test func anOwnJobThatBlocksIsReported() {
    var census = JobCensus<String>()
    _ = census.begin(own)
    #expect(census.wait(for: [1], "a").isEmpty)
    for _ in 1..<JobCensus<String>.blocks { #expect(census.passTick().isEmpty) }
    #expect(names(census.passTick()) == ["a: stuck"])
    #expect(names(census.wait(for: [1], "b")) == ["b: stuck"])
    // A second one is waited for, and what it leaves is known.
    _ = census.begin(own)
    #expect(census.wait(for: [1], "c").isEmpty)
    #expect(names(census.end(own)) == ["c: stuck"])
    #expect(census.end(own).isEmpty)
    #expect(names(census.wait(for: [1], "d")) == ["d: quiet(begun: 0)"])
  }

  @Test func jobsThatComeAndGoDoNotBlock() {
    var census = JobCensus<String>()
    _ = census.begin(own)
    #expect(census.wait(for: [1], "a").isEmpty)
    for _ in 0..<2 * JobCensus<String>.blocks {
      #expect(census.passTick().isEmpty)
      _ = census.begin(own)
      #expect(census.end(own).isEmpty)
    }
  }

  @Test func ownJobsWithoutEndAreReported() {
    var census = JobCensus<String>()
    _ = census.begin(own)
    #expect(census.wait(for: [1], "a").isEmpty)
    #expect(census.wait(for: [2], "b").isEmpty)
    for _ in 0..<JobCensus<String>.most {
      if !census.begin(own).isEmpty || !census.end(own).isEmpty { Issue.record("too early") }
    }
    #expect(names(census.begin(own)) == ["a: endless"])
  }

  @Test func tasksBelongToTheTestOfTheirMaker() {
    var tasks = TaskScopes()
    tasks.enter(after: 10)
    // Tasks of before are nobody's, and certainly so.
    #expect(tasks.scope(of: 7) == JobScope(number: 0, isCertain: true))
    let first = tasks.test(of: 7)
    let second = tasks.test(of: 8)
    #expect(first != second && first != 0)
    #expect(tasks.test(of: 7) == first)
    #expect(tasks.scopeOfJob(of: 11, by: 7, on: nil) == JobScope(number: first, isCertain: true))
    #expect(tasks.scopeOfJob(of: 12, by: 11, on: nil) == JobScope(number: first, isCertain: true))
    #expect(tasks.scopeOfJob(of: 13, by: 8, on: nil) == JobScope(number: second, isCertain: true))
    // Whoever wakes a task later changes nothing.
    #expect(tasks.scopeOfJob(of: 12, by: 8, on: nil) == JobScope(number: first, isCertain: true))
    // A task that is seen late may be anybody's, an actor's job, too.
    #expect(tasks.scopeOfJob(of: 12_000, by: 8, on: nil).isCertain)
    #expect(!tasks.scopeOfJob(of: 11_999, by: 8, on: nil).isCertain)
    #expect(tasks.scopeOfJob(of: 0, by: 8, on: nil) == JobScope(number: second, isCertain: false))
    // A handler's task, on a thread that runs none.
    let handler = JobScope(number: first, isCertain: true)
    #expect(tasks.scopeOfJob(of: 12_001, by: 0, on: handler) == handler)
  }
}
