#!/usr/bin/python3
"""Writes tests/golden/identity.h: logistic regression over parties (FedBCD, equation (2)) as one regression on all
columns side by side, in float64.

    /usr/bin/python3 tests/golden/gen_identity.py > tests/golden/identity.h

The order of rows is that of tests/golden/schedule.h.  A round's gradient is taken once, at its start; in Q local steps
each party goes down its own columns with it, since its embeddings are linear in its weights, and under a proximal term
mu also back to where the round began (equation (13)).

SPDX-License-Identifier: Apache-2.0
"""
import os
import re

import numpy as np

SEED, ROWS, TEST_ROWS, BATCH, EPOCHS, PARTIES, COLUMNS = 7, 23, 9, 7, 2, 3, 2
RATE = 0.75
# fusion, outputs (1: sigmoid, 2: softmax), Q, rate divided by the root of the local step, mu
CASES = [("sum", 1, 1, False, 0.0), ("mean", 1, 1, False, 0.0), ("sum", 2, 1, True, 0.0), ("mean", 2, 4, False, 0.0),
         ("sum", 1, 5, True, 0.0), ("sum", 1, 5, False, 0.5), ("mean", 2, 3, True, 0.25)]
rng = np.random.RandomState(20260201)


def single(a):
    return np.asarray(a, np.float32).astype(np.float64)


def orders():
    """One permutation of the rows for each epoch."""
    text = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "schedule.h")).read()
    table = re.findall(r"\{UINT64_C\((\d+)\), UINT64_C\((\d+)\), (\d+), \d+, 1, \w+, (\w+)\}", text)
    found = {}
    for seed, epoch, rows, name in table:
        if (int(seed), int(rows)) == (SEED, ROWS):
            body = re.search(r"%s\[\] = \{([^}]*)\}" % name, text).group(1)
            found[int(epoch)] = [int(v) for v in body.split(",") if v.strip()]
    return [found[e] for e in range(EPOCHS)]


def predict(z):
    if z.shape[1] == 1:
        return 1 / (1 + np.exp(-z))
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def wanted(y, outputs):
    return y[:, None] if outputs == 1 else np.eye(2)[y.astype(int)]


def mean_loss(p, y):
    return -np.mean(np.log(np.where(y > 0.5, p[:, -1], 1 - p[:, -1])))


def run(case, x, y, start):
    fusion, outputs, local, root, mu = case
    w, factor, step = start[:, :outputs].copy(), 1 / PARTIES if fusion == "mean" else 1, 0
    for order in orders():
        for at in range(0, ROWS, BATCH):
            rows = order[at:at + BATCH]
            slope = (predict(factor * x[rows] @ w) - wanted(y[rows], outputs)) / len(rows)
            began = w.copy()
            for _ in range(local):
                step += 1
                rate = RATE / np.sqrt(step) if root else RATE
                w -= rate * (factor * x[rows].T @ slope + mu * (w - began))
    return w, factor


def array(kind, name, values):
    print("static const %s %s[] = {" % (kind, name))
    values = np.ravel(values)
    for i in range(0, len(values), 6):
        print("    " + " ".join("%s," % ("%.9g" % v if "." in "%.9g" % v else "%.1f" % v) + ""
                                for v in values[i:i + 6]))
    print("};")


def main():
    columns = PARTIES * COLUMNS
    x, x_test = single(rng.uniform(-2, 2, (ROWS, columns))), single(rng.uniform(-2, 2, (TEST_ROWS, columns)))
    truth = rng.normal(0, 1, columns)
    y, y_test = (x @ truth > 0.3).astype(float), (x_test @ truth > 0.3).astype(float)
    start = single(rng.uniform(-0.5, 0.5, (columns, 2)))
    print("/* identity.h -- written by tests/golden/gen_identity.py; do not edit.\n *\n"
          " * SPDX-License-Identifier: Apache-2.0\n */")
    print("enum {\n    GOLDEN_SEED = %d,\n    GOLDEN_ROWS = %d,\n    GOLDEN_TEST_ROWS = %d,\n    GOLDEN_BATCH = %d,\n"
          "    GOLDEN_EPOCHS = %d,\n    GOLDEN_PARTIES = %d,\n    GOLDEN_COLUMNS = %d\n};"
          % (SEED, ROWS, TEST_ROWS, BATCH, EPOCHS, PARTIES, COLUMNS))
    print("\n/* Rows of all parties' columns side by side; weights: all columns x 2, of which a run with one output\n"
          " * takes the first of each pair. */")
    array("double", "golden_x", x)
    array("double", "golden_y", y)
    array("double", "golden_test_x", x_test)
    array("double", "golden_test_y", y_test)
    array("double", "golden_start", start)
    rows = []
    for k, case in enumerate(CASES):
        w, factor = run(case, x, y, start)
        loss = mean_loss(predict(factor * x_test @ w), y_test)
        array("double", "end_%d" % k, w)
        rows.append('    {"model.fusion=%s", %d, %d, %s, "protocol.proximal=%g", end_%d, %.9f},'
                    % (case[0], case[1], case[2], "true" if case[3] else "false", case[4], k, loss))
    print("\n/* Q local steps at %g, or at %g over the root of the local step; the weights (all columns x outputs)\n"
          " * and the mean loss over the test rows at the end. */" % (RATE, RATE))
    print('#define GOLDEN_RATE "training.learning_rate=%g"' % RATE)
    print("static const struct golden_identity {\n    const char *fusion;\n    uint32_t outputs, local;\n"
          "    bool root;\n    const char *proximal;\n    const double *end;\n    double loss;\n"
          "} GOLDEN_IDENTITY[] = {")
    print("\n".join(rows) + "\n};")


main()
