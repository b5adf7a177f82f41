"""Constants of LAB-RBF: starting values, penalties, row limits, probes and the error model.

docs/methods/lab_rbf.rst and papers/results/lab-rbf-defaults.md report results with these values.
Limits that only guard against rounding are defined where they are used.
"""

import math

import numpy as np

# Starting values
MAX_SUPPORT = 200  # Support points with learned bandwidths by default,
FEW_SUPPORT = 120  # and in regression with one output and fewer than MANY_ROWS rows.
FEW_CENTRES = 150  # With fewer support points, the ridge penalty is lower.
MANY_ROWS = 4000  # With at least this many rows, members add centres and never use "evidence".
# Candidates for the sum of theta^2 over the features; a larger theta is a narrower kernel.
INITIAL_SQUARES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
ROWS_PER_CENTRE = 5  # With MANY_ROWS, members grow to one centre per five rows,
DENSE_ROWS_PER_CENTRE = 25  # or per 25 in regression, where dense members have all rows,
MAX_CENTRES = 1000  # to at most this number of centres,
GROWTH_COST = 5e10  # and in regression to at most this product of rows and squared centres.
LEADERS = 4  # Members that learn shared bandwidths from initial values; others follow them.
MANY_MEMBERS = 10  # Members by default,
FEW_MEMBERS = 4  # and with more than MEMBER_ROWS rows, where a member takes longer.
MEMBER_ROWS = 1000
SMALL_MEMBERS = 15  # Members in regression up to SMALL_ROWS rows, where seeds differ most.
SMALL_ROWS = 400
CHOOSING_MEMBERS = 5  # Members whose held-out rows choose what all members share.
MANY_CLASSES = 64  # With more classes, FEW_CHOOSING_MEMBERS choose, and other FEW_* numbers apply.
FEW_CHOOSING_MEMBERS = 2
SHARED_LOSS = 1.5  # Members with this multiple of the lowest loss try the best first stage.
TOLERANCE = 1e-4  # Smaller relative decreases do not improve the held-out loss,
SINGLE_TOLERANCE = 5e-4  # and with one output.
LOG_SQUARE_RANGE = math.log(1e-6), math.log(1e4)  # Bounds on log theta^2 for features on [-1, 1].

# Penalties, for features and targets on [-1, 1]
ALPHAS = 10.0 ** np.arange(-4, 4)  # Ridge penalties on the coefficients.
SHRINKAGES = (1e-1, 1e-3)  # Shrinkage penalties on the bandwidths, one per stage,
FEW_SHRINKAGES = (1e-3,)  # and with up to MEMBER_ROWS rows, where the first stage rarely pays.
LOGISTIC_ALPHAS = 10.0 ** np.arange(2, -5, -1)  # Penalties on logistic coefficients.
SINGLE_ALPHA = 1e-2  # Penalty on logistic coefficients if each class has one row: none is held out.
JITTER = 1e-9  # Fraction of the mean diagonal of F'F added to lam for the Cholesky factorization.

# Maximum numbers of rows
BANDWIDTH_ROWS = 3000  # Training rows for the bandwidths,
COEFFICIENT_ROWS = 200_000  # for the coefficients,
LOGISTIC_ROWS = 20_000  # and for those of logistic regressions.
CLASS_ROWS = 20  # Minimum number of rows of each class for these, if there are as many.
SCREENING_ROWS = 1000  # Rows for the importances of the features, and for probes.
HELD_OUT_ROWS = 10_000  # Held-out rows per member.
SLOPE_ROWS = 1000  # Rows over which slopes are averaged.
DENSE_SLOPE_ROWS = 200  # The same for dense members.
ERROR_ROWS = 1000  # Held-out rows per member for the error model.
# Rows sampled from a Dask collection; in memory, four members use 52 000 rows of a million.
SAMPLE_ROWS = 50_000

# Scales of features and target. Probes are small expansions that compare scales on held-out rows.
PROBES = 5
PROBE_STEPS = 9  # Maximum number of steps of a stage; the first stage takes 2/3.
SCALE_TOLERANCE = 1.1  # All feature scales within this factor of the lowest loss are used.
MIN_HALF_RANGE = 1e-97  # Features with at most this half-range are treated as constant.
WARP_BOUND = 1.5  # Bound on transformed features, to keep them comparable with [-1, 1].
MIN_SKEWNESS = 1.0  # Minimum absolute skewness of a feature to try other scales.
MIN_TARGET_SKEWNESS = 0.9  # Minimum absolute skewness of a target to try asinh(y / u).
MAX_ASINH_LOSS = 0.95  # Maximum loss with asinh(y / u), relative to the loss without it.

# Error model of the averaged members
MIN_PAIRS = 10  # Minimum number of pairs of held-out predictions to compare members.
MIN_COMMON_SHARE = 0.3  # Lower bound on C / E, the common share of the members' squared errors.
MIN_NOISE_SHARE = 0.25  # Lower bound on the share of constant noise in the squared errors.
OPTIMISM = 10.0  # Errors grow by OPTIMISM / n: penalties are selected on the same held-out rows.
MAX_RATIO = 10.0  # Upper bound on `ratio`, which is unstable with few rows.

LOCAL_SHARE = 0.6  # Share of a time limit for the local members; the rest is for dense ones.

# Dense members: every row is a centre
DENSE_CENTRES = 4000  # Maximum number of centres of several dense members in total.
FEW_DENSE_CENTRES = 2000
DENSE_CLASS_CENTRES = 2000  # Maximum number of centres for classification.
DENSE_LOGISTIC = 10.0 ** np.arange(1, -6, -1)  # Penalties on logistic coefficients.
DENSE_LOGISTIC_CENTRES = 1000  # Centres for the choice of the penalty.
DENSE_ROWS = 20_000  # Maximum number of rows to which a dense member is fitted.
DENSE_GAIN = 2e-3  # Minimum relative decrease of the loss by a step of the grid.
DENSE_DIRECT = 4000  # With more rows, conjugate gradients replace a Cholesky factorization,
DENSE_FACTORED = 6000  # and up to this number where they do not converge.
DENSE_NEAR = 2.0  # Relative difference of a loss from the lowest, times sqrt(rows), to be used too.
DENSE_HOPELESS = 2.0  # A metric or profile with this multiple of the lowest loss is not descended.
DENSE_BLOCK = 1000  # Rows of a block of the kernel matrix.
DENSE_RANK = 1000  # Rank of the preconditioner.
DENSE_JITTER = 1e-6  # Added to the kernel matrix of the preconditioner's rows.
DENSE_RESIDUAL = 1e-2  # Relative residual at which conjugate gradients end, or less, see
DENSE_RESIDUAL_SHARE = 0.3  # `DenseGram.solve`; a residual above the second limit is not accepted.
DENSE_STEPS = 100  # Maximum number of steps,
DENSE_DIVERGED = 1e4  # which end at this relative residual: rounding errors of K grow without end.
DENSE_MAX_RESIDUAL = 0.2  # With a larger residual, the penalty grows.
DENSE_LEAST_ALPHA = 1e-3  # Minimum penalty in float32, with more than DENSE_DIRECT rows.
DENSE_TRIAL_ROWS = 500  # Training rows for the choice of the hyperparameters in regression,
DENSE_CLASS_TRIAL_ROWS = 700  # in classification,
DENSE_DESCENT_ROWS = 1500  # and for its last steps, on held-out rows of one member.
MIN_DENSE_ROWS = 10  # Minimum number of held-out rows, of all members together.
GRADIENT_ROWS = 600  # Rows over which outer products of gradients are averaged.
FEW_GRADIENT_ROWS = 120
DENSE_LINEAR = 0.1  # Weight of the linear kernel, divided by the number of features.
DENSE_FACTORS = 1 / 16, 4.0  # Limits on the factor of the metric, in steps of 4.
DENSE_ALPHAS = 1e-5, 1e2  # Limits on the penalty, in steps of 10.
DENSE_WEIGHT = 0.4  # Mean of the normal prior for the weight of the dense members,
DENSE_WEIGHT_SPREAD = 0.2  # and its standard deviation.
MAX_DENSE_WEIGHT = 0.95  # Local members always contribute: their spread scales the intervals.

MIN_THREADED = 200_000  # Minimum number of kernel values for which threads save time.
TINY = float(np.finfo(np.float64).tiny)
