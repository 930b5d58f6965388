#!/usr/bin/env python3
"""Tables and curves of this experiment: table.py FOLDER OUT.

Reads FOLDER/ours.csv and bytes.csv (run.sh) and every FOLDER/twin*.csv and start*.csv
(tests/golden/model_pbm_vfl.py without and with --start), prints the tables of docs/reproductions.md (bytes: kB for an
epoch, MB to the target), and writes means over the seeds to OUT/curves.csv and OUT/payload.csv, from which plot.gp
draws.

SPDX-License-Identifier: Apache-2.0
"""
import csv
import glob
import math
import sys
from collections import defaultdict

TARGET = 0.9
COLUMNS = ["pbm:8:0.25", "pbm:16:0.2", "pbm:16:0.25", "pbm:32:0.15", "pbm:64:0.1", "pbm:64:0.25", "float32"]
PAPER = dict(zip(COLUMNS, [23, 15, 8, 12, 15, 2, 2]))
PRINTED_GB = dict(zip(COLUMNS, [0.58, 0.39, 0.21, 0.32, 0.40, 0.05, 0.09]))
INITS = ["glorot", "he", "torch"]


def means(paths, column):
    """{(encoding, init): {epoch: (mean over the seeds, seeds)}}"""
    found = defaultdict(lambda: defaultdict(list))
    for path in paths:
        with open(path) as f:
            for r in csv.DictReader(f):
                found[r["encoding"], r["init"]][int(r["epoch"])].append(float(r[column]))
    return {k: {e: (sum(v) / len(v), len(v)) for e, v in c.items()} for k, c in found.items()}


def first(curves, key):
    """First epoch at the target; >E when none of E epochs reached it; a dash when it was not run."""
    curve = curves.get(key)
    if not curve:
        return "–"
    return next((str(e) for e in sorted(curve) if curve[e][0] >= TARGET), f">{max(curve)}")


def shown(encoding):
    kind, *numbers = encoding.split(":")
    return kind if not numbers else f"{numbers[0]}, {numbers[1]}"


def print_epochs(ours, twin, start):
    print("| b, β | b·β² | paper |" + "".join(f" {i}: ours | same start | twin |" for i in INITS))
    print("|---" * (3 + 3 * len(INITS)) + "|")
    for e in COLUMNS:
        b, beta = (float(v) for v in e.split(":")[1:]) if ":" in e else (0, 0)
        line = f"| {shown(e)} | {f'{b * beta**2:.2f}' if b else ''} | {PAPER[e]} |"
        for i in INITS:
            line += "".join(f" {first(c, (e, i))} |" for c in (ours, start, twin))
        print(line)


def print_gaussian(ours, twin, start):
    print("\n| b, β | PBM: ours |" + "".join(f" {k}: ours | same start | twin |" for k in ("equal_rdp", "paper")))
    print("|---" * 8 + "|")
    for e in COLUMNS[:-1]:
        line = f"| {shown(e)} | {first(ours, (e, 'glorot'))} |"
        for k in ("gaussian-equal_rdp", "gaussian-paper"):
            line += "".join(f" {first(c, (k + e[3:], 'glorot'))} |" for c in (ours, start, twin))
        print(line)


def print_bytes(bytes_rows, to_target):
    print("\n| b, β | up, one epoch: payload | frame | TLS | down: payload | frame | TLS |"
          " to 0.9: paper | glorot | he | torch |\n" + "|---" * 11 + "|")
    for e in COLUMNS:
        r = bytes_rows[e, "glorot"]
        line = f"| {shown(e)} |"
        for way in ("up", "down"):
            for level in ("payload", "frame", "tls"):
                line += f" {float(r[f'{level}_{way}']) / float(r['epochs']) / 1e3:.1f} |"
        print(line + f" {paper_mb(e):.1f} |" + "".join(f" {to_target.get((e, i), math.nan):.1f} |" for i in INITS))


def paper_mb(encoding):
    return PRINTED_GB[encoding] * 1000 / 8  # the printed "GB" are gigabits


def write_curves(path, curves):
    with open(path, "w") as f:
        f.write("encoding,init,epoch,ours_train,ours_test,start_train,start_exact,twin_train,twin_exact\n")
        for k in sorted(set().union(*curves)):
            for e in sorted(set().union(*(c.get(k, {}) for c in curves))):
                values = [c.get(k, {}).get(e, (None,))[0] for c in curves]
                f.write(f"{k[0]},{k[1]},{e}," + ",".join("" if v is None else f"{v:.4f}" for v in values) + "\n")


def write_payload(path, to_target):
    with open(path, "w") as f:
        f.write("column,paper_mb,glorot_mb,he_mb,torch_mb\n")
        for e in COLUMNS:
            line = f'"{shown(e)}",{paper_mb(e):.2f}'
            f.write(line + "".join(f",{to_target.get((e, i), math.nan):.2f}" for i in INITS) + "\n")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, out = sys.argv[1:]
    twins = sorted(glob.glob(f"{folder}/twin*.csv"))
    ours, ours_test, payload = (means([f"{folder}/ours.csv"], k)
                                for k in ("train_mechanism", "test_mechanism", "payload_bytes"))
    twin, twin_exact = (means(twins, f"train_{k}") for k in ("mechanism", "exact"))
    starts = sorted(glob.glob(f"{folder}/start*.csv"))
    start, start_exact = (means(starts, f"train_{k}") for k in ("mechanism", "exact"))
    with open(f"{folder}/bytes.csv") as f:
        bytes_rows = {(r["encoding"], r["init"]): r for r in csv.DictReader(f)}
    reached = {k: first(ours, k) for k in ours}
    to_target = {k: payload[k][int(e)][0] / 1e6 for k, e in reached.items() if e.isdigit()}
    print_epochs(ours, twin, start)
    print_gaussian(ours, twin, start)
    print_bytes(bytes_rows, to_target)
    write_curves(f"{out}/curves.csv", [ours, ours_test, start, start_exact, twin, twin_exact])
    write_payload(f"{out}/payload.csv", to_target)


main()
