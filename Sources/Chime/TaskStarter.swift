/// What begins tasks for ticks. A handler and whoever resumes its timer share it. Any thread.
final class TaskStarter<Occasion: Sendable>: Sendable {
  /// Begins a task for an occasion.
  let start: @Sendable (Occasion) -> Void

  init(_ start: @escaping @Sendable (Occasion) -> Void) { self.start = start }
}
