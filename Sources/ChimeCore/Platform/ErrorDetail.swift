internal import CPlatform

/// Why the calling thread's last call failed that did: for people, by `chime_last_error_detail` and `ChimeError`. Each
/// thread has its own. Whoever decides that a call fails notes texts, which are literals, and values, or that there is
/// nothing to say, which allocates nothing; the sentence is put together when it is asked for (`text.h` says how).
package enum ErrorDetail {
  /// The sentence, empty if no call of the thread has failed, or the last one had none; valid until the thread asks again,
  /// or ends.
  package static var sentence: UnsafePointer<CChar> { unsafe chime_noted_sentence() }

  /// Whether that sentence is on a failure with this status.
  package static func isOn(_ status: Status) -> Bool { chime_noted_status() == status.rawValue }
}

extension Status {
  /// The status, and a sentence on it for the thread that gets it.
  ///
  /// - Parameters:
  ///   - why: `%t`, `%n` and `%u` stand for the values, `%k` for what an id names, `%e` for an error, `%s` for the name.
  ///   - name: what is wrong: an argument or a member, as the header names it.
  package func because(
    _ why: StaticString, _ first: Int64 = 0, _ second: Int64 = 0, of name: StaticString? = nil
  ) -> Status {
    unsafe Status(rawValue: chime_note_sentence(rawValue, why.cString, name?.cString, first, second))
  }

  /// The status where its name says all there is to say: the sentence on an earlier failure goes.
  @inline(never)
  package var bare: Status { Status(rawValue: chime_note_sentence(rawValue, nil, nil, 0, 0)) }

  /// As `because`, in calls that signal handlers may make: without values.
  func asConstant(_ why: StaticString) -> Status {
    unsafe Status(rawValue: chime_note_constant(rawValue, why.cString))
  }

  // What several calls answer.

  @inline(never)
  static var noTimerFile: Status {
    Status.resource.because("a timer descriptor could not be opened: %e", Int64(Errno.current))
  }
  @inline(never)
  static var threadIsEnding: Status {
    Status.resource.because("this thread is ending, and what Chime kept for it is gone")
  }
  @inline(never)
  static var noThreadKey: Status {
    Status.resource.because("the process has no thread-specific key, or no memory, left")
  }
  @inline(never)
  package static var memoryIsNotOwn: Status {
    Status.unsupported.because("this libchime uses Swift's own runtime, which allocates for itself")
  }
  @inline(never)
  static var noBootTime: Status {
    Status.unsupported.because("options.clock is CHIME_CLOCK_BOOTTIME, which queues on libdispatch do not offer")
  }
  @inline(never)
  static var mainQueueRuns: Status {
    Status.wouldDeadlock.because("this thread is inside a callback of the main queue, or of chime_main_run")
  }
  @inline(never)
  static var mainQueueIsElsewhere: Status {
    Status.unsupported.because("libdispatch was loaded by another thread than the process's main one")
  }
  @inline(never)
  package static var inChild: Status {
    Status.forked.because("this is the child of a fork, in which chime_reinitialize has to be called first")
  }
  /// `inChild` for calls that signal handlers may make.
  static var inChildOfFork: Status { Status.forked.asConstant("this is the child of a fork: see chime_reinitialize") }
  /// A timer that repeats would keep such an advance going for 292 years, and nothing that is started after it is ever due.
  @inline(never)
  package static var endlessAdvance: Status {
    Status.invalidArgument.because(
      "an advance needs an end, because a timer that repeats has none: give a time")
  }
  @inline(never)
  static var queueHasEnded: Status {
    Status.shutDown.because("the queue was released or shut down by another thread, or in a callback")
  }

  /// An id that names nothing: forked or invalidHandle.
  ///
  /// - Parameters:
  ///   - kind: of what it should name.
  ///   - name: the argument, as the header names it.
  @inline(never)
  package static func unknown(_ id: UInt64, _ kind: Handle.Kind, _ name: StaticString) -> Status {
    if Fork.isChild { return inChild }
    let id = Int64(bitPattern: id)
    if id == 0 {
      return Status.invalidHandle.because("%s is 0, which is no id: it was not made, or has ended", of: name)
    }
    // What is no id at all has not one of these kinds, or was made up for a test.
    let found = Handle.Kind(rawValue: UInt64(bitPattern: id) >> (Handle.indexBits + Handle.versionBits))
    if found == nil { return Status.invalidHandle.because("%s (%u) names nothing", id, of: name) }
    if found != kind { return Status.invalidHandle.because("%s (%u) is the id of %k", id, id, of: name) }
    return Status.invalidHandle.because("%s (%u) was released", id, of: name)
  }
}

extension StaticString {
  /// The string for C. StaticString literals end with a zero byte and live as long as the library.
  package var cString: UnsafePointer<CChar> {
    // SAFETY: see above; CChar and UInt8 have one layout.
    unsafe UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self)
  }
}

extension Status {
  /// The constant's name in `chime.h`.
  package var name: UnsafePointer<CChar> { unsafe chime_text_of_status(rawValue, 0) }

  /// One sentence on what it means.
  package var message: UnsafePointer<CChar> { unsafe chime_text_of_status(rawValue, 1) }
}

extension TickKind {
  /// The constant's name in `chime.h`; of what is none, too.
  package static func name(of kind: UInt32) -> UnsafePointer<CChar> { unsafe chime_name_of_kind(kind) }
}

/// The calling thread's `errno`.
package enum Errno {
  package static var current: CInt {
    get { chime_errno() }
    set { chime_set_errno(newValue) }
  }

  /// Whether an error number says that something is not permitted.
  static func isOfPermission(_ error: CInt) -> Bool { chime_is_error_of_permission(error) }
  /// Whether it says that there is no memory.
  static func isBusy(_ error: CInt) -> Bool { chime_is_error_of_being_busy(error) }
  /// Likewise.
  static func isOfMemory(_ error: CInt) -> Bool { chime_is_error_of_memory(error) }
}
