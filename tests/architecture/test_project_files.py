"""Workflows, recipes and templates parse, and their commands exist."""

import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import pliant

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = CONFIGURATION["project"]
EXTRAS = PROJECT["optional-dependencies"]
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
RELEASE_NOTES = runpy.run_path(str(ROOT / ".github" / "release_notes.py"))["release_notes"]

ACTION = re.compile(
    r"(actions/(checkout|setup-python|upload-artifact|download-artifact)"
    r"|pypa/gh-action-pypi-publish)@[0-9a-f]{40}"
)
"""The only external code run by workflows, except packages of pip and apt."""


def loaded(path):
    return yaml.safe_load((ROOT / path).read_text("utf-8"))


def by_name(path):
    return path.name


def problems(command):
    """Yield the missing files and packages of a workflow's command line."""
    for line in command.splitlines():
        for part in re.split(r"&&|\|\||;|\|", line):
            words = part.split()
            if words[0] == "make":
                yield from (f"make {target}" for target in words[1:] if target not in TARGETS)
            if words[0] in ("bash", "python") and not words[1].startswith("-"):
                yield from () if (ROOT / words[1]).is_file() else (words[1],)
            for extra in re.findall(r"\[([a-z,]+)\]", part):
                yield from (name for name in extra.split(",") if name not in EXTRAS)
            if words[0] == "pliant" and words[1] != "--version":
                yield part


@pytest.mark.parametrize("path", WORKFLOWS, ids=by_name)
def test_a_workflow_runs_what_exists(path):
    workflow = loaded(path)
    assert set(workflow) <= {"name", True, "permissions", "concurrency", "jobs"}  # True is "on"
    assert workflow["name"] == path.stem
    assert workflow["permissions"] == {"contents": "read"}
    jobs = workflow["jobs"]
    for name, job in jobs.items():
        needed = job.get("needs", [])
        assert ({needed} if isinstance(needed, str) else set(needed)) <= jobs.keys(), name
        if "uses" in job:
            called = ROOT / job["uses"]
            assert called in WORKFLOWS
            assert "workflow_call" in loaded(called)[True]
            continue
        assert job["runs-on"].startswith(("ubuntu-", "${{ matrix.os }}"))
        assert job["timeout-minutes"] <= 120
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            assert "uses" not in step or ACTION.fullmatch(step["uses"])
            assert list(problems(step.get("run", "true"))) == []


def test_every_supported_python_is_tested():
    matrix = loaded(".github/workflows/tests.yml")["jobs"]["tests"]["strategy"]["matrix"]
    stated = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if "Python :: 3." in c]
    assert matrix["python"] == stated
    assert PROJECT["requires-python"] == f">={stated[0]}"


def test_links_of_the_readme_in_the_package_are_absolute():
    text = (ROOT / "README.md").read_text("utf-8")
    hooks = CONFIGURATION["tool"]["hatch"]["metadata"]["hooks"]
    for each in hooks["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(each["pattern"], each["replacement"], text)
    links = re.findall(r"(!?)\[[^]]*\]\(([^)]*)\)", text)
    assert len(links) >= 3
    for image, link in links:
        prefix = f"{PROJECT['urls']['Repository']}/{'raw' if image else 'blob'}/main/"
        assert link.startswith(prefix)
        assert (ROOT / link.removeprefix(prefix)).is_file()


def test_the_conda_recipe_and_the_citation_are_those_of_the_project():
    recipe, citation = loaded("conda/meta.yaml"), loaded("CITATION.cff")
    assert recipe["package"] == {"name": PROJECT["name"], "version": pliant.__version__}
    assert citation["version"] == pliant.__version__
    assert recipe["about"]["license"] == citation["license"] == PROJECT["license"]
    assert recipe["about"]["summary"] == PROJECT["description"]
    wanted = [*PROJECT["dependencies"], *EXTRAS["cli"], *EXTRAS["plots"]]
    spelt = {
        re.sub(r"(?=>=)", " ", each).replace("matplotlib ", "matplotlib-base ") for each in wanted
    }
    assert set(recipe["requirements"]["run"]) == spelt | {f"python {PROJECT['requires-python']}"}
    (command,) = recipe["build"]["entry_points"]
    assert command == f"pliant = {PROJECT['scripts']['pliant']}"
    names = [author["name"] for author in PROJECT["authors"]]
    assert [author["name"] for author in citation["authors"]] == names
    for reference in citation["references"]:
        assert {"type", "title", "authors"} <= reference.keys()


CHANGELOG = """# Changelog

## 1.2.0 (2030-01-31)

### Added

- One thing.

## 1.1.0 (unreleased)

- Another.
"""


def test_release_notes_are_the_section_of_the_tag():
    assert RELEASE_NOTES("v1.2.0", CHANGELOG, "1.2.0") == "### Added\n\n- One thing.\n"
    for tag, version, message in (
        ("1.2.0", "1.2.0", r"expected the tag v1\.2\.0, .* got 1\.2\.0"),
        ("v1.2.0", "1.3.0", r"expected the tag v1\.3\.0, .* got v1\.2\.0"),
        ("v1.3.0", "1.3.0", r"expected a section '## 1\.3\.0 \(date\)'"),
        ("v1.1.0", "1.1.0", r"expected a date .* at version 1\.1\.0, got \(unreleased\)"),
    ):
        with pytest.raises(ValueError, match=message):
            RELEASE_NOTES(tag, CHANGELOG, version)
    command = [sys.executable, ".github/release_notes.py", "v0.0.0"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.startswith(f"expected the tag v{pliant.__version__}")
