#!/usr/bin/env python3
"""Appends the evaluations of one run of `vfl cluster` to FOLDER/runs.csv: collect.py DIR DATA ARM BEFORE SEED FOLDER.

SPDX-License-Identifier: Apache-2.0
"""
import json
import sys


def main():
    if sys.argv[1:] == ["--header"]:
        print("data,arm,before,seed,epoch,round,train_s,seconds,accuracy,auc")
        return
    run, data, arm, before, seed, folder = sys.argv[1:]
    with open(f"{run}/summary.json") as f:
        total = json.load(f)
    with open(f"{run}/server/metrics.jsonl") as f:
        lines = [json.loads(line) for line in f]
    if total["status"] != "completed" or not lines:
        sys.exit(f"{run}: {total['status']} after {total.get('epochs')} epochs, {len(lines)} lines of metrics")
    rows = [f"{data},{arm},{before},{seed},{e['epoch']:.4f},{e['round']},{e['train_s']:.3f},{e['seconds']:.3f},"
            f"{e['test']['accuracy']:.5f},{e['test']['auc']:.5f}\n" for e in lines]
    with open(f"{folder}/runs.csv", "ab", buffering=0) as f:  # whole or not at all: several runs end at once
        f.write("".join(rows).encode())


main()
