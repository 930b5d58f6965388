#!/usr/bin/env python3
"""Appends one run of `vfl cluster` to the tables of this experiment: collect.py DIR ENCODING INIT SEED FOLDER.

SPDX-License-Identifier: Apache-2.0
"""
import json
import sys

LEVELS = [f"{level}_{way}" for level in ("payload", "frame", "tls", "formula") for way in ("up", "down")]


def main():
    if sys.argv[1:] == ["--bytes-header"]:
        print("encoding,init,seed,epochs,rounds," + ",".join(LEVELS) + ",train_s,head_sha256")
        return
    run, encoding, init, seed, folder = sys.argv[1:]
    with open(f"{run}/summary.json") as f:
        total = json.load(f)
    with open(f"{run}/server/metrics.jsonl") as f:
        lines = [json.loads(line) for line in f]
    if total["status"] != "completed" or len(lines) != round(total["epochs"]):
        sys.exit(f"{run}: {total['status']} after {total.get('epochs')} epochs, {len(lines)} lines of metrics")
    with open(f"{folder}/ours.csv", "a") as f:
        for e in lines:
            f.write(f"{encoding},{init},{seed},{e['epoch']:g},{e['train']['auprc']:.5f},"
                    f"{e['test']['auprc']:.5f},{e['bytes']}\n")
    train = total["bytes"]["train"]
    values = [f"{total['epochs']:g}", total["rounds"]] + [train[level] for level in LEVELS]
    values += [f"{total['time']['train_s']:.3f}", total["model_sha256"]["head"][:16]]
    with open(f"{folder}/bytes.csv", "a") as f:
        f.write(",".join(str(v) for v in [encoding, init, seed] + values) + "\n")


main()
