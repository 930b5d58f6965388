#!/usr/bin/env python3
"""held.py -- what it took to a target, by settings that were chosen on some seeds and are reported on others.

    held.py TABLE --target auc=0.988 --by label_holders,local_iterations --base local_iterations=1
            [--tune learning_rate] [--figure rounds|bytes] [--choose 1-5] [--report 101-110] [--where case=small]...
            [--csv FILE]

TABLE is results.csv of vfl experiment, or the same packed, as it lies beside a grid.  Runs that agree in --by are one
line.  Of each line the value of --tune that reaches the target in most of the seeds of --choose, and then with the
least mean figure, is chosen; only its runs with the seeds of --report are counted.  A run is at the target at its first
evaluation that shows it.  Rounds are batches: under local_order sequential a batch has as many turns as parties, and
the table counts turns.  Bytes are training payload, both directions.

Without such seeds there is nothing to choose, and what was run is taken.

"times fewer" is against the line that is most like it with the value of --base, seed by seed: the mean of the
logarithms of the ratios and its 95 % interval by Student's t, for seeds that reach the target in both.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import csv
import gzip
import math
import sys
from collections import defaultdict
from statistics import mean, stdev


def student(df, share=0.975):
    """The quantile of Student's t, by halving: the distribution function is integrated by Simpson's rule."""
    scale = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)

    def below(t, steps=2000):
        h = t / steps
        inner = [(1 + (k * h) ** 2 / df) ** (-(df + 1) / 2) * (4 if k % 2 else 2) for k in range(1, steps)]
        return 0.5 + scale * h / 3 * (1 + sum(inner) + (1 + t * t / df) ** (-(df + 1) / 2))

    low, high = 0.0, 700.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < share else (low, middle)
    return (low + high) / 2


def interval(values):
    """Mean and half of its 95 % interval."""
    half = student(len(values) - 1) * stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return mean(values), half


def seeds_of(text):
    found = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def column(head, name):
    """A column by its name or the end of it."""
    at = [h for h in head if h == name or h.endswith("." + name)]
    if len(at) != 1:
        sys.exit(f"held.py: {name}: {'no such column' if not at else 'more than one column'}")
    return at[0]


def read(path, where):
    """The head, and the rows of each run that came to its end."""
    with (gzip.open(path, "rt") if path.endswith(".gz") else open(path)) as f:
        rows = list(csv.DictReader(f))
    if not rows:
        sys.exit(f"held.py: {path}: no rows")
    runs = defaultdict(list)
    wanted = [(column(rows[0], name), set(values.split(","))) for name, values in where]
    for row in rows:
        whole = row["status"] in ("completed", "target", "budget")
        if whole and all(row[name] in values for name, values in wanted):
            runs[row["run"]].append(row)
    return list(rows[0]), list(runs.values())


class Run:
    def __init__(self, rows, metric, target, figure):
        self.seed = int(rows[0]["seed"])
        order = next((v for k, v in rows[0].items() if k.endswith("local_order")), "")
        ids = [k for k in rows[0] if k.endswith("parties")]
        turns = (int(rows[0][ids[0]]) if ids else 2) if order == "sequential" else 1
        there = next((r for r in rows if r["test_" + metric] and float(r["test_" + metric]) >= target), None)
        self.reached = None
        if there:
            payload = int(there["payload_up"]) + int(there["payload_down"])
            self.reached = int(there["round"]) / turns if figure == "rounds" else payload


def choose(settings, seeds):
    """The value of what is tuned, how many of the seeds reach the target with it, and their mean figure."""
    best = None
    for value, runs in settings.items():
        tried = [r for r in runs if r.seed in seeds]
        if not tried:
            continue
        there = [r.reached for r in tried if r.reached is not None]
        rank = (-len(there) / len(tried), mean(there) if there else math.inf, float(value) if value else 0)
        if best is None or rank < best[0]:
            best = rank, value, len(there), len(tried)
    return best


def beside(runs, base):
    """How many times fewer than base, seed by seed: mean, ends of the interval, number of seeds."""
    other = {r.seed: r.reached for r in base}
    pairs = [(other[r.seed], r.reached) for r in runs if r.reached and other.get(r.seed)]
    if not pairs:
        return ["", "", "", 0]
    middle, half = interval([math.log(a / b) for a, b in pairs])
    return [f"{math.exp(middle):.3g}", f"{math.exp(middle - half):.3g}", f"{math.exp(middle + half):.3g}", len(pairs)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("table")
    parser.add_argument("--target", required=True)
    parser.add_argument("--by", required=True)
    parser.add_argument("--tune")
    parser.add_argument("--base", required=True)
    parser.add_argument("--figure", choices=["rounds", "bytes"], default="rounds")
    parser.add_argument("--choose", default="1-5")
    parser.add_argument("--report", default="101-110")
    parser.add_argument("--where", action="append", default=[])
    parser.add_argument("--csv")
    options = parser.parse_args()

    metric, _, value = options.target.partition("=")
    head, tables = read(options.table, [w.partition("=")[::2] for w in options.where])
    by = [column(head, name) for name in options.by.split(",")]
    tune = column(head, options.tune) if options.tune else None
    base_name, _, base_value = options.base.partition("=")
    base_at = by.index(column(head, base_name))

    lines = defaultdict(lambda: defaultdict(list))
    for rows in tables:
        run = Run(rows, metric, float(value), options.figure)
        lines[tuple(rows[0][name] for name in by)][rows[0][tune] if tune else ""].append(run)

    wanted, chosen, report = seeds_of(options.choose), {}, {}
    for line, settings in lines.items():
        chosen[line] = choose(settings, wanted)
        if not chosen[line] and len(settings) == 1:  # it was chosen elsewhere
            chosen[line] = (0, math.nan), *settings, 0, 0
        if chosen[line]:
            report[line] = [r for r in settings[chosen[line][1]] if r.seed in seeds_of(options.report)]

    names = [name.split(".")[-1] for name in by]
    out = [[*names, tune.split(".")[-1] if tune else "", "chose: reached", "chose: mean", "runs", "reached", "mean",
            "sd", "times fewer", "from", "to", "seeds of both"]]
    for line, runs in report.items():
        rank, tuned, there, tried = chosen[line]
        got = [r.reached for r in runs if r.reached is not None]
        like = [other for other in report if other[base_at] == base_value]
        base = max(like, key=lambda other: sum(a == b for a, b in zip(other, line)), default=None)
        shown = [f"{rank[1]:.4g}" if there else "", len(runs), len(got), f"{mean(got):.4g}" if got else "",
                 f"{stdev(got):.3g}" if len(got) > 1 else ""]
        out.append([*line, tuned, f"{there}/{tried}", *shown, *beside(runs, report.get(base, []))])
    for row in out:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    if options.csv:
        with open(options.csv, "w", newline="") as f:
            csv.writer(f, lineterminator="\n").writerows(out)


if __name__ == "__main__":
    main()
