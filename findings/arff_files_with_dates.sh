#!/usr/bin/env bash
# liac-arff 2.5.0: a file with an attribute of the type date, which the format defines, is
# refused.
#
# Guess before the run: Dates are returned as texts.
# Seen: BadAttributeType, 'Bad @ATTRIBUTE type, at line 2'; scipy 1.17.1 reads the same file, as
#   datetime64.
# Why it matters: Tables with dates need the other reader, or a text attribute.
# It fails if the behaviour changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check liac-arff==2.5.0 scipy==1.17.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import io

import arff
import numpy as np
from scipy.io.arff import loadarff

text = '''@relation r
@attribute day date "yyyy-MM-dd"
@attribute x numeric
@data
2024-01-02,1
'''
try:
    arff.loads(text)
except arff.BadAttributeType as error:
    print(type(error).__name__, error)
else:
    raise AssertionError("the date was read")
rows, _ = loadarff(io.StringIO(text))
print(rows)
assert rows["day"][0] == np.datetime64("2024-01-02")
PYTHON
echo "arff_files_with_dates: as described"
