import Testing

/// The promises of DESIGN.md, section 3, as tags: `swift test --filter` and reports name the promise a test checks.
extension Tag {
  @Tag static var promise1AnyOrder: Self
  @Tag static var promise3NeverEarly: Self
  @Tag static var promise4NoDrift: Self
  @Tag static var promise5NoStorm: Self
  @Tag static var promise7NoStaleTick: Self
  @Tag static var promise8OneFinalizer: Self
  @Tag static var promise9Handlers: Self
  @Tag static var promise10StaleIds: Self
  @Tag static var promise12Order: Self
  @Tag static var promise13Leeway: Self
  @Tag static var promise14Bounded: Self
  @Tag static var promise17Extremes: Self
}
