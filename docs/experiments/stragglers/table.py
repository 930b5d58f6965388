#!/usr/bin/env python3
"""Table and curves of this experiment: table.py FOLDER OUT.

Reads FOLDER/runs.csv (run.sh), prints the table of docs/reproductions.md, and writes OUT/curves.csv, the means over the
seeds from which plot.gp draws.  Seconds are those of training, without what evaluation took.  The end of a run is the
mean of its last four evaluations: one alone, of noisy sums, moves by a percent from one round to the next.

SPDX-License-Identifier: Apache-2.0
"""
import csv
import math
import sys
from collections import defaultdict
from statistics import mean, median, stdev

TARGET = {"default-credit": ("auc", 0.74), "mfeat": ("accuracy", 0.94)}
ARMS = [("wait", "upload"), ("drop", "upload"), ("async", "upload"), ("coded", "share"), ("coded", "upload")]
LAST = 4


def runs_of(path):
    """{(data, arm, before): {seed: [(round, train_s, score)]}}"""
    found = defaultdict(lambda: defaultdict(list))
    with open(path) as f:
        for r in csv.DictReader(f):
            score = float(r[TARGET[r["data"]][0]])
            found[r["data"], r["arm"], r["before"]][r["seed"]].append((int(r["round"]), float(r["train_s"]), score))
    return found


def spread(values):
    return stdev(values) if len(values) > 1 else 0.0


def reached(curve, target):
    """(round, seconds) of the first evaluation at the target; infinite when there is none."""
    return next(((k, s) for k, s, score in curve if score >= target), (math.inf, math.inf))


def end(curve):
    return mean(score for _, _, score in curve[-LAST:])


def shown(value, form):
    return f"{value:{form}}" if math.isfinite(value) else "never"


def print_line(data, arm, before, runs, wait):
    _, target = TARGET[data]
    first = [reached(c, target) for c in runs.values()]
    seconds = median(s for _, s in first)
    waited = median(reached(c, target)[1] for c in wait.values()) if wait else math.nan
    ends = [end(c) for c in runs.values()]
    pairs = [end(runs[k]) - end(wait[k]) for k in runs if wait and k in wait]
    apart = f"{mean(pairs):+.4f} ± {spread(pairs) / math.sqrt(len(pairs)):.4f}" if pairs else ""
    pace = mean(c[-1][1] / c[-1][0] for c in runs.values())
    hit = sum(math.isfinite(s) for _, s in first)
    print(f"| {data} | {arm} | {before} | {1e3 * pace:.1f} | {shown(median(k for k, _ in first), '.0f')} |"
          f" {shown(seconds, '.1f')} ({hit} of {len(first)}) | {shown(waited / seconds, '.1f') if hit else ''} |"
          f" {mean(ends):.4f} ± {spread(ends):.4f} | {apart if arm != 'wait' else ''} |")


def print_table(found):
    print("| data | arm | delayed | ms a round | round of the target | seconds to the target | times sooner than wait |"
          " end ± sd | end - wait's ± se |\n" + "|---" * 9 + "|")
    for data in TARGET:
        for arm, before in ARMS:
            runs = found.get((data, arm, before))
            if runs:
                print_line(data, arm, before, runs, found.get((data, "wait", "upload")))


def write_curves(path, found):
    with open(path, "w") as f:
        f.write("data,arm,before,round,seconds,score,sd\n")
        for data, arm, before in ((d, *a) for d in TARGET for a in ARMS):
            for points in zip(*found.get((data, arm, before), {}).values()):
                scores = [p[2] for p in points]
                f.write(f"{data},{arm},{before},{points[0][0]},{mean(p[1] for p in points):.3f},"
                        f"{mean(scores):.4f},{spread(scores):.4f}\n")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    found = runs_of(f"{sys.argv[1]}/runs.csv")
    print_table(found)
    write_curves(f"{sys.argv[2]}/curves.csv", found)


main()
