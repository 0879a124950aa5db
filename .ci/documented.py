"""Every public symbol of Chime and ChimeRunLoop has a doc comment that begins with a sentence.

`swift build` comes first. Reads the symbol graphs of the built modules. Left out is what the compiler makes (==, hash(into:), allCases, rawValue)
and what a protocol documents: it is not declared in the sources.
"""
import json, pathlib, subprocess, sys, tempfile

root = pathlib.Path(__file__).resolve().parent.parent
modules = ("ChimeCore", "Chime", "ChimeRunLoop")
# Where a doc comment could only repeat the name.
derived = {"init(rawValue:)", "rawValue", "==(_:_:)", "hash(into:)", "hashValue", "allCases", "AllCases", "RawValue"}


def output(*command):
    return subprocess.run(command, cwd=root, check=True, timeout=900, stdout=subprocess.PIPE, text=True).stdout


binaries = pathlib.Path(output("swift", "build", "--show-bin-path").strip())
target = json.loads(output("swift", "-print-target-info"))["target"]["unversionedTriple"]
tools = pathlib.Path(json.loads(output("swift", "-print-target-info"))["paths"]["runtimeResourcePath"])
extract = tools.parent.parent / "bin/swift-symbolgraph-extract"

undocumented, documented = [], 0
with tempfile.TemporaryDirectory() as directory:
    for module in modules:
        output(
            extract, "-module-name", module, "-target", target, "-I", binaries / "Modules", "-I", root / "include",
            "-I", root / "Sources/CPlatform/include",
            "-minimum-access-level", "public", "-skip-synthesized-members", "-skip-inherited-docs",
            "-output-dir", directory,
        )
    for path in sorted(pathlib.Path(directory).glob("*.symbols.json")):
        for symbol in json.loads(path.read_text())["symbols"]:
            name = symbol["names"]["title"]
            if "::SYNTHESIZED::" in symbol["identifier"]["precise"] or name.split(".")[-1] in derived:
                continue
            if symbol["kind"]["identifier"] == "swift.extension":
                continue
            lines = [line["text"] for line in symbol.get("docComment", {}).get("lines", [])]
            if lines and lines[0].strip() and not lines[0].lstrip().startswith("- "):
                documented += 1
                continue
            location = symbol.get("location")
            if location is None:  # made by the compiler
                continue
            file = location["uri"].removeprefix("file://")
            file = pathlib.Path(file).relative_to(root) if file.startswith(str(root)) else file
            place = f"{file}:{location['position']['line'] + 1}"
            undocumented.append(f"{place}: {path.name.split('.')[0]}: {'.'.join(symbol['pathComponents'])}")

if documented < 100:
    sys.exit(f"only {documented} public symbols were found: were the modules built?")
for line in sorted(undocumented):
    print(line)
if undocumented:
    sys.exit(f"{len(undocumented)} public symbols have no doc comment, or one without a sentence")
print(f"all {documented} public symbols have one")
