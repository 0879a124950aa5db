// swift-tools-version: 6.2
import PackageDescription

// What a timer costs a Swift program, in instructions and allocations: see ../README.md. Fetches nothing.
let package = Package(
  name: "swift-counts",
  dependencies: [.package(name: "chime", path: "../../..")],
  targets: [
    .target(name: "Counted"),
    .executableTarget(name: "SwiftCounts", dependencies: ["Counted", .product(name: "Chime", package: "chime")]),
  ],
  swiftLanguageModes: [.v6]
)
