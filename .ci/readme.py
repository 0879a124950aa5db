"""Runs every program of the pages below as it is printed there: C, Python, Lua, Swift.

`make -C Sources` comes first. A ```text block behind a program is its exact output. C is built by README.md's command,
and after an installation with pkg-config as include/README.md says. All Swift programs are targets of one package.
A Lua program is left out, by name, when there is no luajit. Blocks in other languages have to be named in `not_run`.
"""
import os, pathlib, re, shutil, subprocess, sys

root = pathlib.Path(__file__).resolve().parent.parent
work = root / ".build-readme"
pages = [root / name for name in ("README.md", "include/README.md", "Sources/README.md", "Tests/FFI/README.md")]
pages += sorted((root / "Sources/Chime/Chime.docc").glob("*.md"))
not_run = "sh", "mermaid", "cmake", "swift-package", "text"


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
    build, compile = command_with("cc tick.c").splitlines()
    run("sh", "-c", build, cwd=work)
    run("sh", "-c", compile, cwd=work, expected=expected)
    # In a home directory of its own.
    shutil.rmtree(work / "home", ignore_errors=True)
    run("sh", "-ec", command_with("install PREFIX"), cwd=work, HOME=str(work / "home"))


def run_python(page, text, expected):
    run(sys.executable, write("program.py", text), expected=expected)


def run_lua(page, text, expected):
    if shutil.which("luajit") is None:
        print("left out: Lua (no luajit)")
        return
    run("luajit", write("program.lua", text), expected=expected)


def run_swift(programs):
    """Each program is a target named after its page; it imports Chime if it does not say so itself."""
    shutil.rmtree(work / "swift/Sources", ignore_errors=True)
    targets = []
    for page, text, expected in programs:
        name = f"{page.stem}{sum(page is other for other, _, _ in targets) + 1}"
        write(f"swift/Sources/{name}/main.swift", text if "import Chime\n" in text else "import Chime\n\n" + text)
        targets.append((page, name, expected))
    listed = ",\n".join(f"""    .executableTarget(
      name: "{name}",
      dependencies: [.product(name: "Chime", package: "chime"), .product(name: "ChimeRunLoop", package: "chime")])"""
                        for _, name, _ in targets)
    write("swift/Package.swift", f"""// swift-tools-version: 6.2
import PackageDescription
let package = Package(
  name: "readme", dependencies: [.package(name: "chime", path: "../..")],
  targets: [
{listed}
  ])
""")
    run("swift", "build", "--package-path", work / "swift", "-Xswiftc", "-warnings-as-errors")
    for page, name, expected in targets:
        run(work / "swift/.build/debug" / name, expected=expected)


fence = re.compile(r"^```([\w-]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
blocks = []
for page in pages:
    found = [match.groups() for match in fence.finditer(page.read_text())]
    for (language, text), (following, output) in zip(found, found[1:] + [("", "")]):
        blocks.append((page, language, text, output if following == "text" else None))

runners = {"c": run_c, "python": run_python, "lua": run_lua}
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
