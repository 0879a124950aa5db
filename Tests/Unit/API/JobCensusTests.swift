import Chime
import Testing

/// The table of `JobCensus`: whose waiting is over when.
struct JobCensusTests {
  private typealias Census = JobCensus<String>
  private let own = JobScope(number: 1, isCertain: true)
  private let others = JobScope(number: 2, isCertain: true)
  private let anybodys = JobScope(number: 2, isCertain: false)
  private let nobodys = JobScope(number: 0, isCertain: true)

  /// Whose waiting is over, with how.
  private func names(_ ready: [(String, QuietEnd)]) -> [String] { ready.map { "\($0.0): \($0.1)" } }

  /// Of a task, or of an actor.
  private func begin(_ scope: JobScope, _ census: inout Census, on thread: Int? = nil, task: UInt64? = nil) -> Int {
    let (job, ready) = census.begin(scope, task: task ?? (scope.isCertain ? 7 : 0), on: thread)
    #expect(ready.isEmpty)
    return job
  }

  private func run(_ scope: JobScope, _ census: inout Census) -> Int {
    let job = begin(scope, &census)
    census.run(job)
    return job
  }

  @Test func nothingLiveIsNotWaitedFor() {
    var census = Census()
    #expect(names(census.wait(for: [1], "a")) == ["a: quiet(begun: 0)"])
    #expect(!census.isWaitedFor)
  }

  @Test func ownJobsAreWaitedForWhetherTheyRunOrNot() {
    var census = Census()
    let (first, second) = (run(own, &census), begin(JobScope(number: 1, isCertain: false), &census))
    #expect(census.wait(for: [3, 1], "a").isEmpty)
    #expect(census.wait(for: [4], "b").isEmpty)
    let third = begin(own, &census)
    #expect(census.end(first).isEmpty)
    #expect(census.end(third).isEmpty)
    // The other waiter has waited for the actor's job; what its test did not begin does not count as its own.
    #expect(names(census.end(second)).sorted() == ["a: quiet(begun: 1)", "b: quiet(begun: 1)"])
  }

  @Test func anotherTestsTaskHoldsNothingBeforeItRuns() {
    var census = Census()
    let job = begin(others, &census)
    #expect(names(census.wait(for: [1], "a")) == ["a: quiet(begun: 0)"])
    census.run(job)
    #expect(census.wait(for: [1], "a").isEmpty)
    #expect(names(census.end(job)) == ["a: quiet(begun: 0)"])
  }

  @Test func whatMayBeOnesOwnIsWaitedForFromItsBeginning() {
    for scope in [anybodys, nobodys] {
      var census = Census()
      let job = begin(scope, &census)
      #expect(census.wait(for: [1], "a").isEmpty)
      census.run(job)
      #expect(names(census.end(job)) == ["a: quiet(begun: 0)"])
    }
  }

  /// Each round waits for those that are there when it begins.
  @Test func othersThatGoOnAndOnAreWaitedForSoOften() {
    for (scope, takesTime) in [(others, true), (anybodys, true), (nobodys, true), (others, false)] {
      var census = Census()
      var job = run(scope, &census)
      #expect(census.wait(for: [1], "a").isEmpty)
      if takesTime { #expect(census.passTick().isEmpty) }
      let rounds = takesTime ? Census.rounds : Census.quickRounds
      for _ in 0..<rounds {
        let next = run(scope, &census)
        #expect(census.end(job).isEmpty)
        job = next
      }
      let next = run(scope, &census)
      #expect(names(census.end(job)) == ["a: quiet(begun: \(rounds + 1))"])
      #expect(census.end(next).isEmpty)
    }
  }

  @Test func anActorThatGoesOnIsWaitedFor() {
    var census = Census()
    let task = run(others, &census)
    #expect(census.wait(for: [1], "a").isEmpty)
    // The task leaves an actor to which others have come meanwhile, and that one goes on, again and again.
    var job = task
    for _ in 0...Census.quickRounds + 1 {
      let next = begin(anybodys, &census, on: job)
      #expect(census.end(job).isEmpty)
      job = next
    }
    #expect(names(census.end(job)) == ["a: quiet(begun: \(Census.quickRounds + 2))"])
  }

  @Test func jobsOfOthersAreWaitedForSoLong() {
    for scope in [others, anybodys, nobodys] {
      var census = Census()
      let job = run(scope, &census)
      #expect(census.wait(for: [1], "a").isEmpty)
      for _ in 1..<Census.patience { #expect(census.passTick().isEmpty) }
      #expect(names(census.passTick()) == ["a: quiet(begun: 0)"])
      // That is known, until it ends.
      #expect(names(census.wait(for: [1], "a")) == ["a: quiet(begun: 0)"])
      #expect(census.end(job).isEmpty)
      _ = run(scope, &census)
      #expect(census.wait(for: [1], "a").isEmpty)
    }
  }

  @Test func jobsOfOthersThatLeadToEachOtherAreWaitedForSoLong() {
    var census = Census()
    var job = begin(nobodys, &census)
    #expect(census.wait(for: [1], "a").isEmpty)
    for _ in 1..<Census.patience {
      #expect(census.passTick().isEmpty)
      let next = begin(nobodys, &census, on: job)
      #expect(census.end(job).isEmpty)
      job = next
    }
    #expect(names(census.passTick()) == ["a: quiet(begun: \(Census.patience - 1))"])
    // What they lead to from now on is known to be a part of them, unless it comes after something long.
    let next = begin(nobodys, &census, on: job)
    #expect(census.end(job).isEmpty)
    #expect(names(census.wait(for: [1], "b")) == ["b: quiet(begun: 0)"])
    #expect(census.end(next).isEmpty)
  }

  @Test func whatComesOutOfAnActorThatIsAlwaysBusyBeginsAnew() {
    var census = Census()
    var actor = begin(anybodys, &census)
    #expect(census.wait(for: [1], "a").isEmpty)
    for _ in 1..<Census.patience {
      #expect(census.passTick().isEmpty)
      let next = begin(anybodys, &census, on: actor)
      #expect(census.end(actor).isEmpty)
      actor = next
    }
    let task = begin(anybodys, &census, on: actor, task: 8)
    #expect(census.passTick().isEmpty)
    #expect(names(census.end(task)) == ["a: quiet(begun: \(Census.patience))"])
    #expect(census.end(actor).isEmpty)
  }

  @Test func whatALongJobLeadsToBeginsAnew() {
    var census = Census()
    let long = begin(nobodys, &census)
    #expect(census.wait(for: [1], "a").isEmpty)
    for _ in 1..<Census.patience { #expect(census.passTick().isEmpty) }
    #expect(names(census.passTick()) == ["a: quiet(begun: 0)"])
    let next = begin(nobodys, &census, on: long)
    #expect(census.wait(for: [1], "b").isEmpty)
    #expect(census.end(long).isEmpty)
    #expect(names(census.end(next)) == ["b: quiet(begun: 0)"])
  }

  @Test func longJobsOfOthersThatLeadToEachOtherAreWaitedForSoLong() {
    var census = Census()
    var job = begin(nobodys, &census)
    #expect(census.wait(for: [1], "a").isEmpty)
    for tick in 1..<Census.longest {
      #expect(census.passTick().isEmpty)
      if tick % Census.short != 0 { continue }
      let next = begin(nobodys, &census, on: job)
      #expect(census.end(job).isEmpty)
      job = next
    }
    #expect(names(census.passTick()) == ["a: quiet(begun: \((Census.longest - 1) / Census.short))"])
  }

  @Test func anOwnJobThatBlocksIsReported() {
    var census = Census()
    let first = run(own, &census)
    #expect(census.wait(for: [1], "a").isEmpty)
    for _ in 1..<Census.blocks { #expect(census.passTick().isEmpty) }
    #expect(names(census.passTick()) == ["a: stuck"])
    #expect(names(census.wait(for: [1], "b")) == ["b: stuck"])
    // A second one is waited for, and what it leaves is known.
    let second = run(own, &census)
    #expect(census.wait(for: [1], "c").isEmpty)
    #expect(names(census.end(second)) == ["c: stuck"])
    #expect(census.end(first).isEmpty)
    #expect(names(census.wait(for: [1], "d")) == ["d: quiet(begun: 0)"])
  }

  @Test func jobsThatComeAndGoDoNotBlock() {
    var census = Census()
    _ = run(own, &census)
    #expect(census.wait(for: [1], "a").isEmpty)
    for _ in 0..<2 * Census.blocks {
      #expect(census.passTick().isEmpty)
      #expect(census.end(run(own, &census)).isEmpty)
    }
  }

  @Test func ownJobsWithoutEndAreReported() {
    var census = Census()
    _ = run(own, &census)
    #expect(census.wait(for: [1], "a").isEmpty)
    #expect(census.wait(for: [2], "b").isEmpty)
    for _ in 0..<Census.most {
      let (job, ready) = census.begin(own, task: 7)
      if !ready.isEmpty || !census.end(job).isEmpty { Issue.record("too early") }
    }
    #expect(names(census.begin(own, task: 7).ready) == ["a: endless"])
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
    #expect(tasks.scopeOfJob(of: 11, by: 7, on: .unknown) == JobScope(number: first, isCertain: true))
    #expect(tasks.scopeOfJob(of: 12, by: 11, on: .unknown) == JobScope(number: first, isCertain: true))
    #expect(tasks.scopeOfJob(of: 13, by: 8, on: .unknown) == JobScope(number: second, isCertain: true))
    // Whoever wakes a task later changes nothing.
    #expect(tasks.scopeOfJob(of: 12, by: 8, on: .unknown) == JobScope(number: first, isCertain: true))
    // A task that is seen late may be anybody's, an actor's job, too.
    #expect(tasks.scopeOfJob(of: 12_000, by: 8, on: .unknown).isCertain)
    #expect(!tasks.scopeOfJob(of: 11_999, by: 8, on: .unknown).isCertain)
    #expect(tasks.scopeOfJob(of: 0, by: 8, on: .unknown) == JobScope(number: second, isCertain: false))
    // A handler's task, on a thread that runs none.
    let handler = JobScope(number: first, isCertain: true)
    #expect(tasks.scopeOfJob(of: 12_001, by: 0, on: .scope(handler)) == handler)
  }

  /// `Task.immediate` begins inside of another task's job, and nothing shows it before it makes another, or is woken.
  @Test func aTaskThatBeganAtOnceBelongsToTheTaskInsideOfWhichItDid() {
    var tasks = TaskScopes()
    tasks.enter(after: 10)
    // The task's job began before the task was a test's.
    #expect(tasks.scopeOfJob(of: 11, by: 7, on: .task(7)) == JobScope(number: 0, isCertain: true))
    let number = tasks.test(of: 11)
    #expect(tasks.scopeOfJob(of: 13, by: 12, on: .task(11)) == JobScope(number: number, isCertain: false))
    #expect(tasks.scope(of: 12) == JobScope(number: number, isCertain: false))
    // It gives way, and no task is the thread's then.
    #expect(tasks.scopeOfJob(of: 14, by: 0, on: .task(11)) == JobScope(number: number, isCertain: false))
    // On an actor's thread, and on any.
    let actors = JobScope(number: number, isCertain: false)
    #expect(tasks.scopeOfJob(of: 16, by: 15, on: .scope(actors)) == actors)
    #expect(tasks.scopeOfJob(of: 18, by: 17, on: .unknown) == JobScope(number: 0, isCertain: false))
  }
}
