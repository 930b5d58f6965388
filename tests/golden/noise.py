#!/usr/bin/env python3
# noise.py -- are sums of predictions off by the law of pbm's noise?  With numpy and none of our code.
#
#   noise.py HEAD.safetensors SCORES.csv BOTTOM.safetensors COLUMNS.csv [BOTTOM COLUMNS ...]
#
# Of a run with output identity, sum and one value for each row: its score is the sum of the parties' embeddings h_i as
# the server gets it.  Each party's part is C / (beta b) (Z - b / 2), Z binomial of b trials at 1/2 + beta h_i / C, so
# that the sum is off by 0 in the mean, with the variance C^2 / (beta^2 b) sum_i (1/4 - (beta h_i / C)^2) (PBM-VFL).
# Off by so many deviations of its own, a row's square has the mean 1.  Both means are tested at five deviations (two
# in a million runs fail); a beta that is a tenth off must fail.
# SPDX-License-Identifier: Apache-2.0
import csv
import sys

import numpy as np

from predict import forward, prepare, read_package, read_rows


def off(errors, parts, clip, beta, trials):
    variance = clip**2 / (beta**2 * trials) * sum(0.25 - (beta * h / clip) ** 2 for h in parts)
    z = errors / np.sqrt(variance)
    n = len(z)
    return abs(z.mean()) * np.sqrt(n), abs((z**2).mean() - 1) * np.sqrt(n / 2)


def main(head_path, scores_path, *parties):
    about, _ = read_package(head_path)
    plan = dict(line.split("=", 1) for line in about["plan"].splitlines())
    assert plan["protocol.encoding"] == "pbm" and about["output"] == "identity" and about["fusion"] == "sum"
    parts = []
    for bottom_path, table in zip(parties[::2], parties[1::2]):
        bottom, weights = read_package(bottom_path)
        ids, x = read_rows(table, bottom)
        parts.append(forward(bottom, weights, prepare(bottom, x))[:, 0])
    rows = list(csv.reader(open(scores_path)))[1:]
    assert [r[0] for r in rows] == ids, "other rows"
    errors = np.array([float(r[1]) for r in rows]) - sum(parts)
    law = float(about["clip"]), float(plan["protocol.pbm.beta"]), int(plan["protocol.pbm.trials"])
    mean, square = off(errors, parts, *law)
    other = off(errors, parts, law[0], law[1] * 1.1, law[2])[1]
    print("%d rows: mean %.2f deviations off, variance %.2f; by another beta %.2f" % (len(errors), mean, square, other))
    assert mean < 5 and square < 5 < other


main(*sys.argv[1:])
