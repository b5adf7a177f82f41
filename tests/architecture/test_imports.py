"""Imports run downwards only, and the core needs no optional package."""

import json
import pkgutil
import subprocess
import sys

import pliant

OPTIONAL = ("dask", "matplotlib", "onnx", "pandas", "pyarrow", "torch", "typer")
SOLVERS = ("clarabel", "cvxopt", "cvxpy", "ecos", "mosek", "osqp", "scs")

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(pliant.__path__, "pliant.")
    if not module.name.startswith("pliant.cli.")
)

BLOCKED = """
import importlib, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
for name in {modules!r}:
    importlib.import_module(name)
"""


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)


def test_every_module_can_be_imported_without_the_optional_packages():
    done = python(BLOCKED.format(blocked=OPTIONAL + SOLVERS, modules=["pliant", *MODULES]))
    assert done.returncode == 0, done.stderr


def test_importing_the_core_brings_no_optional_package():
    # scikit-learn itself imports pandas if installed
    watched = {*OPTIONAL, *SOLVERS} - {"pandas", "pyarrow"}
    code = "import json, sys, pliant.methods, pliant.plots; print(json.dumps(list(sys.modules)))"
    done = python(code)
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert "sklearn" in loaded
    assert not watched & loaded


def test_learned_kernels_are_imported_on_demand_and_belong_to_the_public_module():
    code = (
        "import sys; import pliant.kernels as k; assert 'pliant.methods' not in sys.modules\n"
        "from pliant.kernels import HadamardKernel\n"
        "kinds = [v for v in (getattr(k, n) for n in k.__all__) if isinstance(v, type)]\n"
        "print(HadamardKernel in kinds, {kind.__module__ for kind in kinds})"
    )
    done = python(code)
    assert done.stdout.strip() == "True {'pliant.kernels'}", done.stderr
