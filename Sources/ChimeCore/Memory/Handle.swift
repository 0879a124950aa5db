/// An id, taken apart.
///
/// An id is below 2^53, so that JavaScript and Lua numbers carry it: 3 bits of kind, 24 bits of life, 26 bits of
/// index. The life of a place changes each time the place is given out anew, so an id that was released names nothing
/// for ever; a place whose lives are used up is never given out again.
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
  static var lifeBits: UInt64 { 24 }
  static var lifeMask: UInt32 { (1 << 24) - 1 }
  static var indexMask: UInt64 { (1 << 26) - 1 }

  let index: UInt32
  let life: UInt32

  /// Takes an id apart; `nil` when it is not one of that kind.
  @inline(__always)
  init?(_ id: UInt64, kind: Kind) {
    guard id >> (Handle.indexBits + Handle.lifeBits) == kind.rawValue else { return nil }
    index = UInt32(truncatingIfNeeded: id & Handle.indexMask)
    life = UInt32(truncatingIfNeeded: id >> Handle.indexBits) & Handle.lifeMask
  }

  @inline(__always)
  static func id(_ kind: Kind, index: UInt32, life: UInt32) -> UInt64 {
    (kind.rawValue << (indexBits + lifeBits)) | (UInt64(life) << indexBits) | UInt64(index)
  }
}
