import ChimeCore

extension ChimeError {
  /// Lets `catch ChimeError.busy` match an error by its code.
  public static func ~= (pattern: ChimeError, error: any Error) -> Bool { (error as? ChimeError) == pattern }

  /// An argument that is out of range.
  ///
  /// - Parameter sentence: names the argument, says its value and the bound.
  static func argument(_ sentence: String) -> ChimeError { ChimeError(.invalidArgument, sentence) }
}
