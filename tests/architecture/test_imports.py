"""Imports run downwards only, and the core needs no optional package."""

import json
import pkgutil
import subprocess
import sys

import numpy as np

import pliant

OPTIONAL = ("dask", "matplotlib", "onnx", "pandas", "pyarrow", "torch", "typer")
PUBLIC = ("datasets", "exceptions", "kernels", "metrics", "plots", "tables")
SOLVERS = ("clarabel", "cvxopt", "cvxpy", "ecos", "mosek", "osqp", "scs")

LATER = ("cluster", "ensemble", "linear_model", "model_selection", "neighbors", "svm", "tree")
"""Parts of scikit-learn that only some fits use, imported there."""

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(pliant.__path__, "pliant.")
    if not module.name.startswith("pliant.tables.cli.")
)

BLOCKED = """
import importlib, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocker())
import pliant
print([name for name in ("numpy", "pliant.core") if name in sys.modules])
print([getattr(pliant, name).__name__ for name in {public!r}])
for name in {modules!r}:
    importlib.import_module(name)
"""


def python(code, *words):
    command = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_every_module_can_be_imported_on_demand_and_without_the_optional_packages():
    done = python(BLOCKED.format(blocked=OPTIONAL + SOLVERS, public=PUBLIC, modules=MODULES))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[]", str([f"pliant.{name}" for name in PUBLIC])]


def test_an_import_and_a_loaded_model_bring_what_they_need_and_nothing_else(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = pliant.LABRBFRegressor(5, n_members=1, max_iter=2).fit(X, X[:, 0])
    pliant.save(model, tmp_path / "model.pliant")
    code = (
        "import json, sys; import pliant.kernels as k\n"
        "without = 'pliant.methods' not in sys.modules\n"
        "import pliant.methods as m\n"
        f"later = [n for n in {LATER} if 'sklearn.' + n in sys.modules]\n"
        "import pliant.plots\n"
        "kinds = [getattr(place, n) for place in (k, m) for n in place.__all__]\n"
        "homes = sorted({kind.__module__ for kind in kinds if isinstance(kind, type)})\n"
        "import pliant; pliant.load(sys.argv[1])\n"
        "print(json.dumps([without, later, homes, list(sys.modules)]))"
    )
    done = python(code, tmp_path / "model.pliant")
    assert done.returncode == 0, done.stderr
    *found, modules = json.loads(done.stdout)
    # kernels import no method, methods nothing for few fits, each class has a public module
    assert found == [True, [], ["pliant", "pliant.kernels", "pliant.methods"]]
    loaded = {name.partition(".")[0] for name in modules}
    assert "sklearn" in loaded
    # scikit-learn itself imports pandas if installed
    assert not ({*OPTIONAL, *SOLVERS, "pytest"} - {"pandas", "pyarrow"}) & loaded
