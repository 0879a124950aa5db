import Chime
import Dispatch
import Foundation

// Tests of code that sleeps, on virtual time, again and again: each must come out the same every time. Says how often each
// did not, and ends with status 1 if one did, or if one has not ended after 30 s.
//
//     VirtualTime [COUNT [MODE [SCENARIO]]]
//
// The modes: `serial`, one test after the other; `side` by side in twenties, as Swift Testing runs them; `mixed`, twenty
// different ones side by side; `busy`, serial and mixed beside three threads that take all they get; `others`, an advance while
// the main thread waits, and while another task runs. `all` is the default.

let arguments = Array(CommandLine.arguments.dropFirst())
let count = arguments.first.flatMap { Int($0) } ?? 300
let mode = arguments.dropFirst().first ?? "all"
let chosen = arguments.dropFirst(2).first ?? ""
let all = (scenarios + taskScenarios).filter { chosen.isEmpty || $0.name == chosen }
let lanes = 20

watch()
if mode == "serial" || mode == "all" {
  for scenario in all { await report("serial", [scenario], lanes: 1) }
}
if mode == "side" || mode == "all" {
  for scenario in all { await report("side by side", [scenario], lanes: lanes) }
}
if mode == "mixed" || mode == "all" { await report("mixed", all, lanes: lanes) }
if mode == "busy" || mode == "all" {
  let busy = BusyThreads(3)
  for scenario in all { await report("beside busy loops", [scenario], lanes: 1) }
  await report("mixed beside busy loops", all, lanes: lanes)
  busy.stop()
}
if mode == "others" || mode == "all" { await besideOthers() }
fflush(nil)
if failures.get() > 0 { exit(1) }
