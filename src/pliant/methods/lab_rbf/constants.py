"""Constants of LAB-RBF: starts, penalties, numbers of rows, probes and means over members.

papers/results/lab-rbf-defaults.md measures the default settings with them. Bounds that only
floating point needs stand where they are used.
"""

import math

import numpy as np

# Starts: number of support points and first bandwidths.
FEW = 150  # Fewer support points than this need less ridge and shrinkage penalty.
LARGE = 4000  # From this number of rows, members have 400 support points and no evidence.
FIRST_SQUARES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # theta^2 d to start from; large: narrow.
LOWEST, HIGHEST = math.log(1e-6), math.log(1e4)  # Bounds on log theta^2, for features on [-1, 1].

# Penalties, for features and targets on [-1, 1].
ALPHAS = np.array([1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0])  # Ridge penalties, chosen on held-out rows.
SHRINKAGES = (1e-1, 1e-2, 1e-3, 1e-4)  # Shrinkage of bandwidths, one for each stage.
LOGISTIC_ALPHAS = np.array([100.0, 10.0, 1.0, 0.1, 0.01])  # The same for logistic coefficients.
JITTER = 1e-9  # Added to lam, times the mean diagonal of F'F: its Cholesky factor must exist.

# Maximum numbers of rows.
BANDWIDTH_ROWS = 3000  # Rows that bandwidths are learned from; coefficients take all.
HELD_OUT_ROWS = 10_000  # Rows that a member holds out.
SLOPE_ROWS = 1000  # Rows that slopes are averaged over.
ERROR_ROWS = 1000  # Held-out rows of each member that the error model is learned from.
# Sample of a Dask collection, held-out rows included: of a million rows in memory, four members
# see 52 000 different ones.
SAMPLED = 50_000

# Scales of features and target. Probes are small expansions that compare them on held-out rows.
PROBES, PROBE_ROWS = 3, 1000
COMPARABLE = 1.1  # Scales of features within this factor of the lowest loss are all used.
SMALLEST = 1e-97  # A feature whose half range is at most this counts as constant.
BEYOND = 1.5  # Bound on features on another scale: distant points stay comparable.
SKEWED = 1.0  # Absolute skewness of a feature above which it is tried on other scales.
SKEWED_TARGET = 0.9  # Skewness of a positive target above which its logarithm is tried,
LEAST_ROWS = 1000  # with at least this many rows, so that held-out losses are reliable,
GAIN = 0.95  # and learned if it lowers the loss in the units of y to below this share.

# Errors of the mean of the members.
FEWEST_PAIRS = 10  # Number of rows held out by two members that their agreement needs.
LEAST_SHARED = 0.3  # Lower bound on C / E, the common share of the members' squared errors.
LEAST_NOISE = 0.25  # Lower bound on the share of squared errors beside the members' spread.
LARGEST_RATIO = 10.0  # Upper bound on the ratio of spreads, which few rows determine badly.

WORTH_THREADS = 200_000  # From this number of kernel values of one matrix, threads save time.
TINY = float(np.finfo(np.float64).tiny)
