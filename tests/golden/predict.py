#!/usr/bin/env python3
# predict.py -- scores of rows by the packages of a run (docs/models.md), with numpy and none of our code.
#
#   predict.py HEAD.safetensors OUT.csv BOTTOM.safetensors COLUMNS.csv [BOTTOM COLUMNS ...]
#
# COLUMNS.csv is a party's table: id, then the columns of its bottom in their order.  All tables list the same ids in
# the same order.  OUT.csv: id,score_0,...
# SPDX-License-Identifier: Apache-2.0
import csv
import json
import struct
import sys

import numpy as np


def read_package(path):
    raw = open(path, "rb").read()
    n = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8 : 8 + n])
    about = header.pop("__metadata__")
    data = raw[8 + n :]
    tensors = {}
    for name, t in header.items():
        begin, end = t["data_offsets"]
        tensors[name] = np.frombuffer(data[begin:end], "<f4").reshape(t["shape"]).astype(np.float64)
    return about, tensors


def activate(name, x):
    if name == "relu":
        return np.maximum(x, 0)
    if name == "tanh":
        return np.tanh(x)
    return 1 / (1 + np.exp(-x)) if name == "sigmoid" else x


def forward(about, tensors, x):
    if about["degree"] != "0":
        limit = float(about["x_max"])
        x = np.clip(x, -limit, limit) if limit > 0 else x
        h = sum(x**i @ tensors["w%d" % i] for i in range(1, int(about["degree"]) + 1))
        return np.clip(h, -float(about["clip"]), float(about["clip"]))
    names = about["activations"].split(",") if about["activations"] else []
    for i, name in enumerate(names):
        x = activate(name, x @ tensors["layer.%d.weight" % i] + tensors["layer.%d.bias" % i])
    return x * float(about["out_scale"])


def prepare(about, x):
    if not about["standardise"]:
        return x
    lines = [line.split(",") for line in about["standardise"].splitlines()]
    mean, sd = np.array(lines, dtype=np.float32).astype(np.float64).T
    return ((x - mean) / sd).astype(np.float32).astype(np.float64)


def read_rows(path, about):
    with open(path, newline="") as f:
        rows = list(csv.reader(f))
    if about["columns"]:
        assert rows[0][1:] == about["columns"].splitlines(), (path, rows[0])
    return [r[0] for r in rows[1:]], np.array([r[1:] for r in rows[1:]], dtype=np.float32).astype(np.float64)


def scores(about, logits):
    if about["loss"] == "softmax":
        e = np.exp(logits - logits.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)
    if about["loss"] == "sigmoid":
        p = 1 / (1 + np.exp(-logits))
        return np.concatenate([1 - p, p], axis=1)
    return logits


def main(head_path, out_path, *parties):
    about, tensors = read_package(head_path)
    parts, ids = [], None
    for bottom_path, table in zip(parties[::2], parties[1::2]):
        bottom, weights = read_package(bottom_path)
        assert bottom["plan_sha256"] == about["plan_sha256"] and bottom["trail"] == about["trail"]
        own, x = read_rows(table, bottom)
        assert ids in (None, own)
        ids = own
        parts.append(forward(bottom, weights, prepare(bottom, x)))
    fused = np.concatenate(parts, axis=1) if about["fusion"] == "concat" else sum(parts)
    if about["fusion"] == "mean":
        fused = fused / int(about["parties"])
    out = scores(about, forward(about, tensors, fused))
    with open(out_path, "w") as f:
        f.write("id," + ",".join("score_%d" % k for k in range(out.shape[1])) + "\n")
        for i, row in zip(ids, out):
            f.write(i + "," + ",".join("%.9g" % v for v in row) + "\n")


main(*sys.argv[1:])
