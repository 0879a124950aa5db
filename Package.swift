// swift-tools-version: 6.2
import PackageDescription

// A shared library: exports chime_* and nothing else, has a SONAME, and stays mapped after dlclose
// (libdispatch threads may still be inside it).
func sharedLibrary(_ name: String) -> [LinkerSetting] {
  [
    .unsafeFlags(
      [
        "-Xlinker", "-z", "-Xlinker", "nodelete",
        "-Xlinker", "-z", "-Xlinker", "relro", "-Xlinker", "-z", "-Xlinker", "now",
        "-Xlinker", "-soname", "-Xlinker", name,
        "-Xlinker", "--version-script=\(Context.packageDirectory)/Sources/ChimeExports/exports.map",
      ], .when(platforms: [.linux]))
  ]
}

let swiftSettings: [SwiftSetting] = [.strictMemorySafety()]

// Tests/Interleavings: the core under a scheduler that decides every interleaving, in a build of its own.
let interleaves = Context.environment["CHIME_INTERLEAVINGS"] != nil
let coreSettings = interleaves ? [.define("CHIME_INTERLEAVINGS")] : swiftSettings
let interleavings: [Target] =
  !interleaves
  ? []
  : [
    .target(name: "CCoroutines", path: "Tests/Interleavings/Coroutines"),
    .executableTarget(
      name: "ChimeInterleavings", dependencies: ["Chime", "CCoroutines"], path: "Tests/Interleavings/Runner",
      swiftSettings: [.swiftLanguageMode(.v5)]),
  ]

let package = Package(
  name: "chime",
  products: [
    .library(name: "Chime", targets: ["Chime"]),
    .library(name: "ChimeRunLoop", targets: ["ChimeRunLoop"]),
    .library(name: "chime", type: .dynamic, targets: ["ChimeC", "ChimeExports"]),
  ],
  targets: [
    .systemLibrary(name: "CChime", path: "include"),
    .target(name: "CPlatform"),
    .target(name: "Chime", dependencies: ["CPlatform"], swiftSettings: coreSettings),
    .target(name: "ChimeC", dependencies: ["CChime", "Chime"], swiftSettings: swiftSettings),
    .target(name: "ChimeRunLoop", dependencies: ["Chime"], swiftSettings: swiftSettings),
    .target(name: "ChimeExports", exclude: ["exports.map"], linkerSettings: sharedLibrary("libchime.so")),
    .testTarget(name: "ChimeTests", dependencies: ["Chime"], swiftSettings: swiftSettings),
    .testTarget(name: "ChimeRunLoopTests", dependencies: ["ChimeRunLoop"], swiftSettings: swiftSettings),
    .testTarget(
      name: "ChimeSystemsTests", dependencies: ["Chime", "ChimeRunLoop"], swiftSettings: swiftSettings),
    .testTarget(name: "ChimeModelTests", dependencies: ["CChime", "Chime", "ChimeC"]),
    .target(
      name: "CSuite", dependencies: ["ChimeC"], path: "Tests/CSuite",
      exclude: ["Makefile", "headers", "standalone"], cSettings: [.headerSearchPath("../../include")]),
    .testTarget(name: "ChimeCTests", dependencies: ["CSuite", "ChimeC"]),
  ] + interleavings,
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c99
)
