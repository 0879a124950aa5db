internal import CPlatform

/// Why the calling thread's last call that answered invalidArgument, unsupported, resource or limit did so: for people,
/// by `chime_last_error_detail`. Each thread has its own. A failing call notes texts, which are literals, and values; the
/// sentence is put together when it is asked for (`text.h` says how).
@unsafe package struct ErrorDetail {
  // SAFETY: literals end with a zero byte, and live as long as the library.
  fileprivate var format: UnsafePointer<UInt8>?
  fileprivate var name: UnsafePointer<UInt8>?
  fileprivate var first: Int64 = 0
  fileprivate var second: Int64 = 0

  /// The sentence, empty if no call of the thread has failed so; valid until the thread asks again, or ends.
  package static var sentence: UnsafePointer<CChar> {
    guard let thread = ThreadState.existing, let format = unsafe thread.storage.pointee.errorDetail.format,
      let buffer = unsafe thread.sentenceBuffer
    else {
      let empty: StaticString = ""
      return unsafe UnsafeRawPointer(empty.utf8Start).assumingMemoryBound(to: CChar.self)
    }
    let detail = unsafe thread.storage.pointee.errorDetail
    unsafe chime_write_sentence(
      buffer, ThreadState.sentenceCapacity, UnsafeRawPointer(format).assumingMemoryBound(to: CChar.self),
      UnsafeRawPointer(detail.name ?? format).assumingMemoryBound(to: CChar.self), detail.first, detail.second)
    return unsafe UnsafePointer(buffer)
  }
}

extension ThreadState {
  fileprivate static var sentenceCapacity: Int { 240 }

  /// What the sentence is written into; `nil` without memory.
  fileprivate var sentenceBuffer: UnsafeMutablePointer<CChar>? {
    if unsafe storage.pointee.sentence == nil {
      unsafe storage.pointee.sentence = malloc(ThreadState.sentenceCapacity)?
        .bindMemory(to: CChar.self, capacity: ThreadState.sentenceCapacity)
    }
    return unsafe storage.pointee.sentence
  }
}

extension Status {
  /// The status, and a sentence on it for the thread that gets it.
  ///
  /// - Parameter why: names the argument as the header does; `%t` and `%n` stand for the values, `%e` for an error.
  @inline(__always)
  package func because(_ why: StaticString, _ first: Int64 = 0, _ second: Int64 = 0) -> Status {
    unsafe note(why.utf8Start, nil, first, second)
  }

  /// - Parameters:
  ///   - name: what is wrong: an argument or a member, as the header names it.
  ///   - why: with `%s` where the name stands.
  @inline(__always)
  package func because(
    _ name: StaticString, _ why: StaticString, _ first: Int64 = 0, _ second: Int64 = 0
  ) -> Status {
    unsafe note(why.utf8Start, name.utf8Start, first, second)
  }

  @inline(never)
  private func note(
    _ format: UnsafePointer<UInt8>, _ name: UnsafePointer<UInt8>?, _ first: Int64, _ second: Int64
  ) -> Status {
    // Without memory for the thread there is no sentence.
    guard ThreadState.prepare(), let thread = ThreadState.obtain() else { return self }
    unsafe thread.storage.pointee.errorDetail = ErrorDetail(format: format, name: name, first: first, second: second)
    return self
  }

  // What several calls answer.

  @inline(never)
  static var noTimerFile: Status {
    Status.resource.because("a timer descriptor (timerfd) could not be opened: %e", Int64(Errno.current))
  }
  @inline(never)
  static var noThreadKey: Status { Status.resource.because("the process has no thread-specific key, or no memory, left") }
  @inline(never)
  package static var noMoreIDs: Status { Status.limit.because("the ids of this kind are used up") }
  @inline(never)
  static var noBootTime: Status {
    Status.unsupported.because("options.clock is CHIME_CLOCK_BOOTTIME, which host-driven queues alone offer")
  }
  @inline(never)
  static var mainQueueIsElsewhere: Status {
    Status.unsupported.because("libdispatch was loaded by another thread than the process's main one")
  }
}
