/// Ends the process because Chime itself is wrong: never for anything a caller can do.
func invariantFailure(_ what: StaticString, _ details: Any...) -> Never {
  fatalError("Chime bug, please report: \(what) \(details)")
}
