#!/usr/bin/python3
"""Writes tests/golden/score.h: predictions and the scores that scikit-learn gives them.

    /usr/bin/python3 tests/golden/gen_score.py > tests/golden/score.h

Probabilities are float32, as the product keeps them, so both sides see the same ties.

SPDX-License-Identifier: Apache-2.0
"""
import numpy as np
from sklearn.metrics import accuracy_score, average_precision_score, f1_score, roc_auc_score

rng = np.random.default_rng(20240607)


def binary(name, target, prob, columns=1):
    """columns 2: the same as a softmax over two outputs."""
    target, prob = np.asarray(target), np.asarray(prob, dtype=np.float32)
    said = (prob > 0.5).astype(int)
    table = prob[:, None] if columns == 1 else np.stack([np.float32(1) - prob, prob], axis=1)
    return (name, table, target, accuracy_score(target, said), roc_auc_score(target, prob),
            average_precision_score(target, prob), f1_score(target, said, zero_division=0))


def multiclass(name, target, prob):
    target, prob = np.asarray(target), np.asarray(prob, dtype=np.float32)
    said = prob.argmax(axis=1)
    classes = prob.shape[1]
    return (name, prob, target, accuracy_score(target, said),
            roc_auc_score(target, prob, multi_class="ovr", average="macro"),
            np.mean([average_precision_score(target == c, prob[:, c]) for c in range(classes)]),
            f1_score(target, said, average="macro", zero_division=0))


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def cases():
    y = rng.integers(0, 2, 40)
    yield binary("random", y, rng.random(40))
    yield binary("informative", y, np.clip(0.5 * y + 0.6 * rng.random(40), 0, 1))
    yield binary("ties", y, rng.integers(0, 5, 40) / 4)
    yield binary("equal", y, np.full(40, 0.3))
    yield binary("perfect", y, 0.25 + 0.5 * y)
    yield binary("inverse", y, 0.75 - 0.5 * y)
    yield binary("two_outputs", y, rng.integers(0, 17, 40) / 16, columns=2)
    yield binary("one_positive", [0] * 6 + [1] + [0] * 5, rng.integers(0, 4, 12) / 3)
    yield binary("one_negative", [1] * 6 + [0] + [1] * 5, rng.integers(0, 4, 12) / 3)
    yield binary("near_zero", y, rng.random(40) * 1e-42)
    yield binary("beyond_one", y, rng.normal(size=40) * 10)
    y = np.arange(60) % 4
    yield multiclass("four_classes", y, softmax(rng.normal(size=(60, 4)) + 2 * np.eye(4)[y]))
    eighths = np.array([rng.multinomial(8, [0.25] * 4) for _ in range(60)]) / 8
    yield multiclass("four_classes_ties", y, eighths)
    y = np.array([0] * 50 + [1] * 8 + [2] * 2)
    yield multiclass("unbalanced", y, softmax(rng.normal(size=(60, 3)) + np.eye(3)[y]))


def number(x):
    text = "%.9g" % x
    return text if "." in text or "e" in text else text + ".0"


def array(kind, name, values):
    print("static const %s %s[] = {" % (kind, name))
    line = "   "
    for v in values:
        if len(line) + len(v) > 96:
            print(line)
            line = "   "
        line += " " + v + ","
    print(line + "\n};")


def main():
    print("/* score.h -- written by tests/golden/gen_score.py with scikit-learn; do not edit.\n *\n"
          " * SPDX-License-Identifier: Apache-2.0\n */")
    rows = []
    for name, prob, target, *scores in cases():
        array("float", name + "_prob", [number(p) + "f" for p in prob.flatten()])
        array("float", name + "_target", ["%d" % t for t in target])
        rows.append('    {"%s", %s_prob, %s_target, %d, %d,\n     %s},'
                    % (name, name, name, len(target), prob.shape[1],
                       ", ".join("%.17g" % s for s in scores)))
    print("\nstatic const struct golden_score {\n    const char *name;\n    const float *prob, *target;\n"
          "    size_t rows;\n    uint32_t classes;\n    double accuracy, auc, auprc, f1;\n"
          "} GOLDEN_SCORE[] = {")
    print("\n".join(rows) + "\n};")


main()
