import Glibc

// ChimeInterleavings short | long
// Environment: REPLAY='scenario strategy seed', ONLY=text, STRATEGY=random|pct|exhaustive, SEED=number,
// TRACE=all|none.
// The order of a set is the same in every process, as a replay needs it.
if getenv("SWIFT_DETERMINISTIC_HASHING") == nil {
  setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
  var arguments = CommandLine.arguments.map { strdup($0) } + [nil]
  execv("/proc/self/exe", &arguments)
}
setvbuf(stdout, nil, _IOLBF, 0)
let arguments = CommandLine.arguments
let environment = { (name: String) -> String? in getenv(name).map { String(cString: $0) } }

if let replay = environment("REPLAY") {
  exit(Runner.replay(replay) ? 0 : 1)
}
let isLong = arguments.contains("long")
let runner = Runner(
  only: environment("ONLY") ?? "", seed: environment("SEED").flatMap { UInt64($0) } ?? 1,
  ofProtocols: isLong ? 4000 : 600, ofPairs: isLong ? 120 : 8, searched: isLong ? 50_000 : 3000,
  strategy: environment("STRATEGY").flatMap { Strategy(rawValue: $0) })
exit(runner.run() ? 0 : 1)
