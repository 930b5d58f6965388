#!/usr/bin/env python3
# score.py -- what missing parties cost: test rows scored by the packages that runs of the grid have left, with numpy.
#
#   score.py RUNS FOLDER OUT.csv     RUNS: the experiment's folder, with runs.csv and runs/ID; FOLDER: its data
#   score.py --table OUT.csv RUNS.csv    means over the seeds, and half of their 95 % intervals (Student's)
#
# One row for each run and each number of missing parties, the mean over which ones they are:
#
#   ignored   zeros in their place: what the head has seen of a party that says nothing
#   mean      the mean of their training embeddings, which under masks nobody but they could tell the server
#   stand_in  what the head has learned for them (training.party_dropout); empty without
#
# in points: 100 times the accuracy, or the AUC on default-credit, whose classes are uneven.
# SPDX-License-Identifier: Apache-2.0
import csv
import functools
import gzip
import hashlib
import itertools
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tests/golden"))
import predict


def auc(score, label):
    order = np.argsort(score, kind="stable")
    rank = np.empty(len(score))
    rank[order] = np.arange(1, len(score) + 1)
    for value in np.unique(score):  # ties share their mean rank
        same = score == value
        if same.sum() > 1:
            rank[same] = rank[same].mean()
    n = label.sum()
    return (rank[label == 1].sum() - n * (n + 1) / 2) / (n * (len(label) - n))


def points(case, prob, label):
    if case == "default-credit":
        return 100 * auc(prob[:, 1], label)
    return 100 * (prob.argmax(axis=1) == label).mean()


def package(folder):
    models = os.path.join(folder, "models")
    run = [r for r in os.listdir(models) if r != "served"]
    assert len(run) == 1, folder
    return predict.read_package(os.path.join(models, run[0], "model.safetensors"))


@functools.cache
def table(folder, case):
    path = os.path.join(folder, case + ".csv")
    with open(path, newline="") if os.path.exists(path) else gzip.open(path + ".gz", "rt") as f:
        rows = list(csv.reader(f))
    test = [hashlib.sha256(r[0].encode()).digest()[0] % 5 == 0 for r in rows[1:]]  # as vfl cluster splits
    return {name: i for i, name in enumerate(rows[0])}, rows[1:], np.array(test)


# A party's features, of all rows: every run of a case has the same.
@functools.cache
def inputs(folder, case, schema):
    at, rows, _ = table(folder, case)
    columns = predict.read_schema(schema)
    x = [sum((predict.features(c, r[at[c["name"]]]) for c in columns), []) for r in rows]
    return np.array(x, dtype=np.float32).astype(np.float64)


class Run:
    def __init__(self, folder, data, case):
        self.head = package(os.path.join(folder, "server"))
        self.n = int(self.head[0]["parties"])
        self.case, self.test, self.mean = case, [], []
        at, rows, test = table(data, case)
        for i in range(1, self.n + 1):
            about, weights = package(os.path.join(folder, "party-%d" % i))
            h = predict.forward(about, weights, predict.prepare(about, inputs(data, case, about["schema"])))
            self.test.append(h[test])
            self.mean.append(h[~test].mean(axis=0))
        self.label = np.array([int(r[at["label"]]) for r in rows])[test]

    def score(self, absent, how):
        about, tensors = self.head
        parts = list(self.test)
        if how == "mean":
            for i in absent:
                parts[i] = np.broadcast_to(self.mean[i], parts[i].shape)
            absent = ()
        if how == "ignored":
            tensors = {k: v for k, v in tensors.items() if k != "stand_in"}
        fused = predict.fuse(about, tensors, parts, absent)
        return points(self.case, predict.scores(about, predict.forward(about, tensors, fused)), self.label)


def main(folder, data, out_path):
    with open(os.path.join(folder, "runs.csv"), newline="") as f:
        runs = [r for r in csv.DictReader(f) if r["status"] == "completed" and "retrained" not in r["case"]]
    with open(out_path, "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["case", "party_dropout", "seed", "missing", "ignored", "mean", "stand_in"])
        for r in runs:
            run = Run(os.path.join(folder, "runs", r["run"]), data, r["case"])
            for k in range(run.n):
                sets = list(itertools.combinations(range(run.n), k))
                row = [r["case"], r["training.party_dropout"], r["seed"], k]
                for how in "ignored", "mean", "stand_in":
                    got = [run.score(s, how) for s in sets]
                    known = how != "stand_in" or "stand_in" in run.head[1]
                    row.append("%.4f" % np.mean(got) if known else "")
                out.writerow(row)


STUDENT = [0, 0, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26]  # by the number of seeds


def shown(by_seed):
    x = np.array([np.mean(v) for v in by_seed.values()])
    return "%.2f ± %.2f" % (x.mean(), STUDENT[len(x)] * x.std(ddof=1) / len(x) ** 0.5) if len(x) > 1 else "-"


def read(path):
    with gzip.open(path, "rt") if path.endswith(".gz") else open(path, newline="") as f:
        return list(csv.DictReader(f))


COSTS = (
    ("all there, dropout", 0, "stand_in with"),
    ("one ignored", 1, "ignored without"),
    ("one mean-filled", 1, "mean without"),
    ("one, dropout, stand-in", 1, "stand_in with"),
    ("one, retrained", 1, "retrained"),
)


def tables(scores_path, runs_path):
    got = {}  # case, missing, what -> seed -> points
    for r in read(scores_path):
        for how in "ignored", "mean", "stand_in":
            if r[how]:
                name = how + (" with" if float(r["party_dropout"]) else " without")
                got.setdefault((r["case"], int(r["missing"]), name), {})[r["seed"]] = [float(r[how])]
    for r in read(runs_path):
        case = r["case"].replace("-retrained", "")
        if case != r["case"] and r["status"] == "completed":
            value = 100 * float(r["test_auc" if case == "default-credit" else "test_accuracy"])
            got.setdefault((case, 1, "retrained"), {}).setdefault(r["seed"], []).append(value)
    columns = ["ignored without", "mean without", "ignored with", "mean with", "stand_in with", "retrained"]
    print("| data | missing | " + " | ".join(columns) + " |")
    for case, k in sorted({key[:2] for key in got}):
        print("| %s | %d | %s |" % (case, k, " | ".join(shown(got.get((case, k, c), {})) for c in columns)))
    for case in sorted({key[0] for key in got}):
        whole = got[case, 0, "ignored without"]
        print(case, "costs, in points below all there without dropout:")
        for what, k, name in COSTS:
            cost = {s: np.mean(whole[s]) - np.mean(v) for s, v in got.get((case, k, name), {}).items()}
            print("  %-22s %s" % (what, shown(cost)))


if sys.argv[1] == "--table":
    tables(*sys.argv[2:])
else:
    main(*sys.argv[1:])
