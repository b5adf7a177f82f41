"""Build LAB-RBF estimators from parameters of the estimator and of its algorithm."""

from pliant import LABRBFAlgorithm

ALGORITHM = set(LABRBFAlgorithm().get_params())


def build(cls, *args, **options):
    """Build an estimator; options such as ``objective`` are set on its algorithm."""
    own = {name: options.pop(name) for name in ALGORITHM & set(options)}
    return cls(*args, algorithm=LABRBFAlgorithm(**own) if own else "default", **options)
