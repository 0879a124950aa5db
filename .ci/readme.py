"""Runs every program of README.md, and of Tests/FFI/README.md, as it stands there: C, Python, Lua, Swift.
`make -C Sources` comes first.

A Lua program is left out, by name, when there is no luajit. C is built by the README's one-line command, and after its
installation with pkg-config, as "Install" says.
"""
import os, pathlib, re, shutil, subprocess, sys

root = pathlib.Path(__file__).resolve().parent.parent
work = root / ".build-readme"
library = root / "Sources/build/lib"
pages = "README.md", "Tests/FFI/README.md"
blocks = [block for page in pages
          for block in re.findall(r"^```(\w+)\n(.*?)^```$", (root / page).read_text(), re.MULTILINE | re.DOTALL)]


def run(*command, cwd=root, **variables):
    print("+", *(str(word).replace(str(root), ".") for word in command), flush=True)
    subprocess.run([str(word) for word in command], cwd=cwd, env=os.environ | variables, check=True, timeout=900)


def write(name, text):
    path = work / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def run_c(text, number):
    write("tick.c", text)
    command = next(block for language, block in blocks if language == "sh" and block.startswith("cc tick.c"))
    for name in ("include", "Sources"):
        link = work / name
        if not link.exists():
            link.symlink_to(root / name)
    run("sh", "-c", command.strip(), cwd=work)
    # "Install", in a home directory of its own.
    install = next(block for language, block in blocks if language == "sh" and "install PREFIX" in block)
    shutil.rmtree(work / "home", ignore_errors=True)
    run("sh", "-ec", install.strip(), cwd=work, HOME=str(work / "home"))


def run_swift(text, number):
    manifest = f"""// swift-tools-version: 6.2
import PackageDescription
let package = Package(
  name: "readme", dependencies: [.package(name: "chime", path: "../..")],
  targets: [.executableTarget(name: "readme", dependencies: [.product(name: "Chime", package: "chime")])])
"""
    write("swift/Package.swift", manifest)
    write("swift/Sources/readme/main.swift", text)
    run("swift", "run", "--package-path", work / "swift")


def run_python(text, number):
    run(sys.executable, write(f"program{number}.py", text))


def run_lua(text, number):
    if shutil.which("luajit") is None:
        print("left out: Lua (no luajit)")
        return
    run("luajit", write(f"program{number}.lua", text))


runners = {"c": run_c, "python": run_python, "lua": run_lua, "swift": run_swift}
ran = set()
for number, (language, text) in enumerate(blocks):
    if language in runners:
        runners[language](text, number)
        ran.add(language)
    elif language not in ("sh", "mermaid", "cmake"):
        sys.exit(f"a block in {language}, which nothing runs")
missing = set(runners) - ran
if missing:
    sys.exit(f"no block in {', '.join(sorted(missing))}")
