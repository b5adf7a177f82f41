"""Write the predictions of every estimator on fixed seeds to a file, to compare two versions.

Run ``python -m benchmarks.same_predictions OUT.npz`` for two checkouts on one computer
(``PYTHONPATH=CHECKOUT/src``), then with ``--compare A.npz B.npz``: it lists each array of which any
bit differs. Kept until 0.1.0 is released.
"""

import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np


def data():
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
    from sklearn.preprocessing import StandardScaler

    def scaled(X):
        return StandardScaler().fit_transform(X)

    rng = np.random.default_rng(7)
    bc = load_breast_cancer(return_X_y=True)
    di = load_diabetes(return_X_y=True)
    ir = load_iris(return_X_y=True)
    small = make_classification(160, 6, n_informative=4, random_state=3)
    Xr = rng.uniform(-2, 2, size=(180, 3))
    yr = np.sin(2 * Xr[:, 0]) + 0.3 * Xr[:, 1] ** 2 + 0.1 * rng.standard_normal(180)
    return {
        "bc": (scaled(bc[0])[:240], bc[1][:240]),
        "iris": (scaled(ir[0])[::2], np.array(["a", "b", "c"])[ir[1][::2]]),
        "small": small,
        "diabetes": (scaled(di[0])[:220], di[1][:220]),
        "wave": (Xr, yr),
        "wave2": (Xr, np.column_stack([yr, np.cos(yr)])),
    }


def cases():
    import pliant as p
    from pliant import kernels as k

    out = []

    def add(name, make, *sets, **fit):
        out.extend((f"{name}|{s}", make, s, fit) for s in sets)

    C = ("bc", "iris", "small")
    R = ("diabetes", "wave")
    for e in ("auto", 1.0, 10.0, 1000.0):
        for ext in ("smooth", "nearest", "reciprocal", "none"):
            for n, c, r in (
                ("DANK", p.DANKClassifier, p.DANKRegressor),
                ("KNPL", p.KNPLClassifier, p.KNPLRegressor),
            ):
                if ext != "smooth" and e in ("auto", 1.0):
                    continue
                add(
                    f"{n}C eta={e} {ext}",
                    lambda c=c, e=e, x=ext: c(eta=e, extension=x),
                    "small",
                    "iris",
                )
                add(f"{n}R eta={e} {ext}", lambda r=r, e=e, x=ext: r(eta=e, extension=x), "wave")
    for n, c in (("DANKC", p.DANKClassifier), ("KNPLC", p.KNPLClassifier)):
        add(n, c, *C)
    for n, c in (("DANKR", p.DANKRegressor), ("KNPLR", p.KNPLRegressor)):
        add(n, c, *R)
    add("DANKC tau", lambda: p.DANKClassifier(tau=0.1, eta_scale=0.1), *C)
    add("DANKR tau", lambda: p.DANKRegressor(tau=0.01, extension="nearest"), *R)
    add("DANKC linear", lambda: p.DANKClassifier(kernel="linear", extension="none"), *C)
    add("DANKC parts", lambda: p.DANKClassifier(partition="kmeans", n_parts=3, random_state=0), *C)
    add(
        "DANKC parts whole",
        lambda: p.DANKClassifier(
            partition="kmeans", n_parts=3, prediction="whole", random_state=0, eta=5.0
        ),
        *C,
    )
    add(
        "DANKR parts refine",
        lambda: p.DANKRegressor(
            partition="kmeans", n_parts=2, refine=True, random_state=0, extension="nearest"
        ),
        *R,
    )
    add(
        "DANKC refine",
        lambda: p.DANKClassifier(partition="kmeans", n_parts=2, refine=True, random_state=1),
        "bc",
        "small",
    )
    add("DANKC cache", lambda: p.DANKClassifier(cache_mb=1e-4), *C)
    add("DANKR cache", lambda: p.DANKRegressor(cache_mb=1e-4, dtype="float64", eta=10.0), *R)
    add("DANKC inf", lambda: p.DANKClassifier(eta=np.inf), *C)
    add("DANKC matern", lambda: p.DANKClassifier(k.Matern(1.5, 0.3), C=5.0), *C)
    add("DANKC laplacian bal", lambda: p.DANKClassifier("laplacian", class_weight="balanced"), *C)
    add("TKLC", lambda: p.TKLClassifier(), *C)
    add("TKLR", lambda: p.TKLRegressor(), *R)
    for s in ("frank-wolfe", "apd", "hybrid", "lowrank"):
        add(f"TKLC {s}", lambda s=s: p.TKLClassifier(solver=s, tol=0.1), "small", "iris")
        add(f"TKLR {s}", lambda s=s: p.TKLRegressor(solver=s, tol=0.1), "wave")
    add("TKLC sub", lambda: p.TKLClassifier(subsample=60, tol=0.5, random_state=0), *C)
    add("TKLR cache", lambda: p.TKLRegressor(cache_mb=0.01, tol=0.5, random_state=0), *R)
    add("GKLC", lambda: p.GKLClassifier(), "small", "iris")
    add("GKLR", lambda: p.GKLRegressor(), "wave")
    add("AKR", lambda: p.AsymmetricKernelRidge(), *R, "wave2")
    add("AKR g", lambda: p.AsymmetricKernelRidge("laplacian", gamma=0.1), *R)
    add("LABR", lambda: p.LABRBFRegressor(random_state=0), *R)
    add("LABR2", lambda: p.LABRBFRegressor(n_members=2, max_iter=20, random_state=5), *R, "wave2")
    add(
        "LABR res",
        lambda: p.LABRBFRegressor(
            5,
            n_members=1,
            max_iter=9,
            objective="interpolation",
            support="residual",
            random_state=1,
        ),
        *R,
    )
    add(
        "LABR adam",
        lambda: p.LABRBFRegressor(
            5,
            n_members=2,
            max_iter=9,
            solver="adam",
            transforms=None,
            dtype="float32",
            random_state=1,
        ),
        *R,
    )
    add(
        "LABR alpha",
        lambda: p.LABRBFRegressor(
            5,
            alpha=0.01,
            shrinkage=0.0,
            validation_fraction=0,
            max_iter=9,
            transforms=None,
            random_state=1,
        ),
        *R,
    )
    add("LABC", lambda: p.LABRBFClassifier(random_state=0), *C)
    add(
        "LABC2",
        lambda: p.LABRBFClassifier(
            5, n_members=1, max_iter=9, profile="laplacian", objective="ridge", random_state=0
        ),
        *C,
    )
    add("LogDet", lambda: p.LogDetLearner(random_state=0), *C)
    add("LogDet pairs", lambda: p.LogDetLearner(max_pairs=50, slack=10.0, random_state=0), *C)
    add("OSK", lambda: p.OrderSpectralLearner(), *C)
    add("OSK scg", lambda: p.OrderSpectralLearner("scg", "improved", 3, 10, drop_null=False), *C)
    add("SCG", lambda: p.SCGLogDetLearner(random_state=0), *C)
    add(
        "SCG eigh",
        lambda: p.SCGLogDetLearner(
            strength=1.0, solver="eigh", graph="complete", scale_strength=False
        ),
        *C,
    )
    add(
        "SCG landmarks",
        lambda: p.SCGLogDetLearner(strength=100.0, n_landmarks=30, random_state=0),
        *C,
    )
    add("SCG linear", lambda: p.SCGLogDetLearner("linear", strength=10.0, beta=3.0), *C)
    add("SCG graph", lambda: p.SCGLogDetLearner("graph", strength=10.0), *C)
    add("LKC", lambda: p.LearnedKernelClassifier(p.SCGLogDetLearner(random_state=0)), *C)
    add("LKC osk", lambda: p.LearnedKernelClassifier(p.OrderSpectralLearner()), *C)
    add(
        "LKC auto",
        lambda: p.LearnedKernelClassifier(p.SCGLogDetLearner(strength="auto", random_state=0)),
        "small",
        "iris",
    )
    add(
        "LKC dank",
        lambda: p.LearnedKernelClassifier(
            p.SCGLogDetLearner("precomputed", strength=10.0),
            p.DANKClassifier("precomputed", extension="none"),
        ),
        "gram:small",
    )
    add("LKR", lambda: p.LearnedKernelRegressor(p.SCGLogDetLearner(strength=10.0)), *R)
    add("KE", lambda: p.KernelEmbedding(random_state=0), *C)
    add("KE scg", lambda: p.KernelEmbedding(p.SCGLogDetLearner(strength=100.0), n_components=2), *C)
    add(
        "DANKC pre",
        lambda: p.DANKClassifier(kernel="precomputed", extension="none"),
        "gram:small",
        "gram:iris",
    )
    add("KNPLC pre", lambda: p.KNPLClassifier(kernel="precomputed", extension="none"), "gram:small")
    add("DANKC weight", lambda: p.DANKClassifier(C=3.0), "small", "iris", weight=True)
    add("KNPLR weight", lambda: p.KNPLRegressor(C=3.0), "wave", weight=True)
    add("TKLC weight", lambda: p.TKLClassifier(tol=0.1), "small", weight=True)
    add(
        "LABR weight",
        lambda: p.LABRBFRegressor(n_members=2, max_iter=10, random_state=0),
        "wave",
        weight=True,
    )
    return out


def values(model, X):
    got = {}
    for name in ("predict", "decision_function", "predict_proba", "transform"):
        if hasattr(model, name):
            got[name] = np.asarray(getattr(model, name)(X))
    kernel = getattr(model, "kernel_", None)
    if callable(kernel) and "Precomputed" not in type(kernel).__name__:
        try:
            got["kernel"] = np.asarray(kernel(X[:20], X[10:40]))
        except Exception as error:
            got["kernel_error"] = np.array(type(error).__name__)
    for name in ("dual_gap_", "eta_", "n_iter_", "objective_", "alpha_", "gamma_"):
        if hasattr(model, name):
            with suppress(TypeError, ValueError):
                got[name] = np.asarray(getattr(model, name), dtype=float)
    return got


def main(path):
    from sklearn.metrics.pairwise import rbf_kernel

    warnings.simplefilter("ignore")
    sets, out = data(), {}
    for label, make, name, options in cases():
        base = name.removeprefix("gram:")
        X, y = sets[base]
        half = np.random.default_rng(11).permutation(len(X))
        train, test = half[: 2 * len(X) // 3], half[2 * len(X) // 3 :]
        A, B = X[train], X[test]
        if name.startswith("gram:"):
            A, B = rbf_kernel(A, A, gamma=0.2), rbf_kernel(B, A, gamma=0.2)
        fit = {}
        if options.get("weight"):
            fit["sample_weight"] = np.random.default_rng(5).uniform(0.5, 2.0, len(A))
        try:
            model = make().fit(A, y[train], **fit)
            got = values(model, B)
            if (
                not fit
                and hasattr(model, "predict")
                and "pre" not in label
                and "LKC" not in label
                and "LKR" not in label
            ):
                from pliant.persistence import load_model, save_model

                with tempfile.TemporaryDirectory() as folder:
                    save_model(model, Path(folder) / "m.pliant")
                    again = load_model(Path(folder) / "m.pliant")
                    again = getattr(again, "model", getattr(again, "estimator", again))
                    assert np.array_equal(again.predict(B), got["predict"]), label
        except Exception as error:
            got = {"error": np.array(f"{type(error).__name__}: {error}")}
            print(label, got["error"], flush=True)
        for key, value in got.items():
            out[f"{label}#{key}"] = value
    np.savez_compressed(path, **out)
    print(len(out), "arrays")


def compare(first, second):
    a, b = np.load(first), np.load(second)
    bad = 0
    for key in sorted({*a.files, *b.files}):
        if key not in a or key not in b:
            print("only in one:", key)
            bad += 1
        elif (
            a[key].shape != b[key].shape
            or a[key].dtype != b[key].dtype
            or a[key].tobytes() != b[key].tobytes()
        ):
            worst = ""
            if a[key].dtype.kind == "f" and a[key].shape == b[key].shape:
                worst = f"largest difference {np.nanmax(np.abs(a[key] - b[key])):.3g}"
            print("differs:", key, a[key].shape, b[key].shape, worst)
            bad += 1
    print(f"{len(a.files)} arrays, {bad} differ")
    return bad > 0


if __name__ == "__main__":
    sys.exit(compare(*sys.argv[2:]) if sys.argv[1] == "--compare" else main(sys.argv[1]))
