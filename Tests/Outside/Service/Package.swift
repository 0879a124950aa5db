// swift-tools-version: 6.2
import PackageDescription

// A service as a Swift programmer writes it with ServiceLifecycle, which Chime does not depend on.
let strict: [SwiftSetting] = [.strictMemorySafety(), .treatAllWarnings(as: .error)]

let package = Package(
  name: "key-service",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "chime", path: "../../.."),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
  ],
  targets: [
    .target(name: "KeyStore", dependencies: [.product(name: "Chime", package: "chime")], swiftSettings: strict),
    .executableTarget(
      name: "Service",
      dependencies: ["KeyStore", .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")],
      swiftSettings: strict),
    .testTarget(name: "KeyStoreTests", dependencies: ["KeyStore"], swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)
