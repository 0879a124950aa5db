// swift-tools-version: 6.2
import PackageDescription

// What needs swift-async-algorithms: Chime's own package has no dependencies.
let package = Package(
  name: "virtual-time",
  platforms: [.macOS(.v15), .iOS(.v18)],
  dependencies: [
    .package(name: "chime", path: "../../.."),
    .package(url: "https://github.com/apple/swift-async-algorithms", exact: "1.1.4"),
  ],
  targets: [
    .executableTarget(
      name: "VirtualTime",
      dependencies: [
        .product(name: "Chime", package: "chime"),
        .product(name: "AsyncAlgorithms", package: "swift-async-algorithms"),
      ], path: ".", exclude: ["Makefile", "Tests"], sources: ["Async", "Shared"],
      swiftSettings: [.strictMemorySafety(), .treatAllWarnings(as: .error)])
  ],
  swiftLanguageModes: [.v6]
)
