// swift-tools-version: 6.2
import PackageDescription

// The shared library: exports chime_* and nothing else, has a SONAME, and stays mapped after dlclose
// (libdispatch threads may still be inside it).
let sharedLibrary: [LinkerSetting] = [
  .unsafeFlags(
    [
      "-Xlinker", "-z", "-Xlinker", "nodelete",
      "-Xlinker", "-soname", "-Xlinker", "libchime.so",
      "-Xlinker", "--version-script=\(Context.packageDirectory)/Sources/ChimeExports/exports.map",
    ], .when(platforms: [.linux]))
]

let swiftSettings: [SwiftSetting] = [.strictMemorySafety()]

let package = Package(
  name: "chime",
  products: [
    .library(name: "Chime", targets: ["Chime"]),
    .library(name: "chime", type: .dynamic, targets: ["ChimeC", "ChimeExports"]),
  ],
  targets: [
    .systemLibrary(name: "CChime", path: "include"),
    .target(name: "Chime", swiftSettings: swiftSettings),
    .target(name: "ChimeC", dependencies: ["CChime", "Chime"], swiftSettings: swiftSettings),
    .target(name: "ChimeExports", exclude: ["exports.map"], linkerSettings: sharedLibrary),
    .testTarget(name: "ChimeTests", dependencies: ["Chime"], swiftSettings: swiftSettings),
    .testTarget(name: "ChimeModelTests", dependencies: ["CChime", "Chime", "ChimeC"]),
    .target(
      name: "CSuite", dependencies: ["ChimeC"], path: "Tests/CSuite",
      exclude: ["Makefile", "headers", "standalone"], cSettings: [.headerSearchPath("../../include")]),
    .testTarget(name: "ChimeCTests", dependencies: ["CSuite"]),
  ],
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c99
)
