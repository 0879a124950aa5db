"""Every public symbol of the Swift modules has a doc comment that begins with a sentence. That of a function names each
of its parameters, and says what it throws if it does; its declaration does not (ChimeError.swift says why). Every type of
Chime is in a topic of its catalogue. And `import Chime` gives no more symbols than `most`, and those that `beyond` has a
reason for.

`swift build` comes first. Reads the symbol graphs of the built modules. Left out is what the compiler makes (==, hash(into:), allCases, rawValue)
and what a protocol documents: it is not declared in the sources.
"""
import json, pathlib, re, subprocess, sys, tempfile

root = pathlib.Path(__file__).resolve().parent.parent
modules = ("ChimeCore", "Chime", "ChimeRunLoop", "ChimeCompat", "ChimeDiagnostics")
# Where a doc comment could only repeat the name.
derived = {"init(rawValue:)", "rawValue", "==(_:_:)", "hash(into:)", "hashValue", "allCases", "AllCases", "RawValue"}

# What `import Chime` gives, besides `beyond`: a reader has to find his way among these. A new one needs another to go.
most = 164

# What does not count there, with the reason.
beyond = {
    "a protocol of Swift's asks for it, and nobody looks for it": [
        "SerialTimerQueue.enqueue(_:)", "SerialTimerQueue.checkIsolated()", "SerialTimerQueue.isIsolatingCurrentContext()",
        "TimerQueueClock.minimumResolution", "ChimeError.errorDescription", "TimerInstant.init(from:)",
        "TimerInstant.Timeline.init(rawValue:)", "TimerProtocol.==(_:_:)", "TimerProtocol.hash(into:)",
    ],
    "the twin of a call of every queue, for handlers of the main actor, which are of another type": [
        "MainTimerQueue.schedule(_:label:handler:)", "MainTimerQueue.schedule(after:leeway:label:handler:)",
        "MainTimerQueue.schedule(at:leeway:label:handler:)", "MainTimerQueue.schedule(every:after:leeway:label:handler:)",
        "MainTimerQueue.schedule(_:label:target:handler:)", "MainTimerQueue.perform(after:_:)",
        "MainTimerQueue.makeTimer(label:registrationHandler:cancelHandler:handler:)", "TriggeredAction.init(_:on:action:)",
    ],
}


def output(*command):
    return subprocess.run(command, cwd=root, check=True, timeout=900, stdout=subprocess.PIPE, text=True).stdout


binaries = pathlib.Path(output("swift", "build", "--show-bin-path").strip())
target = json.loads(output("swift", "-print-target-info"))["target"]["unversionedTriple"]
tools = pathlib.Path(json.loads(output("swift", "-print-target-info"))["paths"]["runtimeResourcePath"])
extract = tools.parent.parent / "bin/swift-symbolgraph-extract"

# Functions whose parameters are operands, and what Swift prescribes.
operators = re.compile(r"^[^a-zA-Z_]+\(")
types = {"swift.class", "swift.struct", "swift.enum", "swift.protocol", "swift.typealias", "swift.func"}
catalogue = (root / "Sources/Chime/Chime.docc/Chime.md").read_text()
# Of the core's types, those that Chime does not export, but another module.
others = ("ChimeCompat/Exports.swift", "ChimeDiagnostics/AnyTimerQueue+Statistics.swift")
elsewhere = [name for file in others
             for name in re.findall(r"import \w+ ChimeCore\.(\w+)", (root / "Sources" / file).read_text())]


def missing(symbol, text):
    """What the comment of a function does not say."""
    name = symbol["names"]["title"]
    if "functionSignature" not in symbol or operators.match(name.split(".")[-1]):
        return
    for parameter in symbol["functionSignature"].get("parameters", []):
        label = parameter.get("internalName", parameter["name"])
        if not re.search(rf"^- Parameter {label}:|^  - {label}:", text, re.MULTILINE):
            yield f"parameter {label}"
    declaration = "".join(part["spelling"] for part in symbol["declarationFragments"])
    if re.search(r"\b(re)?throws\b", declaration):
        if "- Throws:" not in text:
            yield "throws"
    if re.search(r"\) (async )?throws\(\w+\)", declaration):
        yield "throws with a type"


undocumented, documented, given = [], 0, []
with tempfile.TemporaryDirectory() as directory:
    for module in modules:
        output(
            extract, "-module-name", module, "-target", target, "-I", binaries / "Modules", "-I", root / "include",
            "-I", root / "Sources/CPlatform/include", "-I", root / "Sources/CSwiftTasks/include",
            "-minimum-access-level", "public", "-skip-synthesized-members", "-skip-inherited-docs",
            *(["-experimental-allowed-reexported-modules=ChimeCore"] if module == "Chime" else []),
            "-output-dir", directory,
        )
    for path in sorted(pathlib.Path(directory).glob("*.symbols.json")):
        for symbol in json.loads(path.read_text())["symbols"]:
            name = symbol["names"]["title"]
            is_declared = "::SYNTHESIZED::" not in symbol["identifier"]["precise"]
            if is_declared and path.name.startswith(("Chime.", "Chime@")):
                given.append(".".join(symbol["pathComponents"]))
            if not is_declared or name.split(".")[-1] in derived:
                continue
            if symbol["kind"]["identifier"] == "swift.extension":
                continue
            lines = [line["text"] for line in symbol.get("docComment", {}).get("lines", [])]
            gaps = []
            if lines and lines[0].strip() and not lines[0].lstrip().startswith("- "):
                documented += 1
                gaps += missing(symbol, "\n".join(lines))
                path_components = symbol["pathComponents"]
                is_type = symbol["kind"]["identifier"] in types and len(path_components) == 1
                if is_type and path.name in ("Chime.symbols.json", "ChimeCore.symbols.json"):
                    if f"``{path_components[0]}``" not in catalogue and path_components[0] not in elsewhere:
                        gaps.append("in no topic")
                if not gaps:
                    continue
            location = symbol.get("location")
            if location is None:  # made by the compiler
                continue
            file = location["uri"].removeprefix("file://")
            file = pathlib.Path(file).relative_to(root) if file.startswith(str(root)) else file
            place = f"{file}:{location['position']['line'] + 1}"
            undocumented.append(
                f"{place}: {path.name.split('.')[0]}: {'.'.join(symbol['pathComponents'])}: {', '.join(gaps) or 'nothing'}")

if documented < 100:
    sys.exit(f"only {documented} public symbols were found: were the modules built?")
for line in sorted(undocumented):
    print(line)
if undocumented:
    sys.exit(f"{len(undocumented)} public symbols have no doc comment, or one that does not say all")
for name in sum(beyond.values(), []):
    if name not in given:
        sys.exit(f"import Chime does not give {name}, for which there is a reason")
    given.remove(name)
if len(given) > most:
    sys.exit(f"import Chime gives {len(given)} public symbols without a reason: at most {most}")
print(f"import Chime gives {len(given)} public symbols, of {most} at most, and {len(sum(beyond.values(), []))} for a reason")
print(f"all {documented} public symbols have one, with parameters, errors and topics")
