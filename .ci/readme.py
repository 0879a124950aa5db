"""Runs the programs of the pages below that need a clone, as they are printed there: all in Swift, and those in C of the pages
for a clone. What is for a release, in whatever language, is run by written.py.

`make -C Sources` comes first. A ```text block behind a program is its exact output. C is built by include/README.md's commands
for a clone, without an installation and with one. All Swift programs are targets of one package. Blocks in other languages have
to be named in `not_run`.

The package of all Swift programs names Chime as the front page says.

Each snippet in a comment of include/*.h and *.hpp has a program in .ci/snippets, where it is put in place of a line
`// the snippet that begins ...`. The comment `Prints:` there is the beginning of what the program prints.
"""
import os, pathlib, re, shutil, subprocess, sys, threading

root = pathlib.Path(__file__).resolve().parent.parent
work = root / ".build-readme"
pages = [root / name for name in ("README.md", "include/README.md", "Sources/README.md")]
pages += sorted((root / "Sources/Chime/Chime.docc").glob("*.md"))
pages += sorted((root / "Sources/ChimeRunLoop/ChimeRunLoop.docc").glob("*.md"))
not_run = "sh", "cmake", "swift-package", "text", "cpp", "python"


def run(*command, cwd=root, expected=None, **variables):
    print("+", *(str(word).replace(str(root), ".") for word in command), flush=True)
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=os.environ | variables, timeout=900, text=True,
                          stdout=subprocess.PIPE if expected is not None else None)
    if done.returncode:
        sys.exit(f"ended with {done.returncode}\n{done.stdout or ''}")
    if expected is not None:
        sys.stdout.write(done.stdout)
        if done.stdout != expected:
            sys.exit(f"the page says that it prints:\n{expected}")


def write(name, text):
    path = work / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def command_with(text):
    """The first block of shell commands that contains the text."""
    return next(block for _, language, block, _ in blocks if language == "sh" and text in block).strip()


def run_c(page, text, expected):
    write("tick.c", text)
    for name in ("include", "Sources"):
        link = work / name
        if not link.exists():
            link.symlink_to(root / name)
    build, compile = command_with("cc tick.c -Iinclude").splitlines()
    run("sh", "-c", build, cwd=work)
    run("sh", "-c", compile, cwd=work, expected=expected)
    if page.name == "README.md":
        # "In a clone" in include/README.md, in a home directory of its own.
        shutil.rmtree(work / "home", ignore_errors=True)
        run("sh", "-ec", command_with("install PREFIX"), cwd=work, HOME=str(work / "home"))


def run_swift(programs):
    """Each program is a target named after its page, as it is printed. All are compiled in Swift 6 language mode with strict
    memory safety, and a warning is an error.

    Programs that import AsyncAlgorithms are left out, by name, when that package cannot be fetched.
    """
    if not make_package(programs):
        print("left out: programs that import AsyncAlgorithms (swift-async-algorithms cannot be fetched)")
        programs = [program for program in programs if not needs_algorithms(program)]
        if not make_package(programs):
            sys.exit("the package of all programs cannot be resolved")
    run("swift", "build", "--package-path", work / "programs")
    for name, (_, _, expected) in zip(names(programs), programs):
        run(work / "programs/.build/debug" / name, expected=expected)


def needs_algorithms(program):
    return "import AsyncAlgorithms\n" in program[1]


def names(programs):
    """README1, Recipes1, Recipes2 and so on."""
    pages = [page for page, _, _ in programs]
    return [f"{page.stem}{pages[:index].count(page) + 1}" for index, page in enumerate(pages)]


def make_package(programs):
    shutil.rmtree(work / "programs/Sources", ignore_errors=True)
    # The clone beside the package, as the front page has both lines; GettingStarted's block has the same.
    if not (work / "chime").exists():
        (work / "chime").symlink_to(root)
    front, started = ((root / name).read_text() for name in ("README.md", "Sources/Chime/Chime.docc/GettingStarted.md"))
    packages = re.findall(r"`(\.package\([^`]*)`", front)
    for line in packages + re.findall(r"`(\.product\([^`]*)`", front):
        if line not in started:
            sys.exit(f"GettingStarted.md does not say {line}")
    targets = []
    if any(map(needs_algorithms, programs)):
        packages.append('.package(url: "https://github.com/apple/swift-async-algorithms", from: "1.0.0")')
    for name, program in zip(names(programs), programs):
        text = program[1]
        write(f"programs/Sources/{name}/main.swift", text)
        products = ['.product(name: "Chime", package: "chime")', '.product(name: "ChimeRunLoop", package: "chime")']
        for product in ("ChimeCompat", "ChimeDiagnostics"):
            if f"import {product}\n" in text:
                products.append(f'.product(name: "{product}", package: "chime")')
        if needs_algorithms(program):
            products.append('.product(name: "AsyncAlgorithms", package: "swift-async-algorithms")')
        targets.append(f'''    .executableTarget(
      name: "{name}", dependencies: [{", ".join(products)}],
      swiftSettings: [.strictMemorySafety(), .treatAllWarnings(as: .error), .swiftLanguageMode(.v6)])''')
    listed = ",\n".join(targets)
    write("programs/Package.swift", f"""// swift-tools-version: 6.2
import PackageDescription
let package = Package(
  name: "readme", dependencies: [{", ".join(packages)}],
  targets: [
{listed}
  ])
""")
    return subprocess.run(["swift", "package", "--package-path", str(work / "programs"), "resolve"], cwd=root,
                          timeout=300).returncode == 0


def snippets():
    """Code in the comments of the headers: indented lines behind an empty line or a colon, one of which is a statement."""
    for header in sorted((root / "include").glob("*.h*")):
        comments = re.finditer(r"^ \*(?:.*:)?\n((?: \*     .*\n)+)", header.read_text(), re.MULTILINE)
        for text in (match[1].replace("\n *     ", "\n").removeprefix(" *     ") for match in comments):
            if re.search(r"\).*[;}]$", text, re.MULTILINE):
                yield header, text


def run_snippets():
    """Each by the program that names its first line."""
    programs = {}
    for program in sorted((root / ".ci/snippets").iterdir()):
        first = re.search(r"// the snippet that begins (.*)\n", program.read_text())[1]
        programs[first] = program
    for header, text in snippets():
        first = text.splitlines()[0]
        print(header.relative_to(root), first, flush=True)
        program = programs.pop(first, None) or sys.exit(f"no program in .ci/snippets for it")
        source = program.read_text()
        prints = re.search(r"^// Prints: (.*)$", source, re.MULTILINE)[1].split(" | ")
        write(program.name, re.sub(r"// the snippet that begins .*\n", lambda _: text, source))
        command = "c++ -std=c++17" if program.suffix == ".cpp" else "cc -std=c99"
        for directory in ("include", "Sources"):
            if not (work / directory).exists():
                (work / directory).symlink_to(root / directory)
        run("sh", "-ec", f"{command} -Wall -Wextra -Werror {program.name} -o snippet -I include -L Sources/build/lib "
            "-lchime -Wl,-rpath,'$ORIGIN/Sources/build/lib' -pthread", cwd=work)
        # Most would go on for ever.
        with subprocess.Popen([work / "snippet"], stdout=subprocess.PIPE, text=True) as running:
            killer = threading.Timer(60, running.kill)
            killer.start()
            lines = [running.stdout.readline().rstrip("\n") for _ in prints]
            running.kill()
            killer.cancel()
        print(*lines, sep="\n")
        if lines != prints:
            sys.exit(f"it should print:\n{prints}")
    if programs:
        sys.exit(f"no snippet in a header begins so: {', '.join(programs)}")


fence = re.compile(r"^```([\w-]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
blocks = []
for page in pages:
    found = [match.groups() for match in fence.finditer(page.read_text())]
    for (language, text), (following, output) in zip(found, found[1:] + [("", "")]):
        blocks.append((page, language, text, output if following == "text" else None))

run_snippets()
runners = {"c": run_c}
for page, language, text, expected in blocks:
    if language in runners:
        print(page.relative_to(root), flush=True)
        runners[language](page, text, expected)
    elif language not in (*not_run, "swift"):
        sys.exit(f"{page}: a block in {language}, which nothing runs")
run_swift([(page, text, expected) for page, language, text, expected in blocks if language == "swift"])
missing = {*runners, "swift"} - {language for _, language, _, _ in blocks}
if missing:
    sys.exit(f"no block in {', '.join(sorted(missing))}")
