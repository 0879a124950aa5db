import Chime

/// A triggered action runs on the queue with what it took along.
final class Draft { var text = "" }

func triggeredCapture(_ queue: TimerQueue) throws -> TriggeredAction {
  let draft = Draft()
  // refused: sending value of non-Sendable type
  let save = try TriggeredAction(.debounce(.seconds(1)), on: queue) { print(draft.text) }
  #if PROBE
    draft.text = "changed beside the action"
  #endif
  return save
}
