"""Data races that Chime's interface refuses: each program in Refused is compiled with PROBE, and the compiler has to refuse
it, with the error of its comment `// refused: TEXT` on the line below that, and with no other. Without PROBE all of them
compile, and without a warning, so that nothing but the race is refused. So does what is in Accepted, whether or not code is the
main actor's unless it says otherwise.

    refused.py MODULES      # the folder with Chime.swiftmodule
"""
import pathlib, re, subprocess, sys
from concurrent.futures import ThreadPoolExecutor

here = pathlib.Path(__file__).resolve().parent
root = here.parents[3]
programs = sorted((here / "Refused").glob("*.swift"))
# SIL is where regions are checked: -typecheck would let half of the races pass.
flags = ["-swift-version", "6", "-strict-memory-safety", "-parse-as-library", "-wmo", "-emit-sil", "-o", "/dev/null"]
folders = [sys.argv[1], root / "include", root / "Sources/CPlatform/include", root / "Sources/CSwiftTasks/include"]


def compile(files, *more):
    done = subprocess.run(["swiftc", *flags, *more, *(word for folder in folders for word in ("-I", folder)), *files],
                          stderr=subprocess.PIPE, text=True, timeout=300)
    return done.returncode, done.stderr


def judge(program):
    """What is wrong with the compiler's verdict; None if it is as it should be."""
    lines = program.read_text().splitlines()
    marks = [number for number, line in enumerate(lines, 1) if "// refused: " in line]
    if len(marks) != 1:
        return f"{len(marks)} comments say what is refused: one has to"
    expected = lines[marks[0] - 1].split("// refused: ")[1]
    status, output = compile([program], "-D", "PROBE")
    errors = set(re.findall(r"^\S+\.swift:(\d+):\d+: error: (.*)$", output, re.MULTILINE))
    if status == 0:
        return "compiles: the race is not refused"
    if {int(line) for line, _ in errors} != {marks[0] + 1} or not all(expected in text for _, text in errors):
        return f"refused otherwise than with {expected!r} in line {marks[0] + 1}:\n{output}"


status, output = compile(programs, "-warnings-as-errors", "-module-name", "Controls")
if status:
    sys.exit(f"the programs without their races do not compile:\n{output}")
accepted = sorted((here / "Accepted").glob("*.swift"))
for isolation in [], ["-default-isolation", "MainActor"]:
    status, output = compile(accepted, "-warnings-as-errors", "-module-name", "Accepted", *isolation)
    if status or not accepted:
        sys.exit(f"what is to compile does not, with {isolation}:\n{output}")
with ThreadPoolExecutor(2) as pool:
    verdicts = list(pool.map(judge, programs))
for program, verdict in zip(programs, verdicts):
    if verdict:
        print(f"{program.stem}: {verdict}")
if any(verdicts) or len(programs) < 13:
    sys.exit("races that are not refused as they should be")
print(f"the compiler refuses {len(programs)} of {len(programs)} data races, each with its error")
