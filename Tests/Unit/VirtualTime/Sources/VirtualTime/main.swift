import Chime
import Foundation
import Synchronization

// Tests of code that sleeps, on virtual time, again and again: each must come out the same every time. Says how often each
// did not, and ends with status 1 if one did, or if one has not ended after 30 s.
//
//     VirtualTime [COUNT [SCENARIO]]
//
// One test after the other; twenty side by side, as Swift Testing runs them, of one kind and of all; both beside threads that
// take all they get; and an advance while the main thread waits, and while another task runs.

let arguments = Array(CommandLine.arguments.dropFirst())
let count = arguments.first.flatMap { Int($0) } ?? 300
let chosen = arguments.dropFirst().first ?? ""
let all = scenarios.filter { chosen.isEmpty || $0.name == chosen }

watch()
for scenario in all {
  await report("serial", [scenario], lanes: 1)
  await report("side by side", [scenario], lanes: 20)
}
await report("mixed", all, lanes: 20)
let isOver = Mutex(false)
beBusy(on: 3) { isOver.withLock { $0 } }
for scenario in all { await report("beside busy loops", [scenario], lanes: 1) }
await report("mixed beside busy loops", all, lanes: 20)
isOver.withLock { $0 = true }
await besideOthers()
exit(progress.withLock { $0.failures > 0 } ? 1 : 0)
