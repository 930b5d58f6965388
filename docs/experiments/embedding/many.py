#!/usr/bin/python3
# many.py -- a table with a category of many levels, and what became of it one-hot and embedded.
#
#   many.py make SHARED FOLDER       FOLDER/many-train.csv, many-test.csv and a schema for each way
#   many.py table RUNS               beside grid.yaml's runs (RUNS/runs.csv, RUNS/runs/ID)
#
# The table is every third row of default-credit, its six monthly states of repayment joined to one text, HISTORY.
# A row is tested when the first byte of SHA-256 of its id, mod 5, is 0.
# SPDX-License-Identifier: Apache-2.0
import csv
import glob
import gzip
import hashlib
import json
import math
import os
import statistics
import struct
import sys

WAYS = {
    "one-hot": "",
    "one-hot-all": ", max_levels: 65536",
    "embedded": ", encode: embedding",
}
T9 = 2.262  # of Student's t with nine degrees of freedom, 97.5 %


def make(shared, folder):
    os.makedirs(folder, exist_ok=True)
    with gzip.open(os.path.join(shared, "default-credit", "default-credit.csv.gz"), "rt", newline="") as f:
        head, *rows = csv.reader(f)
    months = [i for i, name in enumerate(head) if name.startswith("PAY_") and name[4].isdigit()]
    keep = [i for i in range(len(head)) if i not in months]
    at = keep.index(months[0] - 1) + 1
    names = [head[i] for i in keep]
    names.insert(at, "HISTORY")
    out = {"train": [], "test": []}
    for row in rows[::3]:
        cells = [row[i] for i in keep]
        cells.insert(at, "months " + " ".join(row[i] for i in months))
        out["test" if hashlib.sha256(row[0].encode()).digest()[0] % 5 == 0 else "train"].append(cells)
    for which, cells in out.items():
        with open(os.path.join(folder, "many-%s.csv" % which), "w", newline="") as f:
            csv.writer(f, lineterminator="\n").writerows([names] + cells)
    for way, words in WAYS.items():
        with open(os.path.join(folder, way + ".yaml"), "w") as f:
            f.write("statistics: fit\ncolumns:\n  - {name: id, kind: id}\n")
            for name in names[1:-1]:
                kind = "category" + words if name == "HISTORY" else "number, missing: mean"
                f.write("  - {name: %s, kind: %s}\n" % (name, kind))


def weights(run):
    (path,) = glob.glob(os.path.join(run, "party-1", "models", "*", "model.safetensors"))
    with open(path, "rb") as f:
        n = struct.unpack("<Q", f.read(8))[0]
        header = json.loads(f.read(n))
    header.pop("__metadata__")
    return sum(math.prod(t["shape"]) for t in header.values())


def spread(values):
    return T9 * statistics.stdev(values) / math.sqrt(len(values))


def table(folder):
    with open(os.path.join(folder, "runs.csv"), newline="") as f:
        rows = list(csv.DictReader(f))
    assert all(r["status"] == "completed" for r in rows)
    print("| | the category | AUC, points | less one-hot, seed by seed | weights of its bottom | seconds of training |")
    print("|---|---|---|---|---|---|")
    for protocol in ("masked", "clear"):
        of = {w: {r["seed"]: r for r in rows if r["protocol"] == protocol and r["category"] == w} for w in WAYS}
        auc = {w: {seed: 100 * float(r["test_auc"]) for seed, r in of[w].items()} for w in WAYS}
        for way in WAYS:
            assert len(of[way]) == 10
            apart = [auc[way][s] - auc["one-hot"][s] for s in auc[way]]
            less = "" if way == "one-hot" else "%+.2f ± %.2f" % (statistics.mean(apart), spread(apart))
            sizes = {weights(os.path.join(folder, "runs", r["run"])) for r in of[way].values()}
            assert len(sizes) == 1
            print("| %s | %s | %.2f ± %.2f | %s | %d | %.1f |" % (
                protocol, way, statistics.mean(auc[way].values()), spread(auc[way].values()), less, sizes.pop(),
                statistics.median(float(r["train_s"]) for r in of[way].values())))


if __name__ == "__main__":
    {"make": make, "table": table}[sys.argv[1]](*sys.argv[2:])
