internal import CPlatform

/// Why the calling thread's last call that answered invalidArgument, unsupported, resource or limit did so: for people,
/// by `chime_last_error_detail`. Each thread has its own. A failing call notes texts, which are literals, and values; the
/// sentence is put together when it is asked for (`text.h` says how). Allocates nothing: a call may fail before the host
/// has set its allocator.
package enum ErrorDetail {
  /// The sentence, empty if no call of the thread has failed so; valid until the thread asks again, or ends.
  package static var sentence: UnsafePointer<CChar> { unsafe chime_noted_sentence() }
}

extension Status {
  /// The status, and a sentence on it for the thread that gets it.
  ///
  /// - Parameters:
  ///   - why: `%t` and `%n` stand for the values, `%e` for an error, `%s` for the name.
  ///   - name: what is wrong: an argument or a member, as the header names it.
  @inline(__always)
  package func because(
    _ why: StaticString, _ first: Int64 = 0, _ second: Int64 = 0, of name: StaticString? = nil
  ) -> Status {
    unsafe note(why.utf8Start, name?.utf8Start, first, second)
  }

  @inline(never)
  private func note(
    _ format: UnsafePointer<UInt8>, _ name: UnsafePointer<UInt8>?, _ first: Int64, _ second: Int64
  ) -> Status {
    // SAFETY: literals end with a zero byte, and live as long as the library.
    unsafe chime_note_sentence(
      UnsafeRawPointer(format).assumingMemoryBound(to: CChar.self),
      name.map { unsafe UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self) }, first, second)
    return self
  }

  // What several calls answer.

  @inline(never)
  static var noTimerFile: Status {
    Status.resource.because("a timer descriptor could not be opened: %e", Int64(Errno.current))
  }
  @inline(never)
  static var noThreadKey: Status {
    Status.resource.because("the process has no thread-specific key, or no memory, left")
  }
  @inline(never)
  static var noBootTime: Status {
    Status.unsupported.because("options.clock is CHIME_CLOCK_BOOTTIME, which host-driven queues alone offer")
  }
  @inline(never)
  static var mainQueueIsElsewhere: Status {
    Status.unsupported.because("libdispatch was loaded by another thread than the process's main one")
  }
}
