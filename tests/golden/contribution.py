#!/usr/bin/env python3
# contribution.py -- what a job of contributions should have answered, and what each party adds, with numpy and none of
# our code: sets by running the packages without who is left out, Shapley values by going through all orders.
#
#   contribution.py SEED ANSWERS.csv LABELS.csv VALUES.csv HEAD.safetensors BOTTOM.safetensors COLUMNS.csv [...]
#
# Prints how far answers and values are off, at most, in units of 1e-9.  Two classes; all rows in one round; by the
# accuracy.  VALUES.csv is what vfl-contribution writes.
# SPDX-License-Identifier: Apache-2.0
import csv
import hashlib
import itertools
import struct
import subprocess
import sys

import numpy as np
import predict


def numbers(key):
    stream = subprocess.run(["openssl", "enc", "-aes-256-ctr", "-K", key.hex(), "-iv", "00" * 16],
                            input=bytes(1 << 16), stdout=subprocess.PIPE, check=True).stdout
    return iter(struct.unpack("<%dQ" % (1 << 13), stream))


# common/flow/coalitions.h: who gets whose column.
def mixed(seed, party, place, rows):
    text = b"vfl/seed/1" + struct.pack("<QI", seed, party) + b"mixed" + struct.pack("<Q", place)
    stream = numbers(hashlib.sha256(text).digest())
    order = list(range(rows))
    for i in range(rows - 1, 0, -1):
        v = next(v for v in stream if v < 2**64 - 2**64 % (i + 1))
        j = v % (i + 1)
        order[i], order[j] = order[j], order[i]
    return order


def read(path):
    with open(path, newline="") as f:
        return list(csv.reader(f))


def main(seed, answers, labels, values, head, *parties):
    about, tensors = predict.read_package(head)
    bottoms = [predict.read_package(p) for p in parties[::2]]
    tables = [predict.read_rows(t, b[0])[1] for t, b in zip(parties[1::2], bottoms)]
    schemas = [predict.read_schema(b[0]["schema"]) for b in bottoms]
    widths = [[len(predict.features(c, str(c.get("fill", 0)))) for c in s] for s in schemas]
    rows, m = len(tables[0]), len(tables)

    def answer(absent=(), mix=None, place=0):
        parts = []
        for i, ((bottom, weights), x) in enumerate(zip(bottoms, tables)):
            if mix is not None and mix[0] == i:
                first, width = sum(widths[i][: mix[1]]), widths[i][mix[1]]
                x = x.copy()
                x[:, first : first + width] = x[mixed(seed, i, place, rows), first : first + width]
            parts.append(predict.rounded(bottom, predict.forward(bottom, weights, predict.prepare(bottom, x))))
        fused = predict.fuse(about, tensors, parts, absent)
        return predict.scores(about, predict.forward(about, tensors, fused))

    got = read(answers)[1:]
    off, score = 0, {}
    target = {r[0]: float(r[1]) for r in read(labels)[1:]}
    truth = np.array([target[r[1]] for r in got[:rows]])
    for k in range(0, len(got), rows):
        asked = got[k][0]
        assert all(r[0] == asked for r in got[k : k + rows])
        if ":" in asked:
            party, column = asked.split(":")
            key = (int(party[1:]) - 1, int(column) - 1)
            want = answer(mix=key, place=k)
        else:
            key = frozenset(int(p[1:]) - 1 for p in asked.split("+") if p)
            want = answer(absent=key)
        given = np.array([[float(v) for v in r[2:]] for r in got[k : k + rows]])
        off = max(off, np.abs(given - want).max())
        loss = -np.log(np.maximum(given[np.arange(rows), truth.astype(int)], 1e-12)).mean()
        score[key] = {"score": ((given[:, 1] > 0.5) == truth).mean(), "loss": -loss}

    def value(present, measure):
        return score[frozenset(range(m)) - frozenset(present)][measure]

    worst = 0
    for party, column, how, measure, v, _ in read(values)[1:]:
        i, everybody = int(party[1:]) - 1, range(m)
        if how == "mixed":
            want = value(everybody, measure) - score[(i, int(column) - 1)][measure]
        elif how == "leave_one_out":
            want = value(everybody, measure) - value(set(everybody) - {i}, measure)
        else:
            rises = []
            for order in itertools.permutations(everybody):
                before = order[: order.index(i)]
                rises.append(value(before + (i,), measure) - value(before, measure))
            want = sum(rises) / len(rises)
        worst = max(worst, abs(float(v) - want))
    print(int(1e9 * off), int(1e9 * worst))


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
