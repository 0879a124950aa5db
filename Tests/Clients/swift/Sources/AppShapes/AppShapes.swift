import Chime

/// The usual shapes of app code, compiled as an app compiles them: in Swift 6 language mode, with the public interface,
/// and without a word that switches a check of the compiler off. Its `main` is async.
@main struct AppShapes {
  @MainActor static func main() async throws {
    try await Checks.viewModels()
    try await Checks.actors()
    try await Checks.classes()
    try await Checks.tasks()
    try await Checks.runLoops()
    if Checks.failures > 0 { fatalError("\(Checks.failures) checks failed") }
    print("all shapes of app code work; main is async")
  }
}
