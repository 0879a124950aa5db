import CChime
import ChimeCore

// chime.h, "Targets".

@_cdecl("chime_target_create") @implementation
public func chime_target_create(
  _ object: UnsafeMutableRawPointer?, _ destructor: chime_finalizer?, _ target: UnsafeMutablePointer<chime_target_t>?
) -> chime_status {
  guard let target = unsafe target else { return Arguments.null("target").rawValue }
  guard let object = unsafe object else { return Arguments.null("object").rawValue }
  return Memory.promised {
    unsafe store(in: target) { () throws(Status) in
      try unsafe TimerTarget.make(Context(object), Arguments.contextFunction(destructor))
    }
  }
}

@_cdecl("chime_target_retain") @implementation
public func chime_target_retain(
  _ target: chime_target_t, _ object: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> chime_status {
  unsafe store(in: object) { () throws(Status) in try unsafe TimerTarget.retain(target).pointer }
}

@_cdecl("chime_target_release") @implementation
public func chime_target_release(_ target: chime_target_t) -> chime_status {
  target == 0 ? Status.ok.rawValue : callingBack { TimerTarget.releaseReference(target).rawValue }
}
