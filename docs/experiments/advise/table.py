#!/usr/bin/python3
"""runs.csv.gz and central.csv as one table: scores by table and epsilon, and what central DP-SGD is ahead by.

    docs/experiments/advise/table.py >docs/experiments/advise/table.csv

SPDX-License-Identifier: Apache-2.0
"""
import collections
import csv
import gzip
import os
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
STUDENT = {4: 3.182, 10: 2.262}  # 0.975 quantiles, by runs
METRICS = {"phishing": "test_auprc", "default-credit": "test_auc", "mfeat": "test_accuracy", "har": "test_accuracy"}


def main():
    ours, claims = collections.defaultdict(list), collections.defaultdict(set)
    with gzip.open(f"{HERE}/runs.csv.gz", "rt") as f:
        for row in csv.DictReader(f):
            if row["status"] != "completed":
                continue
            name, eps = row["case"].removeprefix("even-").rsplit("-", 1)
            ours[row["case"]].append(float(row[METRICS[name]]))
            claims[row["case"]].add(f"{float(row['epsilon_record']):.2f}")
    theirs = collections.defaultdict(list)
    with open(f"{HERE}/central.csv") as f:
        for row in csv.DictReader(f):
            theirs[row["table"], row["epsilon"]].append(float(row["score"]))
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["case", "epsilon_claimed", "metric", "runs", "mean", "sd", "least", "central", "central_ahead",
                  "interval_95"])
    for case, v in ours.items():
        name, eps = case.removeprefix("even-").rsplit("-", 1)
        row = [case, "/".join(sorted(claims[case])), METRICS[name], len(v), f"{statistics.mean(v):.4f}"]
        row += [f"{statistics.stdev(v):.4f}" if len(v) > 1 else "", f"{min(v):.4f}"]
        c = theirs.get((name, eps))
        if c and len(v) > 1:
            ahead = statistics.mean(c) - statistics.mean(v)
            error = (statistics.variance(v) / len(v) + statistics.variance(c) / len(c)) ** 0.5
            # The runs' spread is the larger one by far, so the degrees of freedom are theirs.
            row += [f"{statistics.mean(c):.4f}", f"{ahead:.4f}", f"{STUDENT[len(v)] * error:.4f}"]
        out.writerow(row)


if __name__ == "__main__":
    main()
