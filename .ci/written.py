"""As written: takes the commands and programs of the pages below and does what a reader would, in an empty Debian with the
files of a release and nothing else: no clone, no network, no Swift. What they print is compared with what the page says.

    .ci/written.py DIST [ROOT]      DIST: what `make -C Sources dist` made; ROOT: an empty Debian that is there already

The examples of the manual are taken out of the pages as man shows them.

Needs root or sudo, and mmdebstrap, which makes the Debian. Where /proc cannot be mounted, Java is left out, by name.

- A program is saved under the name that the paragraph before it, or a command of its page, has for it. A command that names a
  program which its page does not show gets the front page's.
- A ```text block behind a program, or behind the command that runs it, is what it prints, to the byte. "prints the same" in the
  paragraph before a program: as the one before.
- A program that no command runs is built and run by the command of chime(7), or by its language's interpreter.
- Commands that need a clone (`make -C`, `swift`) are run by readme.py or by a step of .ci/run of their own. Swift programs
  are readme.py's.
"""

import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIST = pathlib.Path(sys.argv[1]).resolve()
SUITE, MIRROR = "bookworm", os.environ.get("MIRROR", "http://deb.debian.org/debian")
PACKAGES = ["gcc", "g++", "libc6-dev", "pkg-config", "cmake", "make", "man-db", "sudo", "python3-venv", "luajit",
            "nodejs", "libnode-dev", "ruby", "golang-go", "cargo", "gdb"]
JAVA = ["openjdk-17-jdk-headless", "libjna-java"]
PAGES = ["README.md", "include/README.md", "Sources/Bindings/README.md"]
PAGES += [str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("Sources/*/*.docc/*.md"))]
EXTENSIONS = {"c": ".c", "cpp": ".cpp", "python": ".py", "go": ".go", "rust": ".rs", "js": ".js", "java": ".java", "ruby": ".rb",
              "lua": ".lua", "cmake": "CMakeLists.txt"}
DEFAULT = {"c": "cc {0} $(pkg-config --cflags --libs chime) -pthread -o {1} && ./{1}",
           "cpp": "c++ -std=c++17 {0} $(pkg-config --cflags --libs chime) -pthread -o {1} && ./{1}",
           "python": "python3 {0}"}
ELSEWHERE = {"swift", "swift-package", "text"}
IN_A_CLONE = re.compile(r"make -C|^swift |Sources/|Tests/", re.M)
# The wrappers' own front pages: the program of each is one of the guide's, which shows Python's and names the others.
WRAPPERS = {name: f"Sources/Bindings/{name}/README.md" for name in ("go", "node", "python", "rust")}
FROM_WRAPPERS = {"main.go": "go", "sessions.js": "node", "program.rs": "rust"}
FENCE = re.compile(r"^```([\w-]+)\n(.*?)^```$", re.M | re.S)


def fail(what):
    sys.exit(f"FAILED: {what}")


class Debian:
    """The empty one."""

    def __init__(self, root, can_mount):
        self.root, self.can_mount = root, can_mount

    @classmethod
    def made(cls, root, can_mount):
        if not (root / "usr").is_dir():
            command = ["mmdebstrap", "--quiet", "--variant=essential", "--aptopt=Acquire::Languages \"none\"",
                       "--dpkgopt=force-unsafe-io", f"--include={','.join(PACKAGES + JAVA * can_mount)}"]
            if not can_mount:
                command.append("--skip=check/canmount,chroot/mount")
            done = subprocess.run([*command, SUITE, str(root), MIRROR], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode:
                fail(f"mmdebstrap\n{done.stdout}")
        (root / "etc/hosts").write_text(f"127.0.0.1 localhost {os.uname().nodename}\n")  # sudo asks
        if can_mount:
            subprocess.run(["mount", "-t", "proc", "proc", str(root / "proc")], check=True)
        return cls(root, can_mount)

    def run(self, commands, directory, timeout=300, **variables):
        """Answers the status, what was printed, and what was complained of."""
        environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": directory, "LC_ALL": "C.UTF-8",
                       "CARGO_NET_OFFLINE": "true", "GOFLAGS": "-mod=mod", "GOPROXY": "off", **variables}
        words = ["unshare", "--net", "chroot", str(self.root), "sh", "-ec", f"cd {directory}\n{commands}"]
        done = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=timeout)
        # `go mod` says what it does, and there is nothing to complain of.
        return done.returncode, done.stdout, re.sub(r"^(go: |\t).*\n", "", done.stderr, flags=re.M)

    def directory(self, name):
        path = self.root / "home" / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path


class Page:
    """What a page has: programs by their file names with what they print, and commands."""

    def __init__(self, name, text):
        self.name, self.programs, self.commands = name, {}, []
        found = list(FENCE.finditer(text))
        blocks = [match.groups() for match in found] + [("", "")] * 2
        shell = "\n".join(block for language, block in blocks if language == "sh")
        printed = None
        for index, match in enumerate(found):
            language, block = match.groups()
            before = text[:match.start()].rstrip().rsplit("\n\n", 1)[-1]
            if language == "sh":
                self.commands.append((block, blocks[index + 1][1] if blocks[index + 1][0] == "text" else None))
            elif language in EXTENSIONS:
                if blocks[index + 1][0] == "text":
                    printed = blocks[index + 1][1]
                elif blocks[index + 1][0] == "sh" and blocks[index + 2][0] == "text" and language != "cmake":
                    printed = blocks[index + 2][1]
                elif "prints the same" not in before:
                    printed = None
                extension = EXTENSIONS[language]
                names = [word for word in re.findall(rf"[\w-]*{re.escape(extension)}\b", f"{before}\n{shell}")
                         if word not in self.programs] or [f"program{len(self.programs)}{extension}"]
                if language == "cmake":
                    self.programs[extension] = (language, block, None)
                else:
                    self.programs[names[0]] = (language, block, printed)
            elif language not in ELSEWHERE:
                fail(f"{name}: a block in {language}, which nothing runs")


def runs_of(commands, name):
    """How often the commands run the program of that name."""
    stem, extension = name.rsplit(".", 1)
    if extension in ("c", "cpp"):
        return len(re.findall(rf"(?:\./|build/){re.escape(stem)}(?=\s|$)", commands))
    if extension == "java":
        return len(re.findall(rf"^java .*\b{stem}$", commands, re.M))
    if extension == "rs":
        return commands.count("cargo run")
    return len(re.findall(rf"\b(?:python3?|node|ruby|luajit|go run) {re.escape(name)}(?=\s|$)", commands))


def check_page(debian, page, front, directory):
    """Runs what the page has, in a directory where its programs, and a release's files, lie."""
    inside = f"/home/{directory.name}"
    programs = dict(page.programs)
    shell = "\n".join(commands for commands, _ in page.commands if not IN_A_CLONE.search(commands))
    for name in re.findall(r"[\w-]+\.(?:c|py)\b", shell):
        if name not in programs and name in front.programs and not (directory / name).exists():
            programs[name] = front.programs[name]
    for name, (_, text, _) in programs.items():
        (directory / name).write_text(text)
    began, counts = set(), [0, 0, 0]
    for commands, printed in page.commands:
        first = commands.splitlines()[0]
        if IN_A_CLONE.search(commands):
            print(f"   in a clone: {first}")
            counts[2] += 1
            continue
        if commands.startswith("gdb -p PID"):
            counts[0] += debugger(debian, commands, front)
            continue
        if re.search(r"^javac? ", commands, re.M) and not debian.can_mount:
            print(f"left out: {first} (/proc cannot be mounted)")
            began |= {name for name in programs if name.endswith(".java")}
            continue
        # Groups stand for themselves, but what one exports holds in those behind it.
        groups = commands.strip().split("\n\n") if printed is None else [commands.strip()]
        for group in groups:
            began |= {name for name in programs if name in group or runs_of(group, name)}
            began |= {"CMakeLists.txt"} if group.startswith("cmake ") else set()
            expected = printed or "".join(text * runs_of(group, name) for name, (_, _, text) in programs.items() if text)
            status, said, complained = debian.run(exports + group, inside) if (exports := exported(page, commands)) else debian.run(
                group, inside)
            if status or not said.endswith(expected) or complained.strip():
                fail(f"{page.name}:\n{group}\nended with {status}, printed:\n{said}{complained}and should print:\n{expected}")
            counts[0] += 1
    for name, (language, _, printed) in programs.items():
        if name in began or language not in DEFAULT:
            if name not in began:
                fail(f"{page.name}: no command runs {name}")
            continue
        command = DEFAULT[language].format(name, f"run-{name.rsplit('.', 1)[0]}")
        status, said, complained = debian.run(command, inside)
        if status or (printed is not None and said != printed) or complained.strip():
            fail(f"{page.name}, {name}:\n{command}\nended with {status}, printed:\n{said}{complained}and should print:\n{printed}")
        counts[1] += 1
    print(f"ok: {page.name}: {counts[0]} groups of commands, {len(programs)} programs; {counts[2]} for a clone")


def debugger(debian, commands, front):
    """The commands, for a process of the front page's program that stays, and for a core file of it."""
    if not debian.can_mount:
        print("left out: gdb -p PID (/proc cannot be mounted)")
        return 0
    directory = debian.directory("debugger")
    (directory / "program.c").write_text(front.programs["tick.c"][1].replace("sleep(1)", "sleep(600)"))
    lines = [line.replace("/usr/local/share", "/usr/share") for line in commands.strip().splitlines()]
    found = []
    for line in lines:
        line = line.replace("PID", "$process").replace("PROGRAM CORE", "./program core")
        status, said, complained = debian.run(f"""cc program.c -lchime -o program
rm -f printed
CHIME_TRACE=trace-%p.json stdbuf -oL ./program >printed & process=$!
trap 'kill $process' EXIT
until grep -qs 'tick 3' printed; do sleep 0.05; done
gdb -p $process -batch -ex 'generate-core-file core' >core.txt 2>&1
{line}""", "/home/debugger")
        wanted = "3 ticks, 0 missed" if "chime-dump" in line else "in main ()"
        if status or wanted not in said:
            fail(f"{line}: ended with {status}, printed:\n{said}{complained}and should print: {wanted}")
        found += list(directory.glob("trace-*.json"))
    if len(set(found)) != len(lines):
        fail(f"CHIME_TRACE=trace-%p.json made {len(set(found))} files by {len(lines)} processes")
    return len(lines)


def programs_of(wrapper):
    return [(language, text) for language, text in FENCE.findall((ROOT / WRAPPERS[wrapper]).read_text()) if language in EXTENSIONS]


def wrappers(guide):
    """The program of each wrapper's front page is one of the guide's."""
    programs = {text for _, text, _ in guide.programs.values()}
    for name, path in WRAPPERS.items():
        for _, text in programs_of(name):
            if text not in programs:
                fail(f"{path}: its program is not one of the guide's:\n{text}")
    print(f"ok: the programs of {', '.join(WRAPPERS)} are the guide's")


def exported(page, commands):
    """The lines of earlier blocks of the page that export something."""
    earlier = page.commands[:[text for text, _ in page.commands].index(commands)]
    lines = [line for text, _ in earlier if not IN_A_CLONE.search(text) for line in text.splitlines() if line.startswith("export ")]
    return "".join(f"{line}\n" for line in lines)


def manual(debian):
    """Each page's example, out of the page as man shows it. The same example on several pages is run once."""
    pages = [path for section in (3, 7) for path in (debian.root / f"usr/share/man/man{section}").glob("[cC][hH][iI][mM][eE]*.gz")]
    names = sorted(path.name for path in pages if not gzip.decompress(path.read_bytes()).startswith(b".so "))
    directory = debian.directory("manual")
    shown = "; ".join(f"man -E ascii --nh --nj {name[:-5]} >{name}.txt" for name in names)
    status, _, complained = debian.run(shown, "/home/manual", MANWIDTH="130", MANROFFOPT="-rHY=0", MAN_KEEP_FORMATTING="")
    if status:
        fail(f"man: {complained}")
    programs = {}
    for name in names:
        text = (directory / f"{name}.txt").read_text()
        examples = re.search(r"^EXAMPLES\n(.*?)^(?=\S)", text, re.M | re.S)
        if examples is None:
            fail(f"{name}: no example")
        lines = [line[11:] for line in examples[1].splitlines() if line.startswith(" " * 11) or not line.strip()]
        # The program's last line is a brace alone; what it prints follows the words in between.
        program, _, printed = re.sub(r"\n{3,}", "\n\n", "\n".join(lines).strip("\n")).rpartition("\n}\n")
        programs.setdefault(f"{program}\n}}\n", (printed.strip("\n") + "\n", name))
    script = []
    for number, (program, (printed, _)) in enumerate(programs.items()):
        (directory / f"{number}.c").write_text(program)
        (directory / f"{number}.expected").write_text(printed)
        script.append(f"cc {number}.c $(pkg-config --cflags --libs chime) -pthread -o {number} && ./{number} >{number}.printed")
    command = "set +e\n" + "\n".join(f"({line}) 2>{number}.errors || echo failed {number}" for number, line in enumerate(script))
    _, said, _ = debian.run(command, "/home/manual")
    for number, (printed, name) in enumerate(programs.values()):
        errors = (directory / f"{number}.errors").read_text()
        found = (directory / f"{number}.printed").read_text() if (directory / f"{number}.printed").exists() else ""
        if found != printed or errors:
            fail(f"{name}: its example prints:\n{found}{errors}and should print:\n{printed}")
    print(f"ok: manual: {len(programs)} examples on {len(names)} pages")


def main():
    if os.geteuid() != 0:
        os.execvp("sudo", ["sudo", "-E", sys.executable, *sys.argv])
    if "--mounts" not in sys.argv:
        tried = subprocess.run(["unshare", "--mount", "mount", "-t", "proc", "proc", "/proc"], stderr=subprocess.DEVNULL)
        flag = "--mounts=yes" if tried.returncode == 0 else "--mounts=no"
        words = ["unshare", "--mount"] * (flag == "--mounts=yes")
        os.execvp((words or [sys.executable])[0], [*words, sys.executable, *sys.argv, "--mounts", flag])
    can_mount = sys.argv[-1] == "--mounts=yes"
    given = [word for word in sys.argv[2:] if not word.startswith("--mounts")]
    work = pathlib.Path(tempfile.mkdtemp())
    begun = time.monotonic()
    try:
        debian = Debian.made(pathlib.Path(given[0]).resolve() if given else work / "root", can_mount)
        print(f"an empty Debian, {SUITE}: {time.monotonic() - begun:.0f} s")
        check(debian)
    finally:
        if can_mount:
            subprocess.run(["umount", str((pathlib.Path(given[0]).resolve() if given else work / "root") / "proc")], stderr=subprocess.DEVNULL)
        shutil.rmtree(work, ignore_errors=True)
    print(f"as written: {time.monotonic() - begun:.0f} s")


def check(debian):
    debian.run("dpkg --purge libchime-dev libchime0", "/")
    front = Page("README.md", (ROOT / "README.md").read_text())
    # The tarball first: nothing else of Chime is there.
    archive = next(DIST.glob("chime-*-linux-x86_64.tar.gz"))
    place = debian.directory("unpacked")
    subprocess.run(["tar", "-C", str(place), "--strip-components=1", "-xzf", str(archive)], check=True)
    check_page(debian, Page("the tarball's README.md", (place / "README.md").read_text()), front, place)
    for name in PAGES:
        page = Page(name, (ROOT / name).read_text())
        if not page.programs and not page.commands:
            continue
        if name == "Sources/Bindings/README.md":
            page.programs |= {program: (*programs_of(wrapper)[0], None) for program, wrapper in FROM_WRAPPERS.items()}
        place = debian.directory(re.sub(r"\W", "-", name))
        for path in DIST.iterdir():
            if path.is_file():
                shutil.copy(path, place)
        check_page(debian, page, front, place)
        if name == "Sources/Bindings/README.md":
            wrappers(page)
    # The package's own first page, and its examples'.
    documents = debian.root / "usr/share/doc/libchime-dev"
    check_page(debian, Page("libchime-dev's README.md", (documents / "README.md").read_text()), front, debian.directory("package"))
    examples = debian.directory("examples")
    shutil.copytree(debian.root / "usr/share/doc/libchime-dev/examples", examples, dirs_exist_ok=True)
    page = Page("the examples' README.md", (examples / "README.md").read_text())
    check_page(debian, page, front, examples)
    manual(debian)


main()
