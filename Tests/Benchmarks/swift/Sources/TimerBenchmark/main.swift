import Chime
import Foundation
import NIOPosix

// All peers take turns, round by round. Rows: nanoseconds for each timer, least and median of the rounds.
//
//     TimerBenchmark [ROUNDS [CREATIONS [EXPIRIES]]]

let given = CommandLine.arguments.dropFirst().compactMap { Int($0) }
let arguments = given + [5, 20_000, 20_000].dropFirst(given.count)
let (rounds, creations, expiries) = (arguments[0], arguments[1], arguments[2])
let window = 200_000_000

let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
let serial = try TimerQueue(label: "serial")
let precise = try PreciseTimerQueue(label: "precise")
let peers: [any Peer] = [
  ChimePeer("Chime, serial", serial), ChimePeer("Chime, serial, 1 ms of leeway", leeway: .milliseconds(1), serial),
  ChimePeer("Chime, precise", precise), DispatchPeer(),
  NIOPeer(name: "SwiftNIO, on its loop", loop: group.next(), isOnLoop: true),
  NIOPeer(name: "SwiftNIO, from outside", loop: group.next(), isOnLoop: false), TaskPeer(), FoundationPeer(),
]

var times: [[String: [Double]]] = [[:], [:]]
@MainActor
func time(_ row: Int, _ peer: any Peer, _ count: Int, _ body: () throws -> Void) rethrows {
  let begun = ContinuousClock.now
  try body()
  let taken = (ContinuousClock.now - begun) / .nanoseconds(1)
  times[row][peer.name, default: []].append(taken / Double(count))
}

for round in 0..<rounds {
  srand48(round)
  let delays = (0..<expiries).map { _ in lrand48() % window }
  for peer in peers {
    // Foundation's timers never go away on Linux, and slow each other down.
    let (made, due) = peer is FoundationPeer ? (creations / 20, expiries / 20) : (creations, expiries)
    try time(0, peer, made) { try peer.makeAndCancel(made) }
    let begun = processorTime()
    try peer.expire(Array(delays.prefix(due)))
    times[1][peer.name, default: []].append((processorTime() - begun) / Double(due))
  }
}
try group.syncShutdownGracefully()

for (row, title) in ["made and cancelled, ns", "expiry within 200 ms, arming included, ns of processor time"]
  .enumerated()
{
  print("\(title)\n")
  print("| | least | median |\n| --- | ---: | ---: |")
  for peer in peers {
    let sorted = (times[row][peer.name] ?? []).sorted()
    print("| \(peer.name) | \(Int(sorted[0])) | \(Int(sorted[sorted.count / 2])) |")
  }
  print()
}

/// The processor time of the process so far, in nanoseconds.
func processorTime() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
}
