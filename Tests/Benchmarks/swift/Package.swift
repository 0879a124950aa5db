// swift-tools-version: 6.2
import PackageDescription

// Timers of Swift side by side: see ../README.md. The dependency on SwiftNIO is this package's alone.
let package = Package(
  name: "timer-benchmark",
  dependencies: [
    .package(name: "chime", path: "../../.."),
    .package(url: "https://github.com/apple/swift-nio", from: "2.86.0"),
  ],
  targets: [
    .target(name: "AllocationCount"),
    .executableTarget(
      name: "Costs",
      dependencies: [
        "AllocationCount",
        .product(name: "Chime", package: "chime"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ]),
  ]
)
