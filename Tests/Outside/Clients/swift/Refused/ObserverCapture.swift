import Chime
import ChimeDiagnostics
import Synchronization

/// An observer is called by any thread.
func observerCapture() -> ChimeDiagnostics.Observation {
  #if PROBE
    var count = 0
    // refused: mutation of captured var 'count' in concurrently-executing code
    return ChimeDiagnostics.observe { _ in count += 1 }
  #else
    let count = Atomic(0)
    return ChimeDiagnostics.observe { _ in count.add(1, ordering: .relaxed) }
  #endif
}
