#!/usr/bin/env python3
# bound.py -- what a missing party costs gradient-boosted trees that are trained anew without its columns: how much of
# a loss is in the data, whatever the model.  Needs python3-sklearn.
#
#   bound.py FOLDER        FOLDER: phishing.csv and default-credit.csv, or these with .gz
#
# Columns, test rows and points as in grid.yaml and score.py; five seeds, pooled rows, one row for each set.
# SPDX-License-Identifier: Apache-2.0
import gzip
import hashlib
import os
import sys

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score, roc_auc_score

SETS = {
    "phishing": [range(0, 10), range(10, 20), range(20, 30)],
    "default-credit": [range(0, 8), range(8, 16), range(16, 23)],
}


def read(folder, name):
    path = os.path.join(folder, name + ".csv")
    table = np.genfromtxt(path if os.path.exists(path) else gzip.open(path + ".gz"), delimiter=",", skip_header=1)
    test = np.array([hashlib.sha256(str(int(i)).encode()).digest()[0] % 5 == 0 for i in table[:, 0]])
    return table[:, 1:-1], table[:, -1], test


def points(x, y, test, columns, name):
    of = []
    for seed in range(5):
        model = HistGradientBoostingClassifier(
            random_state=seed,
            max_iter=150,
            learning_rate=0.06,
            max_leaf_nodes=15,
            l2_regularization=1.0,
            early_stopping=False,
        )
        p = model.fit(x[~test][:, columns], y[~test]).predict_proba(x[test][:, columns])[:, 1]
        of.append(accuracy_score(y[test], p > 0.5) if name == "phishing" else roc_auc_score(y[test], p))
    return 100 * np.mean(of)


for name, parties in SETS.items():
    x, y, test = read(sys.argv[1], name)
    whole = points(x, y, test, sorted(c for p in parties for c in p), name)
    costs = []
    for away in parties:
        left = sorted(c for p in parties if p is not away for c in p)
        costs.append(whole - points(x, y, test, left, name))
    each = ", ".join(f"{c:.2f}" for c in costs)
    print(f"{name}: all {whole:.2f}; without each party less by {each}; mean {np.mean(costs):.2f}")
