import Dispatch

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The orders of calls that end or hang a program with a bare dispatch timer: `dispatch_bare NUMBER` makes the calls of one
/// row, and says what is seen if it gets there; without a number it prints the rows. (`make table` runs them all. What Chime
/// does with each is in the table of its states, which the C suite tests on every kind of queue.)

let queue = DispatchQueue(label: "bare")
nonisolated(unsafe) var ticks = 0
nonisolated(unsafe) var source: (any DispatchSourceTimer)! = DispatchSource.makeTimerSource(queue: queue)

let rows = [
  ("resume of a running timer", "start resume"),
  ("resume of a cancelled timer", "start cancel resume"),
  ("last release while suspended", "start suspend release"),
  ("last release, never activated", "release"),
  ("last release, cancelled but never activated", "cancel release"),
  ("release of a running timer with a cancel handler", "handle-cancel start release"),
  ("suspend twice, resume once", "start suspend suspend resume"),
  ("suspend, then activate, never activated before", "suspend start"),
  ("activate after cancel", "start cancel activate"),
  ("new schedule after cancel, then activate", "start cancel start"),
  ("cancel and wait in its own handler", "start-waiting"),
  ("cancel and wait while suspended", "start suspend wait"),
  ("cancel and wait with a cancel handler", "handle-cancel start wait"),
  ("sync on the queue one is on", "sync-own"),
  ("sync on A, in it on B, in it on A", "sync-nested"),
  ("negative interval", "start-negative"),
  ("negative leeway", "negative-leeway"),
  ("interval of 10^12 s", "start-endless"),
  ("interval 0", "start-zero"),
  ("first timer without file descriptors", "take-descriptors start"),
]

@_silgen_name("dispatch_source_cancel_and_wait")
func cancelAndWait(_ source: OpaquePointer)

/// On the `dispatch_source_t` inside Swift's object, whose one stored property it is; on Apple's systems the object is one.
func wait() {
  let object = Unmanaged.passUnretained(source as AnyObject).toOpaque()
  #if canImport(Darwin)
    cancelAndWait(OpaquePointer(object))
  #else
    cancelAndWait(object.load(fromByteOffset: 16, as: OpaquePointer.self))
  #endif
}

func start(_ interval: DispatchTimeInterval, handler: @escaping () -> Void = { ticks += 1 }) {
  source.schedule(deadline: .now() + .milliseconds(5), repeating: interval)
  source.setEventHandler(handler: handler)
  source.activate()
}

func perform(_ verb: Substring) {
  switch verb {
  case "start": start(.milliseconds(5))
  case "start-waiting": start(.milliseconds(5), handler: wait)
  case "start-negative": start(.milliseconds(-5))
  case "start-zero": start(.nanoseconds(0))
  case "start-endless": source.schedule(deadline: .now(), repeating: 1e12)
  case "negative-leeway": source.schedule(deadline: .now(), repeating: 1, leeway: .milliseconds(-5))
  case "suspend": source.suspend()
  case "resume": source.resume()
  case "activate": source.activate()
  case "cancel": source.cancel()
  case "release": source = nil
  case "handle-cancel": source.setCancelHandler { print("the cancel handler runs, ", terminator: "") }
  case "wait": wait()
  case "sync-own": queue.async { queue.sync {} }
  case "sync-nested":
    let other = DispatchQueue(label: "other")
    queue.sync { other.sync { queue.sync {} } }
  case "take-descriptors":
    var limit = rlimit(rlim_cur: 32, rlim_max: 32)
    #if canImport(Glibc)
      setrlimit(__rlimit_resource_t(7), &limit)  // RLIMIT_NOFILE
    #else
      setrlimit(RLIMIT_NOFILE, &limit)
    #endif
    while open("/dev/null", O_RDONLY) >= 0 {}
  default: fatalError("no such verb")
  }
}

guard CommandLine.arguments.count > 1, let number = Int(CommandLine.arguments[1]) else {
  for row in rows { print(row.0) }
  exit(0)
}
rows[number].1.split(separator: " ").forEach(perform)
usleep(100_000)
queue.sync {}  // hangs behind a handler that does
print("\(ticks) ticks in 100 ms")
exit(0)
