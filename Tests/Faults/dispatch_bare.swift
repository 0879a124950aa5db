import Dispatch
import Glibc

/// The cases of dispatch_matrix.c with a bare dispatch timer: `dispatch_bare CASE`. Prints what is seen, if it gets there.

let queue = DispatchQueue(label: "bare")
nonisolated(unsafe) var ticks = 0
nonisolated(unsafe) var source: (any DispatchSourceTimer)! = DispatchSource.makeTimerSource(queue: queue)

@_silgen_name("dispatch_source_cancel_and_wait")
func cancelAndWait(_ source: OpaquePointer)

/// The `dispatch_source_t` inside Swift's object, whose one stored property it is.
func raw(_ source: any DispatchSourceTimer) -> OpaquePointer {
  Unmanaged.passUnretained(source as AnyObject).toOpaque().load(fromByteOffset: 16, as: OpaquePointer.self)
}

func start(_ interval: DispatchTimeInterval = .milliseconds(5)) {
  source.schedule(deadline: .now() + .milliseconds(5), repeating: interval)
  source.setEventHandler { ticks += 1 }
  source.activate()
}

func release() {
  source = nil
  usleep(50_000)
}

func takeDescriptors() {
  var limit = rlimit(rlim_cur: 32, rlim_max: 32)
  setrlimit(__rlimit_resource_t(7), &limit)  // RLIMIT_NOFILE
  while open("/dev/null", O_RDONLY) >= 0 {}
}

switch CommandLine.arguments[1] {
case "resume of a running timer":
  start()
  source.resume()
case "resume of a cancelled timer":
  start()
  source.cancel()
  source.resume()
case "last release while suspended":
  start()
  source.suspend()
  release()
case "last release, never activated":
  release()
case "last release, cancelled but never activated":
  source.cancel()
  release()
case "suspend twice, resume once":
  start()
  source.suspend()
  source.suspend()
  source.resume()
  usleep(50_000)
  print(ticks == 0 ? "never ticks again" : "ticks")
  exit(0)
case "suspend, then activate, never activated before":
  source.suspend()
  start()
  usleep(50_000)
  print(ticks == 0 ? "never ticks" : "ticks")
  exit(0)
case "activate after cancel":
  start()
  source.cancel()
  source.activate()
  usleep(50_000)
  print(ticks == 0 ? "never ticks" : "ticks")
  exit(0)
case "new schedule after cancel, then activate":
  start()
  source.cancel()
  start()
  usleep(50_000)
  print(ticks == 0 ? "never ticks" : "ticks")
  exit(0)
case "release of a running timer with a cancel handler":
  nonisolated(unsafe) var cancelled = false
  source.setCancelHandler { cancelled = true }
  start()
  release()
  print(cancelled ? "the cancel handler runs" : "the cancel handler never runs")
  exit(0)
case "cancel and wait in its own handler":
  source.schedule(deadline: .now())
  source.setEventHandler {
    cancelAndWait(raw(source))
    print("returns")
    exit(0)
  }
  source.activate()
  sleep(10)
case "cancel and wait while suspended":
  start()
  source.suspend()
  cancelAndWait(raw(source))
case "cancel and wait with a cancel handler":
  source.setCancelHandler {}
  start()
  cancelAndWait(raw(source))
case "sync on the queue one is on":
  queue.async { queue.sync {} }
  usleep(200_000)
case "sync on A, in it on B, in it on A":
  let other = DispatchQueue(label: "other")
  queue.sync { other.sync { queue.sync {} } }
case "negative interval":
  start(.milliseconds(-5))
case "negative leeway":
  source.schedule(deadline: .now(), repeating: .milliseconds(5), leeway: .milliseconds(-5))
case "interval of 10^12 s":
  source.schedule(deadline: .now(), repeating: 1e12)
case "interval 0":
  start(.nanoseconds(0))
  usleep(100_000)
  print("\(ticks) ticks in 100 ms")
  exit(0)
case "first timer without file descriptors":
  takeDescriptors()
  start()
  usleep(100_000)
default:
  print("no such case")
  exit(2)
}
usleep(50_000)
print(ticks > 0 ? "fine" : "nothing")
