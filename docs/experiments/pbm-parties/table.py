#!/usr/bin/env python3
"""pbm-parties: table.py RESULTS OUT -- the table of docs/reproductions.md, and OUT/table.csv.

Test AUPRC under the mechanism after 5, 10 and 15 epochs: mean and standard deviation over the seeds, and the difference
to 5 parties, seed by seed, with its 95 % interval by Student's t.

SPDX-License-Identifier: Apache-2.0
"""
import csv
import os
import sys
from collections import defaultdict
from statistics import mean, stdev

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import held  # noqa: E402

HEAD = ["case", "beta", "epoch", "parties", "runs", "auprc", "auprc_sd", "to_5", "to_5_half"]


def main():
    scores = defaultdict(dict)
    _, runs = held.read(sys.argv[1], [])
    for rows in runs:
        for r in rows:
            at = r["case"], r["protocol.pbm.beta"], round(float(r["epoch"])), int(r["cluster.parties"])
            scores[at][r["seed"]] = float(r["test_auprc"])
    out = [HEAD]
    for (case, beta, epoch, parties), found in sorted(scores.items()):
        base = scores.get((case, beta, epoch, 5), {})
        apart = [found[s] - base[s] for s in found if s in base]
        differs = [f"{x:.4f}" for x in held.interval(apart)] if parties != 5 and len(apart) > 1 else ["", ""]
        spread = f"{stdev(found.values()):.4f}" if len(found) > 1 else ""
        out.append([case, beta, epoch, parties, len(found), f"{mean(found.values()):.4f}", spread, *differs])
    for row in out:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    with open(os.path.join(sys.argv[2], "table.csv"), "w", newline="") as f:
        csv.writer(f, lineterminator="\n").writerows(out)


if __name__ == "__main__":
    main()
