/// The parts of an id.
///
/// An id is below 2^53, so that JavaScript and Lua numbers can hold it: 3 bits of kind, 24 bits of version, 26 bits of
/// index. The version changes each time the index is given out again, so a released id never names anything again. An
/// index whose versions are used up is never given out again.
package struct Handle: Sendable {
  package enum Kind: UInt64, Sendable {
    case timer = 1
    case queue = 2
    case target = 3
    case runLoop = 4
    case weakTimer = 5
    case expiring = 6
  }

  static var indexBits: UInt64 { 26 }
  static var versionBits: UInt64 { 24 }
  static var versionMask: UInt32 { (1 << 24) - 1 }
  static var indexMask: UInt64 { (1 << 26) - 1 }

  let index: UInt32
  let version: UInt32

  /// Splits an id into its parts; `nil` if it is not of that kind.
  init?(_ id: UInt64, kind: Kind) {
    guard id >> (Handle.indexBits + Handle.versionBits) == kind.rawValue else { return nil }
    index = UInt32(truncatingIfNeeded: id & Handle.indexMask)
    version = UInt32(truncatingIfNeeded: id >> Handle.indexBits) & Handle.versionMask
  }

  static func id(_ kind: Kind, index: UInt32, version: UInt32) -> UInt64 {
    (kind.rawValue << (indexBits + versionBits)) | (UInt64(version) << indexBits) | UInt64(index)
  }
}
