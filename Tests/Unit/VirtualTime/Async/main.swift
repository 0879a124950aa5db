import Foundation
import Synchronization

typealias Guarded<Value> = Mutex<Value>

// Tests of code that sleeps by way of swift-async-algorithms, on virtual time, again and again: each must come out the same
// every time. Says how often each did not, and ends with status 1 if one did, or if one has not ended after 30 s.
//
//     VirtualTime [COUNT]

let reds = await redsInAllModes(scenarios, count: CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 300)
for red in reds { print(red) }
exit(reds.isEmpty ? 0 : 1)
