#!/usr/bin/env python3
"""Appends a run of `vfl cluster` to FOLDER/runs.csv (its evaluations) and FOLDER/ends.csv: collect.py RUN FOLDER KEY.

KEY: table,data,arm,segments,privacy,delay,seed.

SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import json
import sys

KEY = "table,data,arm,segments,privacy,delay,seed"
RUNS = "epoch,round,train_s,seconds,loss,accuracy,auc"
ENDS = ("rounds,setup_s,train_s,evaluate_s,setup_up,train_up,train_down,train_share_up,train_upload_up,"
        "missing,unverified,epsilon,models_sha256")


def append(path, text):
    with open(path, "ab", buffering=0) as f:  # whole or not at all: several runs end at once
        f.write(text.encode())


def epsilon(total):
    """Of one record of a party against the server; empty without a claim."""
    for claim in total.get("privacy", {}).get("claims", []):
        if (claim["adversary"], claim["adjacency"]) == ("server", "record_raw") and "epsilon" in claim:
            return f"{claim['epsilon']:.6g}"
    return ""


def models(total):
    """One digest of the models of all, head and parties."""
    return hashlib.sha256(json.dumps(total["model_sha256"], sort_keys=True).encode()).hexdigest()


def main():
    if sys.argv[1] == "--headers":
        append(f"{sys.argv[2]}/runs.csv", f"{KEY},{RUNS}\n")
        append(f"{sys.argv[2]}/ends.csv", f"{KEY},{ENDS}\n")
        return
    run, folder, key = sys.argv[1:]
    with open(f"{run}/summary.json") as f:
        total = json.load(f)
    with open(f"{run}/server/metrics.jsonl") as f:
        lines = [json.loads(line) for line in f]
    if total["status"] != "completed" or not lines:
        sys.exit(f"{run}: {total['status']} after {total.get('epochs')} epochs, {len(lines)} lines of metrics")
    runs = "".join(
        f"{key},{e['epoch']:.4f},{e['round']},{e['train_s']:.3f},{e['seconds']:.3f},{e['test']['loss']:.5f},"
        f"{e['test']['accuracy']:.5f},{e['test']['auc']:.5f}\n" for e in lines)
    time, sent, lost = total["time"], total["bytes"], total["degraded"]
    of = sent["by_message"]
    end = ",".join(str(v) for v in (
        key, total["rounds"], time["setup_s"], time["train_s"], time["evaluate_s"], sent["setup"]["payload_up"],
        sent["train"]["payload_up"], sent["train"]["payload_down"], of.get("share", {}).get("payload", 0),
        of.get("upload", {}).get("payload", 0), lost.get("missing_uploads", 0), lost.get("unverified_decodes", 0),
        epsilon(total), models(total))) + "\n"
    append(f"{folder}/runs.csv", runs)
    append(f"{folder}/ends.csv", end)


main()
