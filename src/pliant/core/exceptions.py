"""The errors and warnings that belong to pliant alone."""


class NonPSDWarning(UserWarning):
    """A Gram matrix has a clearly negative eigenvalue, so no certificate can be given."""


class FeatureScaleWarning(UserWarning):
    """Features differ so much in scale that the kernel hardly depends on some of them."""


class UniformWeightsWarning(UserWarning):
    """A rule for kernel weights does not prefer any kernel, so all have the same weight."""


class TableError(ValueError):
    """A table cannot be read, or does not have the columns it should have."""


class ModelFileError(ValueError):
    """A model file is damaged, foreign, hostile, or cannot be written."""
