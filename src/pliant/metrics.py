"""Measures of kernel matrices: alignment, effective rank, and the graph loss of SCG."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.linalg

from pliant.core.eigen import negative_eigenvalue, remedy
from pliant.core.parameters import check_choice
from pliant.core.threads import blas_limited
from pliant.core.typing import Array
from pliant.core.validation import (
    check_gram,
    check_labels,
    check_points,
    check_targets,
    has_fractions,
)
from pliant.methods.supervised.information import GraphKind, SideInformation, gram_of

__all__ = ["effective_rank", "kernel_alignment", "scg_loss"]


def kernel_alignment(
    gram: npt.ArrayLike,
    target: npt.ArrayLike | SideInformation,
    *,
    centered: bool = False,
    task: str | None = None,
) -> float:
    r"""Return the cosine of the angle between two kernel matrices.

    .. math::

        \rho(K, Y) = \frac{\langle K, Y \rangle}{\sqrt{\langle K, K \rangle \langle Y, Y \rangle}}

    (Pan et al., Eq. 1; Cristianini et al. 2002). With `centered`, K and Y are replaced by HKH and
    HYH, H = I - 11'/n. This is the centred alignment of Cortes et al. (2012). It is invariant to
    adding a constant to the kernel, and low for a kernel unrelated to the target, even if the
    classes differ in size.

    Parameters
    ----------
    gram : array-like of shape (n_samples, n_samples)
        Symmetric kernel matrix K.
    target : array-like of shape (n_samples, n_samples) or (n_samples,), or SideInformation
        The matrix Y, or data that define it. For two classes, Y = yy' for y in {-1, +1}. For more
        classes, Y_ij is 1 if samples i and j have the same label, else 0. For real numbers,
        Y = yy'. For side information, Y is its target T, with entries +1, -1 and 0, restricted to
        the points with side information.
    centered : bool, default=False
        Centre both matrices over the compared points.
    task : {"classification", "regression"}, optional
        Whether a target of shape (n_samples,) holds labels or real numbers. Inferred by default:
        regression for finite floats, at least one of which has a fractional part. Integers and
        whole floats are labels.

    Returns
    -------
    float
        The alignment, from -1 to 1.

    Raises
    ------
    ValueError
        If the shapes differ, a matrix is zero, or a matrix is constant and `centered` is True; or
        if `task` is not valid, or is given for a target of another shape.

    References
    ----------
    .. [1] N. Cristianini, J. Shawe-Taylor, A. Elisseeff, J. Kandola. On kernel-target alignment.
       NIPS, 2002.
    .. [2] C. Cortes, M. Mohri, A. Rostamizadeh. Algorithms for Learning Kernels Based on Centered
       Alignment. JMLR 13, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import SideInformation
    >>> from pliant.metrics import kernel_alignment
    >>> known = SideInformation.from_labels([0, 0, 1, 1])
    >>> kernel_alignment(np.eye(4), known)
    0.5
    >>> round(kernel_alignment(np.eye(4), ["a", "a", "b", "b"], centered=True), 6)
    0.57735
    """
    is_vector = not isinstance(target, SideInformation) and np.ndim(target) == 1
    if task is not None:
        check_choice("task", task, ("classification", "regression"))
        if not is_vector:
            raise ValueError(f"expected task=None, as target is no vector, got {task!r}")
    if isinstance(target, SideInformation):
        K, rows = gram_of(gram, target), target.known
        K, Y = K[np.ix_(rows, rows)], target.target()[np.ix_(rows, rows)]
    else:
        K = check_points(gram, "gram")
        Y = _target_gram(target, task) if is_vector else check_points(target, "target")
        if K.shape != Y.shape:
            raise ValueError(f"expected target to have the shape of gram, {K.shape}, got {Y.shape}")
        K = check_gram(K)
    cosine = np.vdot(_normalised("gram", K, centered), _normalised("target", Y, centered))
    return float(np.clip(cosine, -1.0, 1.0))


@blas_limited
def effective_rank(gram: npt.ArrayLike) -> float:
    r"""Return the exponential of the entropy of a kernel matrix's spectrum.

    .. math::

        \exp \left( -\sum_i p_i \log p_i \right), \qquad p_i = \lambda_i / \sum_j \lambda_j

    This is the effective rank of Roy and Vetterli (2007); K's singular values are its eigenvalues.
    It is between 1 and the rank of K, and equals the rank if all nonzero eigenvalues are equal.
    Another definition, the ratio of the trace to the largest eigenvalue, never gives a larger
    value. The cost is O(n^3).

    Parameters
    ----------
    gram : array-like of shape (n_samples, n_samples)
        Symmetric positive semi-definite kernel matrix K.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the matrix is zero, or not square, symmetric, finite and positive semi-definite.

    References
    ----------
    .. [1] O. Roy, M. Vetterli. The effective rank: A measure of effective dimensionality. EUSIPCO,
       2007.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant.metrics import effective_rank
    >>> round(effective_rank(np.diag([1.0, 1.0, 1.0, 0.0])), 6)
    3.0
    """
    values = np.maximum(scipy.linalg.eigvalsh(_psd(gram)), 0.0)
    shares = values / values.sum()
    shares = shares[shares > 0.0]
    return float(np.exp(-(shares @ np.log(shares))))


def _psd(gram: npt.ArrayLike) -> Array:
    """Check that a Gram matrix is positive semi-definite, and divide it by its largest entry."""
    K = check_points(gram, "gram")
    if not K.size:
        raise ValueError(f"expected a Gram matrix of at least one sample, got shape {K.shape}")
    K = check_gram(K)
    negative = negative_eigenvalue(K)
    if negative is not None:
        raise ValueError(
            f"expected a positive semi-definite Gram matrix, got the eigenvalue {negative:.3g}; "
            + remedy(negative)
        )
    return _unit("gram", K)


def _unit(name: str, matrix: Array) -> Array:
    """Divide a matrix by its largest absolute entry, so that squares do not underflow."""
    largest = float(np.abs(matrix).max(initial=0.0))
    if largest == 0.0:
        raise ValueError(f"expected {name} to have a nonzero entry, got only zeros")
    return matrix / largest


def _target_gram(target: npt.ArrayLike, task: str | None) -> Array:
    """Return the matrix Y for n labels or real numbers, shape (n, n)."""
    if task == "regression" or (task is None and has_fractions(np.asarray(target))):
        y = _unit("target", check_targets(target, "target"))
        return np.asarray(np.multiply.outer(y, y))
    classes, codes = np.unique(check_labels(target, "target"), return_inverse=True)
    same = codes[:, None] == codes
    return np.where(same, 1.0, -1.0 if classes.size == 2 else 0.0)


def _normalised(name: str, matrix: Array, centered: bool) -> Array:
    """Centre a matrix if `centered`, and divide it by its Frobenius norm."""
    scaled = _unit(name, matrix)
    if centered:
        scaled -= scaled.mean(axis=0)  # HKH: columns and rows sum to zero
        scaled -= scaled.mean(axis=1, keepdims=True)
        if float(np.abs(scaled).max()) <= 1e-12:  # zero up to rounding errors
            raise ValueError(f"expected {name} to have a nonzero entry after centring")
    return np.asarray(scaled / np.linalg.norm(scaled))


def scg_loss(
    gram: npt.ArrayLike,
    information: SideInformation,
    *,
    beta: float = 1.0,
    graph: GraphKind = "labeled",
) -> float:
    r"""Return the loss of the supervised complete graph, a linear function of the kernel matrix.

    .. math::

        \langle K, S \rangle = \frac{1}{2} \sum_{ij} W_{ij} \left\|
        \frac{\phi(x_i)}{\sqrt{D_{ii}}} - \frac{\phi(x_j)}{\sqrt{D_{jj}}} \right\|^2,
        \qquad W_{ij} = e^{\beta T_{ij}}, \; D_{ii} = \sum_j W_{ij}

    (Pan et al., Eq. 10, which omits the factor 1/2). The cost is O(n^2).

    Parameters
    ----------
    gram : array-like of shape (n_samples, n_samples)
        Symmetric kernel matrix.
    information : SideInformation
        Side information on the same points.
    beta : float, default=1.0
        Exponent of the weights, in (0, 100].
    graph : {"labeled", "complete"}, default="labeled"
        The points of the graph: those with side information, as in `SCGLogDetLearner`, or all
        points, as in the paper and in `OrderSpectralLearner`.

    Examples
    --------
    >>> import numpy as np
    >>> from pliant import SideInformation
    >>> from pliant.metrics import scg_loss
    >>> known = SideInformation.from_labels([0, 0, 1, 1])
    >>> round(scg_loss(np.eye(4), known), 6)
    2.238406
    >>> same_class = known.target() > 0
    >>> round(scg_loss(same_class.astype(float), known), 6)
    0.476812
    """
    K = gram_of(gram, information)
    edges = information.graph(graph, beta)
    # <K, S> = tr(S K), computed in O(a^2) from products with W
    return float(np.trace(edges.laplacian(K[np.ix_(edges.members, edges.members)])))
