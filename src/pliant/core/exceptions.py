"""The errors and warnings that belong to pliant alone; their public path is ``pliant``."""


class NonPSDWarning(UserWarning):
    """A Gram matrix has a clearly negative eigenvalue, so no certificate can be given."""

    __module__ = "pliant"


class FeatureScaleWarning(UserWarning):
    """Features differ so much in scale that the kernel hardly depends on some of them."""

    __module__ = "pliant"


class UniformWeightsWarning(UserWarning):
    """A rule for kernel weights does not prefer any kernel, so all have the same weight."""

    __module__ = "pliant"


class TableError(ValueError):
    """A table cannot be read, or does not have the columns it should have."""

    __module__ = "pliant"


class ModelFileError(ValueError):
    """A model file is damaged, foreign, hostile, or cannot be written."""

    __module__ = "pliant"
