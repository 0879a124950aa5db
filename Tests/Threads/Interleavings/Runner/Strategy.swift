/// Random numbers that a seed fixes (SplitMix64: Steele, Lea and Flood, 2014).
struct RandomNumbers {
  private var state: UInt64

  /// Mixed once: the streams of two seeds must not be one, a few numbers apart.
  init(_ seed: UInt64) {
    state = seed
    state = next()
  }

  @inline(__always)
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  @inline(__always)
  mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}

/// How the thread that goes on is chosen.
enum Strategy: String {
  /// Any, with a probability of change that the seed fixes.
  case random
  /// Priorities drawn at random, which change at d - 1 steps (Burckhardt, Kothari, Musuvathi and Nagarakatte, 2010): a
  /// bug of depth d among n threads and k steps shows with a probability of 1 / (n k^(d-1)) or more.
  case pct
  /// Every interleaving with at most so many preemptions, depth first (Musuvathi and Qadeer, 2007).
  case exhaustive
  /// The running thread goes on while it can; for a first run, which counts the steps.
  case straight
}

/// The choices of one exhaustive search. A run takes the choices of the prefix and then goes on with the thread that
/// runs; each decision that had another choice is written down.
struct Search {
  let bound: Int
  private var choices: [(chosen: UInt8, count: UInt8)] = []
  private var position = 0
  private var preemptions = 0

  init(bound: Int) { self.bound = bound }

  mutating func begin() {
    position = 0
    preemptions = 0
  }

  /// - Parameters:
  ///   - count: threads to choose from; number 0 is the one that runs, if it can go on.
  ///   - preempts: whether any other than number 0 is a preemption.
  mutating func choose(_ count: Int, preempts: Bool) -> Int {
    if count < 2 || preempts && preemptions == bound { return 0 }
    let chosen: Int
    if position < choices.count {
      chosen = Int(choices[position].chosen)
    } else {
      chosen = 0
      choices.append((0, UInt8(count)))
    }
    position += 1
    if preempts, chosen != 0 { preemptions += 1 }
    return chosen
  }

  /// Goes on to the next interleaving; false if there is none.
  mutating func advance() -> Bool {
    choices.removeLast(max(0, choices.count - position))
    while let (chosen, count) = choices.popLast() {
      if chosen + 1 < count {
        choices.append((chosen + 1, count))
        return true
      }
    }
    return false
  }
}
