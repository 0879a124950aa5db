// swift-tools-version: 6.2
import PackageDescription

// A shared library: exports chime_* and nothing else, has a SONAME, and stays mapped after dlclose
// (libdispatch threads may still be inside it). On a Mac, which has no such flags, it exports what is public in Swift, too,
// and the host must not unload it.
func sharedLibrary(_ name: String) -> [LinkerSetting] {
  #if os(Linux)
    [
      .unsafeFlags(
        [
          "-Xlinker", "-z", "-Xlinker", "nodelete",
          "-Xlinker", "-z", "-Xlinker", "relro", "-Xlinker", "-z", "-Xlinker", "now",
          "-Xlinker", "-soname", "-Xlinker", name,
          "-Xlinker", "--version-script=\(Context.packageDirectory)/Sources/ChimeC/exports.map",
        ], .when(platforms: [.linux]))
    ]
  #else
    []
  #endif
}

// .ci/run sets it: whoever else builds the package, with a compiler of another day, is not stopped by a new warning.
let refusesWarnings = Context.environment["CHIME_WARNINGS"] == "errors"
let swiftSettings: [SwiftSetting] = [.strictMemorySafety()] + (refusesWarnings ? [.treatAllWarnings(as: .error)] : [])
let cSettings: [CSetting] = refusesWarnings ? [.treatAllWarnings(as: .error)] : []

// The core under a scheduler that decides every interleaving, in a build of its own. The files of the seam between the two
// are then in the core's module.
let scheduled = "Tests/Threads/Interleavings"
let interleaves = Context.environment["CHIME_INTERLEAVINGS"] != nil
let core = Target.target(
  name: "ChimeCore", dependencies: ["CPlatform"], path: interleaves ? "\(scheduled)/Core" : nil,
  swiftSettings: interleaves ? [.define("CHIME_INTERLEAVINGS")] : swiftSettings)
let interleavings: [Target] =
  !interleaves
  ? []
  : [
    .target(name: "CCoroutines", path: "\(scheduled)/Coroutines"),
    .executableTarget(
      name: "ChimeInterleavings", dependencies: ["ChimeCore", "CCoroutines"], path: "\(scheduled)/Runner",
      swiftSettings: [.swiftLanguageMode(.v5)]),
  ]

let package = Package(
  name: "chime",
  // What Synchronization asks for. libchime without Swift's runtime (Sources/Makefile) runs on older ones.
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [
    .library(name: "Chime", targets: ["Chime"]),
    .library(name: "ChimeRunLoop", targets: ["ChimeRunLoop"]),
    .library(name: "ChimeDiagnostics", targets: ["ChimeDiagnostics"]),
    .library(name: "ChimeCompat", targets: ["ChimeCompat"]),
    // Not "chime": libChime and libchime would be one file on a Mac.
    .library(name: "chime-c", type: .dynamic, targets: ["ChimeC", "ChimeExports"]),
  ],
  targets: [
    .systemLibrary(name: "CChime", path: "include"),
    .target(
      name: "CPlatform", exclude: ["common/embedded_runtime.c", "common/memory.c"],
      cSettings: cSettings + [.define("_GNU_SOURCE")]),
    core,
    .target(name: "CSwiftTasks", cSettings: cSettings),
    .target(name: "Chime", dependencies: ["ChimeCore", "CSwiftTasks"], swiftSettings: swiftSettings),
    .target(name: "ChimeDiagnostics", dependencies: ["Chime", "ChimeCore"], swiftSettings: swiftSettings),
    .target(name: "ChimeCompat", dependencies: ["Chime", "ChimeCore"], swiftSettings: swiftSettings),
    .target(
      name: "ChimeC", dependencies: ["CChime", "ChimeCore"], exclude: ["exports.map"], swiftSettings: swiftSettings),
    .target(name: "ChimeRunLoop", dependencies: ["Chime", "ChimeCore", "CPlatform"], swiftSettings: swiftSettings),
    .target(name: "ChimeExports", linkerSettings: sharedLibrary("libchime-c.so")),
    .target(
      name: "ChimeTestSupport", dependencies: ["Chime", "ChimeCore"], path: "Tests/Unit/Support",
      swiftSettings: swiftSettings),
    .testTarget(
      name: "ChimeCoreTests",
      dependencies: ["Chime", "ChimeCompat", "ChimeCore", "ChimeDiagnostics", "ChimeTestSupport", "CPlatform"],
      path: "Tests/Unit/Core",
      swiftSettings: swiftSettings),
    .testTarget(
      name: "ChimeTests",
      dependencies: ["Chime", "ChimeCompat", "ChimeCore", "ChimeDiagnostics", "ChimeRunLoop", "ChimeTestSupport"],
      path: "Tests/Unit/API",
      swiftSettings: swiftSettings),
    .testTarget(
      name: "ChimeVirtualTimeTests", dependencies: ["Chime", "ChimeCore", "ChimeTestSupport"],
      path: "Tests/Unit/VirtualTime", exclude: ["Async", "Makefile", "Package.swift"], sources: ["Shared", "Tests"],
      swiftSettings: swiftSettings),
    .target(
      name: "CModel", dependencies: ["ChimeC"], path: "Tests/Model",
      exclude: ["Fuzz", "Makefile", "Swift", "standalone"], cSettings: [.headerSearchPath("../../include")]),
    .testTarget(
      name: "ChimeModelTests", dependencies: ["CChime", "CModel", "Chime", "ChimeCore", "ChimeC"],
      path: "Tests/Model/Swift"),
    .target(
      name: "CSuite", dependencies: ["ChimeC"], path: "Tests/C",
      // Those two include a header that the Makefile generates.
      exclude: ["Makefile", "Misuse", "Swift", "arguments.c", "headers", "ids.c", "standalone"],
      cSettings: [.headerSearchPath("../../include")]),
    .testTarget(name: "ChimeCTests", dependencies: ["CSuite", "ChimeC", "ChimeTestSupport"], path: "Tests/C/Swift"),
  ] + interleavings,
  swiftLanguageModes: [.v6],
  cLanguageStandard: .c99
)
