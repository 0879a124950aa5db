"""Whether GitHub's runners can read the workflows: their form, by GitHub's schema; and what the schema cannot know.

    .ci/workflows.py      in a virtual environment of its own, .build-workflows, with check-jsonschema of PyPI

A job that is needed is there, `inputs` and `matrix` name what is declared, each `run` is a program to bash, and the directories,
make targets and scripts of this tree that it names are there. (actionlint knows more. Its package on PyPI fetches a program
from elsewhere when it is installed, which not every machine may: ci.yml has a job with it.)
"""

import pathlib
import re
import subprocess
import sys
import venv

VERSION = "0.39.0"
ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACE = ROOT / ".build-workflows"


def in_environment():
    """Goes on as the environment's Python, made if it is not there."""
    python = PLACE / "bin/python"
    ready = PLACE / f"ready-{VERSION}"
    if not ready.exists():
        venv.create(PLACE, with_pip=True, clear=True)
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"check-jsonschema=={VERSION}"]
        subprocess.run([python, *install], check=True)
        ready.touch()
    sys.exit(subprocess.run([python, __file__, "here"], check=False).returncode)


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


def wrong(path, workflow):
    jobs = workflow["jobs"]
    for name, job in jobs.items():
        where = f"{path.name}, {name}"
        needed = job.get("needs", [])
        for other in [needed] if isinstance(needed, str) else needed:
            if other not in jobs:
                yield f"{where}: needs {other}, which is not there"
        yield from wrong_in_expressions(where, job, workflow)
        for step in job.get("steps", []):
            if "run" in step:
                yield from wrong_in_command(where, step["run"])


def main():
    if sys.argv[1:] != ["here"]:
        in_environment()
    from ruamel.yaml import YAML  # check-jsonschema's own

    paths = sorted((ROOT / ".github/workflows").glob("*.yml"))
    schema = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", *paths]
    status = subprocess.run(schema, check=False).returncode
    found = [text for path in paths for text in wrong(path, YAML(typ="safe").load(path.read_text()))]
    print("\n".join(found + [f"{len(paths)} workflows"]))
    return 1 if status or found or len(paths) < 3 else 0


if __name__ == "__main__":
    sys.exit(main())
