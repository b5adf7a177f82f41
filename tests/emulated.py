"""Run the numerical tests on another architecture, in an emulator.

    python -m tests.emulated aarch64 --numprocesses 2 --dist loadfile
    python -m tests.emulated aarch64 tests/methods/tkl tests/kernels

It needs Debian with the package qemu-user-static. Debian's Python for that architecture and wheels
of the dependencies go to the folder .aarch64 of the checkout, so the system's packages stay as they
are. The tests take ten to fifty times longer than without the emulator. The environment variable
QEMU_CPU names another processor, such as "max", which has SVE.

The emulator can start another emulated process only through a script, which is `sys.executable`.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]

DEBIAN = {"aarch64": "arm64"}
"""Architectures, with Debian's names of them."""

PROCESSORS = {"aarch64": "neoverse-n1"}
"""Processors that run the tests: without SVE, like most, and faster in the emulator."""

COMMANDS = {
    "apt-get": "apt",
    "dpkg-deb": "dpkg",
    "qemu-{}-static": "qemu-user-static",
}
"""Commands that are needed, with their packages in Debian."""

PACKAGES = ["python3", "libstdc++6"]
"""Packages of Debian, apart from what they depend on."""

EXTRAS = ["test", "dask", "cli"]
"""Extras of this package whose dependencies the tests import."""

GLIBC = range(17, 36)
"""Minor versions of glibc 2 whose wheels run on the Python of Debian."""

TESTS = [
    "tests/core/test_linalg.py",
    "tests/kernels",
    "tests/methods",
    "tests/papers",
]
"""Tests whose outcome depends on how a processor rounds."""


def lacking(arch: str) -> str | None:
    """Return a sentence about commands that this computer lacks, or None."""
    commands = {name.format(arch): package for name, package in COMMANDS.items()}
    absent = {name: package for name, package in commands.items() if shutil.which(name) is None}
    if not absent:
        return None
    return (
        f"Tests on {arch} need {', '.join(absent)}, of Debian's {', '.join(absent.values())}: "
        "this computer has not got them"
    )


def requirements() -> list[str]:
    """Return what the tests import, as in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    return project["dependencies"] + [each for extra in EXTRAS for each in extras[extra]]


def make_system(arch: str, folder: Path) -> Path:
    """Unpack Debian's Python for an architecture into a folder; return the root of its files."""
    root, state = folder / "root", folder / "apt"
    if (folder / "root.made").exists():
        return root
    for name in ("lists/partial", "cache/archives/partial"):
        (state / name).mkdir(parents=True, exist_ok=True)
    (state / "status").write_bytes(b"")  # no package is installed
    options = {
        "APT::Architecture": DEBIAN[arch],
        "APT::Architectures": DEBIAN[arch],
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "",
        "Acquire::Languages": "none",
        "Debug::NoLocking": "true",
        "Dir::Cache": state / "cache",
        "Dir::State::Lists": state / "lists",
        "Dir::State::status": state / "status",
    }
    apt = ["apt-get", "-qq", *(word for key in options for word in ("-o", f"{key}={options[key]}"))]
    subprocess.run([*apt, "update"], check=True)
    subprocess.run([*apt, "--yes", "--download-only", "install", *PACKAGES], check=True)
    shutil.rmtree(root, ignore_errors=True)
    for archive in sorted((state / "cache/archives").glob("*.deb")):
        subprocess.run(["dpkg-deb", "--extract", archive, root], check=True)
    if not (root / "lib").exists():  # as in Debian 13 and later, where another package makes it
        (root / "lib").symlink_to("usr/lib")
    # otherwise the emulator finds the folder of this computer's own Python
    (root / f"usr/local/lib/python{version(root)}/dist-packages").mkdir(parents=True)
    (folder / "root.made").touch()
    return root


def version(root: Path) -> str:
    """Return the version of a system's Python, such as 3.11."""
    return (root / "usr/bin/python3").readlink().name.removeprefix("python")


def install(arch: str, folder: Path, python: str) -> Path:
    """Install wheels of the requirements for a version of Python; return their folder."""
    site, stamp, wanted = folder / "site", folder / "site.made", "\n".join(requirements())
    if stamp.exists() and stamp.read_text("utf-8") == wanted:
        return site
    shutil.rmtree(site, ignore_errors=True)
    options = ["--only-binary", ":all:", "--python-version", python, "--target", site]
    for minor in GLIBC:
        options += ["--platform", f"manylinux_2_{minor}_{arch}"]
    pip = [sys.executable, "-m", "pip", "install", "--quiet"]
    pip += ["--disable-pip-version-check", "--no-warn-conflicts"]
    subprocess.run([*pip, *options, *requirements()], check=True)
    stamp.write_text(wanted, "utf-8")
    return site


def write_interpreter(arch: str, folder: Path, root: Path) -> Path:
    """Write the script that runs the other architecture's Python; return its path."""
    script = folder / "python"
    words = [f"qemu-{arch}-static", "-L", root, "-0", script, root / "usr/bin/python3"]
    script.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, words))} "$@"\n', "utf-8")
    script.chmod(0o755)
    return script


def main(words: list[str]) -> int:
    """Run tests among the words, or all, with the other words as options of pytest."""
    arch, *options = words or [""]
    if arch not in DEBIAN:
        print(f"expected an architecture among {', '.join(DEBIAN)}, got {arch!r}", file=sys.stderr)
        return 2
    reason = lacking(arch)
    if reason is not None:
        print(reason, file=sys.stderr)
        return 1
    folder = ROOT / f".{arch}"
    root = make_system(arch, folder)
    site = install(arch, folder, version(root))
    environment = {
        "QEMU_CPU": PROCESSORS[arch],
        **os.environ,
        "NUMBA_CACHE_DIR": str(folder / "numba"),
        "OMP_NUM_THREADS": "1",
        "PYTHONNOUSERSITE": "1",
        "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "src", ROOT, site))),
    }
    if not any(word.startswith("tests/") for word in options):
        options += TESTS
    python = write_interpreter(arch, folder, root)
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout", "6000"]
    return subprocess.run([*command, *options], env=environment, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
