import Chime

// Tests of code that sleeps, on virtual time, again and again: each must come out the same every time. Says how often each
// did not, and ends with status 1 if one did.
//
//     VirtualTime [COUNT [SCENARIO]]

let count = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 300
var failed = false
let chosen = CommandLine.arguments.dropFirst(2).first ?? ""
for scenario in scenarios where chosen.isEmpty || scenario.name == chosen {
  var reds = 0
  var example = ""
  for _ in 0..<count {
    do {
      let seen = try await scenario.run()
      if seen != scenario.expected {
        reds += 1
        example = "\(seen), expected \(scenario.expected)"
      }
    } catch {
      reds += 1
      example = "\(error)"
    }
  }
  failed = failed || reds > 0
  print("\(scenario.name): \(reds) of \(count) red\(reds > 0 ? ", such as: \(example)" : "")")
}
if failed { fatalError("virtual time is not exact") }
