#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

// ChimeInterleavings short | long
// Environment: REPLAY='scenario number', ONLY=text, STRATEGY=random|pct|exhaustive, SEED=number, TRACE=all|none.
// The order of a set is the same in every process, as a replay needs it.
if getenv("SWIFT_DETERMINISTIC_HASHING") == nil {
  setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
  var arguments = CommandLine.arguments.map { strdup($0) } + [nil]
  execv("/proc/self/exe", &arguments)
}
setvbuf(stdout, nil, _IOLBF, 0)
let environment = { (name: String) -> String? in getenv(name).map { String(cString: $0) } }
let runner = Runner(
  only: environment("ONLY") ?? "", seed: environment("SEED").flatMap { UInt64($0) } ?? 1,
  isLong: CommandLine.arguments.contains("long"), strategy: environment("STRATEGY").flatMap { Strategy(rawValue: $0) })
exit((environment("REPLAY").map(runner.replay) ?? runner.run()) ? 0 : 1)
