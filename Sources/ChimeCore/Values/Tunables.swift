/// How long what may wait, in nanoseconds: the waiting times of the core, each under one name. What depends on one of them
/// is written in terms of it.
enum Tunables {
  /// A slice of a pass. Only a handler keeps a thread longer than that.
  static var slice: Int64 { 1_000_000 }
  /// A timer whose turn has come while a thread writes it that does not come to an end.
  static var writer: Int64 { 1_000_000 }
  #if !CHIME_INTERLEAVINGS
    /// Before that: pauses of the processor, of 10 to 50 ns.
    static var spinsForWriter: Int { 256 }
  #endif
  /// An item that is ready, while every processor has a turn and none ends.
  static var readyItem: Int64 { slice }
  /// How much later than an item of the highest class one of a lower class may get its turn.
  static func lowerClass(_ rank: Int) -> Int64 {
    switch rank {
    case 0: 100_000_000
    case 1: 20_000_000
    case 2: 5_000_000
    case 3: slice
    default: 0
    }
  }
  /// A time that comes this soon after a turn has begun: no other thread need look after it before.
  static var turnThatBegins: Int64 { 50_000 }
  /// A thread that is about to sleep, where bells come soon: it spins before.
  static var spin: Int64 { 30_000 }
  /// A sleep and a wake-up cost more than waiting this long.
  static var shortestSleep: Int64 { 5_000 }
  /// The longest wait whose end the kernel does not put off by more than the thread's slack.
  static var longestLimit: Int64 { 25_000_000 }
  /// A thread that waits and is not needed, before it ends.
  static var idleThread: Int64 { 5_000_000_000 }
  /// The next request for a thread, after the system has refused one.
  static var refusedThread: Int64 { 10_000_000 }
  /// A turn that leaves no thread to wait, while the system refuses one: so many requests, a millisecond apart.
  static var triesForThread: Int { 100 }
  /// Callbacks, in a program that ends its interpreter and lives on.
  static var interpreterEnd: Int64 { 2_000_000_000 }
}
