#!/usr/bin/env python3
"""Tables and curves of this experiment: table.py FOLDER OUT.

Reads FOLDER/runs.csv and FOLDER/ends.csv (run.sh), prints the tables of docs/reproductions.md, and writes
OUT/curves.csv, the means over the seeds from which plot.gp draws.  Seconds are those of training, without what
evaluation and dealing took.  The end of a run is the mean of its last two evaluations.

SPDX-License-Identifier: Apache-2.0
"""
import csv
import math
import sys
from collections import defaultdict
from statistics import mean, median, stdev

TARGET = {"default-credit": ("auc", 0.74), "mfeat": ("accuracy", 0.94), "fashion-mnist": ("accuracy", 0.82),
          "fashion-plain": ("accuracy", 0.82)}
SWEEP_TARGET = {"default-credit": 0.72, "fashion-mnist": 0.8}  # their runs are shorter
ARMS = ["fedvs", "wait", "drop", "async", "gaussian"]
SWEEPS = ["segments", "segments-busy", "privacy"]
LAST = 2


def read(path):
    with open(path) as f:
        return list(csv.DictReader(f))


def runs_of(lines):
    """{(table, data, arm, segments, privacy): {seed: [line]}}"""
    found = defaultdict(lambda: defaultdict(list))
    for r in lines:
        found[r["table"], r["data"], r["arm"], int(r["segments"]), int(r["privacy"])][r["seed"]].append(r)
    return found


def spread(values):
    return stdev(values) if len(values) > 1 else 0.0


def score(line):
    return float(line[TARGET[line["data"]][0]])


def reached(run):
    """(round, seconds) of the first evaluation at the target; infinite when there is none."""
    data = run[0]["data"]
    target = SWEEP_TARGET[data] if run[0]["table"] in SWEEPS else TARGET[data][1]
    return next(((int(e["round"]), float(e["train_s"])) for e in run if score(e) >= target), (math.inf, math.inf))


def end(run, what=None):
    return mean(float(e[what]) if what else score(e) for e in run[-LAST:])


def shown(value, form):
    return f"{value:{form}}" if math.isfinite(value) else "never"


def head(*names):
    print("| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|")


def print_exact(found):
    head("data", "K", "T", "score", "fedvs", "clear", "fedvs - clear, each seed", "mean ± se")
    for (table, data, arm, k, t), fedvs in found.items():
        clear = found.get((table, data, "clear", k, t), {})
        seeds = [s for s in fedvs if s in clear]
        if table != "exact" or arm != "fedvs" or not seeds:
            continue
        for what in ("accuracy", "auc"):
            a, b = ([end(runs[s], what) for s in seeds] for runs in (fedvs, clear))
            d = [x - y for x, y in zip(a, b)]
            print(f"| {data} | {k} | {t} | {what} | {mean(a):.4f} ± {spread(a):.4f} | {mean(b):.4f} ± {spread(b):.4f} |"
                  f" {', '.join(f'{x:+.4f}' for x in d)} | {mean(d):+.4f} ± {spread(d) / math.sqrt(len(d)):.4f} |")
    print()


def print_silent(found, ends):
    """Whether the models are those of the run of the same seed in which every result came."""
    head("data", "K", "T", "seeds", "results missing", "same models as with none missing")
    for key, runs in found.items():
        if key[0] == "silent":
            pairs = [(ends[key + (s,)], ends.get(("exact",) + key[1:] + (s,))) for s in runs]
            same = sum(b is not None and a["models_sha256"] == b["models_sha256"] for a, b in pairs)
            missing = ", ".join(a["missing"] for a, _ in pairs)
            print(f"| {key[1]} | {key[3]} | {key[4]} | {', '.join(runs)} | {missing} | {same} of {len(pairs)} |")
    print()


def pace_of(run):
    return 1e3 * float(run[-1]["train_s"]) / int(run[-1]["round"])


def line_of(key, runs, ends):
    """The cells of one line, and the seconds to the target."""
    first = [reached(r) for r in runs.values()]
    seconds = median(s for _, s in first)
    hit = sum(math.isfinite(s) for _, s in first)
    scores = [end(r) for r in runs.values()]
    dealt = median(float(ends[key + (s,)]["setup_s"]) for s in runs)
    return (f"{mean(pace_of(r) for r in runs.values()):.1f} | {shown(median(k for k, _ in first), '.0f')} |"
            f" {shown(seconds, '.1f')} ({hit} of {len(first)}) | {mean(scores):.4f} ± {spread(scores):.4f} |"
            f" {dealt:.1f}"), seconds


def print_race(found, ends):
    head("data", "arm", "ms a round", "round of the target", "seconds to the target", "end ± sd",
         "seconds before the first round", "times sooner than wait", "epsilon")
    for data in TARGET:
        keys = [k for arm in ARMS for k in found if k[:3] == ("race", data, arm)]
        lines = {k[2]: (k, *line_of(k, found[k], ends)) for k in keys}
        waited = lines["wait"][2] if "wait" in lines else math.nan
        for arm, (key, cells, seconds) in lines.items():
            epsilon = {ends[key + (s,)]["epsilon"] for s in found[key]} - {""}
            sooner = f"{waited / seconds:.1f}" if math.isfinite(waited) and math.isfinite(seconds) else ""
            print(f"| {data} | {arm} | {cells} | {sooner} | {', '.join(sorted(epsilon))} |")
    print()


def print_sweep(found, ends, table):
    keys = sorted(k for k in found if k[0] == table)
    if not keys:
        return
    head(table, "data", "K", "T", "results needed", "ms a round", "round of the target", "seconds to the target",
         "end ± sd", "seconds before the first round")
    for key in keys:
        _, data, _, k, t = key
        print(f"| | {data} | {k} | {t} | {2 * (k + t - 1) + 1} | {line_of(key, found[key], ends)[0]} |")
    print()


def write_curves(path, found):
    with open(path, "w") as f:
        f.write("table,data,arm,segments,privacy,round,seconds,score,sd\n")
        for key, runs in found.items():
            for points in zip(*runs.values()):
                scores = [score(p) for p in points]
                f.write(f"{','.join(str(k) for k in key)},{points[0]['round']},"
                        f"{mean(float(p['train_s']) for p in points):.3f},{mean(scores):.4f},{spread(scores):.4f}\n")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    found = runs_of(read(f"{sys.argv[1]}/runs.csv"))
    ends = {(r["table"], r["data"], r["arm"], int(r["segments"]), int(r["privacy"]), r["seed"]): r
            for r in read(f"{sys.argv[1]}/ends.csv")}
    print_exact(found)
    print_silent(found, ends)
    print_race(found, ends)
    for table in SWEEPS:
        print_sweep(found, ends, table)
    write_curves(f"{sys.argv[2]}/curves.csv", found)


main()
