// swift-tools-version: 6.2
import PackageDescription

// A package that uses Chime as others do: by its public interface, in Swift 6 language mode. The name makes the path
// work whatever the directory of the clone is called.
let chime: [Target.Dependency] = [
  .product(name: "Chime", package: "chime"), .product(name: "ChimeRunLoop", package: "chime"),
  .product(name: "ChimeDiagnostics", package: "chime"), .product(name: "ChimeCompat", package: "chime"),
]
let strict: [SwiftSetting] = [.strictMemorySafety(), .treatAllWarnings(as: .error)]

let package = Package(
  name: "second-package",
  dependencies: [.package(name: "chime", path: "../../../..")],
  targets: [
    .executableTarget(name: "AppShapes", dependencies: chime, swiftSettings: strict),
    .executableTarget(name: "MainLoops", dependencies: chime, swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)
