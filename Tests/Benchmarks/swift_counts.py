"""What a timer costs a Swift program: instructions by callgrind, allocations by memcheck. They do not depend on the load.

    swift_counts.py                  a table
    swift_counts.py --limits FILE    the same; red if one is more than FILE says: instructions by more than 3 %
    swift_counts.py --record FILE    writes FILE

Wants valgrind, and swift-counts built: `make swift-counts` does that and runs this.
"""
import pathlib, re, subprocess, sys, tempfile

N = 1000
package = pathlib.Path(__file__).resolve().parent / "swift-counts"


def output(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, timeout=600, **more)


def measure(program, name):
    with tempfile.TemporaryDirectory() as directory:
        text = output("valgrind", "--tool=callgrind", "--toggle-collect=counted",
                      f"--callgrind-out-file={directory}/out", program, name, N).stderr
    instructions = round(int(re.search(r"Collected : (\d+)", text)[1]) / N)

    def allocations(count):
        text = output("valgrind", "--leak-check=no", program, name, count).stderr
        return int(re.search(r"total heap usage: ([\d,]+) allocs", text)[1].replace(",", ""))

    # What is made once goes away in the difference. A program does all twice, once inside `counted`.
    return instructions, round((allocations(2 * N) - allocations(N)) / (2 * N), 1)


def main():
    binaries = output("swift", "build", "-c", "release", "--show-bin-path", cwd=package).stdout.strip()
    with tempfile.TemporaryDirectory() as directory:
        # This valgrind cannot read Swift's debugging information.
        program = pathlib.Path(directory) / "SwiftCounts"
        output("strip", "-g", "-o", program, pathlib.Path(binaries) / "SwiftCounts")
        counts = {name: measure(program, name) for name in output(program).stdout.splitlines()}
    if sys.argv[1:2] == ["--record"]:
        lines = (f"{name}\t{instructions}\t{allocations}\n" for name, (instructions, allocations) in counts.items())
        return pathlib.Path(sys.argv[2]).write_text("".join(lines))
    limits = {}
    if sys.argv[1:2] == ["--limits"]:
        rows = [line.split("\t") for line in pathlib.Path(sys.argv[2]).read_text().splitlines()]
        limits = {name: (int(instructions), float(allocations)) for name, instructions, allocations in rows}
        if limits.keys() != counts.keys():
            sys.exit(f"{sys.argv[2]} has other kinds of work; record it anew")
    more = []
    print(f"{'':45}{'instructions':>14}{'allocations':>14}")
    for name, (instructions, allocations) in counts.items():
        print(f"{name:45}{instructions:14}{allocations:14}")
        if name in limits and (instructions > limits[name][0] * 1.03 or allocations > limits[name][1]):
            more.append(f"{name}: {limits[name][0]} and {limits[name][1]} are allowed")
    if more:
        sys.exit("more than allowed: " + "; ".join(more))


main()
