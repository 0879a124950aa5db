"""Which variables of the environment libchime reads: those that environment.c sees it ask for, and those whose names are in
its file. Each stands in Limits.md, and none has power over a program with more rights than its user.

    environment.py LIBRARY PROGRAM...    the file of the library, and environment.c linked to it and to the archive
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMITS = (ROOT / "Sources/Chime/Chime.docc/Limits.md").read_text()
DECLARED = set(re.findall(r"\bCHIME_[A-Z0-9_]+", (ROOT / "include/chime.h").read_text()))
OTHER = 65534  # nobody


def named_in(library):
    """Texts of the file that look like a variable's name, but are none of the header's constants."""
    texts = re.findall(rb"(?<=\0)[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?=\0)", library.read_bytes())
    return {text.decode() for text in texts} - DECLARED - {"CHIME_UNKNOWN"}


def run(program, variables, **options):
    """What the program asked for; it must end well."""
    command = [program, "--case", "every_kind_of_queue_ticks:0"]
    environment = {"PATH": os.environ["PATH"], **variables}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, (program, variables, done)
    rights, _, asked = done.stdout.partition(", asked for")
    return rights, set(asked.split())


def with_more_rights(program, names):
    """A set-uid program of root's, run as another user: nobody, or whoever may use sudo."""
    is_root = os.geteuid() == 0
    user = {"user": OTHER, "group": OTHER, "extra_groups": []} if is_root else {}
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        directory = pathlib.Path(name)
        if os.statvfs(directory).f_flag & os.ST_NOSUID:
            return "as a set-uid program: not tried, nosuid"
        directory.chmod(0o755)
        copy = directory / "program"
        install = [*([] if is_root else ["sudo", "-n"]), "install", "-m", "4755", "-o", "root", program, copy]
        if subprocess.run(install, capture_output=True).returncode != 0:
            return "as a set-uid program: not tried, neither root nor sudo"
        for value in "1", "file", "stderr", str(directory / "file"):
            rights, _ = run(copy, dict.fromkeys(names, value), **user, umask=0, cwd="/")
            assert rights == "rights of another user", rights
        assert os.listdir(directory) == ["program"], os.listdir(directory)
    return "as a set-uid program: every kind of queue ticks, no file is made"


library, *programs = map(pathlib.Path, sys.argv[1:])
names = named_in(library)
for program in programs:
    with tempfile.TemporaryDirectory() as directory:
        # Each variable that is named, in each way in which one could take effect: all is as without.
        for value in "1", "file", f"{directory}/%p.json":
            rights, asked = run(program.resolve(), dict.fromkeys(names, value), cwd=directory)
            names |= asked
        rights = with_more_rights(program, names)
    unsaid = [name for name in sorted(names) if f"`{name}`" not in LIMITS]
    assert not unsaid, f"Limits.md does not name {unsaid}"
    print(f"ok environment {program.name}: {', '.join(sorted(names))}; {rights}")
