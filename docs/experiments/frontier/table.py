#!/usr/bin/env python3
"""Table of this experiment: table.py FOLDER OUT [TWIN].

Reads FOLDER/runs.csv (vfl experiment), and TWIN (twin.py --out) if given; prints the table of docs/reproductions.md
and writes OUT/table.csv, from which frontier.gp draws.  Epsilons are the claims of the daemons for one record at
delta 1e-5, against the server and against the server with one party; the score is that of the test rows under the
mechanism.

SPDX-License-Identifier: Apache-2.0
"""
import csv
import sys
from collections import defaultdict
from statistics import mean, stdev

HEAD = ["case", "point", "runs", "auprc", "auprc_sd", "auprc_min", "record", "epsilon_server", "epsilon_server_1",
        "twin", "twin_sd"]


def only(values):
    """Runs of one point differ by the seed alone, so what they cost is one figure."""
    if len(values) != 1:
        sys.exit(f"one point, several claims: {sorted(values)}")
    return values.pop()


def spread(values):
    return [mean(values), stdev(values) if len(values) > 1 else 0.0]


def twin_of(path):
    found = defaultdict(list)
    with open(path) as f:
        for r in csv.DictReader(f):
            found[r["setting"]].append(float(r["test_mechanism"]))
    return found


def main():
    twin = twin_of(sys.argv[3]) if len(sys.argv) > 3 else {}
    points = defaultdict(list)
    with open(f"{sys.argv[1]}/runs.csv") as f:
        for r in csv.DictReader(f):
            if r["status"] == "completed":
                points[r["case"], r["point"]].append(r)
    table = []
    for (case, point), runs in points.items():
        scores = [float(r["test_auprc"]) for r in runs]
        claim = [only({r[k] for r in runs}) for k in ("record", "epsilon_record", "epsilon_record_1")]
        beside = [f"{v:.4f}" for v in spread(twin[f"{case}-{point}"])] if f"{case}-{point}" in twin else ["", ""]
        score = [f"{v:.4f}" for v in spread(scores) + [min(scores)]]
        table.append([case, point, len(runs), *score, claim[0], *(f"{float(e):.5g}" for e in claim[1:]), *beside])
    table.sort(key=lambda row: (row[0], float(row[7])))
    with open(f"{sys.argv[2]}/table.csv", "w", newline="") as f:
        csv.writer(f, lineterminator="\n").writerows([HEAD] + table)
    print("| setting | epsilon, server | server + 1 | test AUPRC | least of n | numpy |")
    print("|---|---|---|---|---|---|")
    for case, point, n, score, sd, least, record, one, two, other, other_sd in table:
        beside = f"{other} ± {other_sd}" if other else ""
        print(f"| {case} {point} ({record}) | {one} | {two} | {score} ± {sd} | {least} of {n} | {beside} |")


if __name__ == "__main__":
    main()
