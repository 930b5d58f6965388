#!/usr/bin/env python3
"""frontier-gaussian: its data, what was chosen, and its table.

    table.py --rows DISTINCT OUT     the training records of DISTINCT with ids that part them anew
    table.py --select FOLDER OUT     mean score of each candidate in FOLDER/runs.csv to OUT/select.csv, the best first
    table.py FOLDER OUT              FOLDER/runs.csv to the table of docs/reproductions.md and OUT/table.csv

Differences are between runs of one seed, the same records, schedule and first weights; intervals are 95 % by
Student's t.

SPDX-License-Identifier: Apache-2.0
"""
import csv
import hashlib
import math
import sys
from collections import defaultdict
from statistics import mean, stdev

T_975 = {7: 2.365, 11: 2.201, 23: 2.069}  # by degrees of freedom
CHOICE = ["point", "noise", "rate", "runs", "auprc", "auprc_sd", "epsilon"]
HEAD = ["point", "case", "runs", "auprc", "auprc_sd", "auprc_min", "epsilon_server", "epsilon_server_1", "to_gaussian",
        "to_gaussian_half"]


def inner_rows(path, out):
    """`vfl cluster` tests the rows whose id has a digest that begins with a multiple of 5."""
    with open(path) as f, open(out, "w") as g:
        g.write(next(f))
        for line in f:
            name, rest = line.split(",", 1)
            if hashlib.sha256(name.encode()).digest()[0] % 5 != 0:
                g.write(f"{name}v,{rest}")


def completed(folder):
    with open(f"{folder}/runs.csv") as f:
        return [r for r in csv.DictReader(f) if r["status"] == "completed"]


def select(folder, out):
    found = defaultdict(list)
    for r in completed(folder):
        found[r["case"], r["noise"], r["training.learning_rate"]].append(r)
    rows = []
    for (point, noise, rate), runs in found.items():
        scores = [float(r["test_auprc"]) for r in runs]
        claims = {f"{float(r['epsilon_record']):.4g}" for r in runs}
        rows.append([point, noise, rate, len(runs), f"{mean(scores):.4f}", f"{stdev(scores):.4f}", *claims])
    rows.sort(key=lambda r: (float(r[0]), -float(r[4])))
    with open(f"{out}/select.csv", "w", newline="") as f:
        csv.writer(f, lineterminator="\n").writerows([CHOICE] + rows)


def row(point, case, runs, beside):
    scores = {r["seed"]: float(r["test_auprc"]) for r in runs}
    claims = [{r[k] for r in runs} for k in ("epsilon_record", "epsilon_record_1")]
    apart = [scores[s] - beside[s] for s in scores if s in beside] if case != "gaussian" else []
    half = T_975[len(apart) - 1] * stdev(apart) / math.sqrt(len(apart)) if apart else 0
    if any(len(c) != 1 for c in claims):
        sys.exit(f"{case} {point}: one setting, several claims")
    return [point, case, len(runs), f"{mean(scores.values()):.4f}", f"{stdev(scores.values()):.4f}",
            f"{min(scores.values()):.4f}", *(f"{float(c.pop()):.5g}" for c in claims),
            *([f"{mean(apart):+.4f}", f"{half:.4f}"] if apart else ["", ""])]


def table(folder, out):
    found = defaultdict(list)
    for r in completed(folder):
        found[r["point"], r["case"]].append(r)
    beside = {p: {r["seed"]: float(r["test_auprc"]) for r in runs} for (p, c), runs in found.items() if c == "gaussian"}
    rows = [row(p, c, runs, beside.get(p, {})) for (p, c), runs in found.items()]
    rows.sort(key=lambda r: (float(r[0]), r[1]))
    with open(f"{out}/table.csv", "w", newline="") as f:
        csv.writer(f, lineterminator="\n").writerows([HEAD] + rows)
    print("| point | encoding | runs | epsilon, server | server + 1 | test AUPRC | least | less that of gaussian |")
    print("|---|---|---|---|---|---|---|---|")
    for point, case, n, score, sd, least, one, two, apart, half in rows:
        beside = f"{apart} ± {half}" if apart else ""
        print(f"| {point} | {case} | {n} | {one} | {two} | {score} ± {sd} | {least} | {beside} |")


def main():
    if sys.argv[1] == "--rows":
        inner_rows(sys.argv[2], sys.argv[3])
    elif sys.argv[1] == "--select":
        select(sys.argv[2], sys.argv[3])
    else:
        table(sys.argv[1], sys.argv[2])


if __name__ == "__main__":
    main()
