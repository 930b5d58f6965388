#!/usr/bin/env python3
# predict.py -- scores of rows by the packages of a run (docs/models.md), with numpy and none of our code.
#
#   predict.py [--absent I[,J]] HEAD.safetensors OUT.csv BOTTOM.safetensors COLUMNS.csv [BOTTOM COLUMNS ...]
#
# --absent: these parties, from 1, are missing: zeros, and what the head has learned to put in their place.
# COLUMNS.csv is a party's table: a column id, and those that the schema of its bottom has.  All tables list the same
# ids in the same order.  OUT.csv: id,score_0,...
# SPDX-License-Identifier: Apache-2.0
import csv
import datetime
import json
import math
import re
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


# The columns of a bottom's schema that are embedded, each with its place among the inputs.
def embedded(about):
    columns = read_schema(about["schema"]) if about.get("schema") else []
    inputs = about.get("columns", "").splitlines()
    return [inputs.index(c["name"]) for c in columns if c.get("encode") == "embedding"]


# Columns that pass, then each table's row by number from 1; 0: zeros.
def look_up(about, tensors, x):
    at = embedded(about)
    parts = [np.delete(x, at, axis=1)]
    for k, column in enumerate(at):
        table = tensors["layer.0.table.%d" % k]
        parts.append(np.vstack([np.zeros((1, table.shape[1])), table])[x[:, column].astype(int)])
    return np.concatenate(parts, axis=1)


def forward(about, tensors, x):
    if about["degree"] != "0":
        limit = float(about["x_max"])
        x = np.clip(x, -limit, limit) if limit > 0 else x
        h = sum(x**i @ tensors["w%d" % i] for i in range(1, int(about["degree"]) + 1))
        limit = float(about["reach"]) or float(about["clip"])
        return np.clip(h, -limit, limit)
    names = about["activations"].split(",") if about["activations"] else []
    kinds = about["layers"].splitlines() if "layers" in about else ["dense"] * len(names)
    for i, name in enumerate(names):
        if i == 0 and embedded(about):
            x = look_up(about, tensors, x)
            continue
        x = activate(name, layer(kinds[i].split(), lambda t: tensors["layer.%d.%s" % (i, t)], x))
    return x * float(about["out_scale"])


# One layer of values without an order.
def layer(kind, tensor, x):
    if kind[0] == "dense":
        return x @ tensor("weight") + tensor("bias")
    if kind[0] == "activation":
        return x
    if kind[0] == "batch_norm":
        z = (x - tensor("running_mean")) / np.sqrt(tensor("running_var") + 1e-5)
    else:
        assert kind[0] == "group_norm"
        groups = x.reshape(len(x), int(kind[10]), -1)
        mean, var = groups.mean(axis=2, keepdims=True), groups.var(axis=2, keepdims=True)
        z = ((groups - mean) / np.sqrt(var + 1e-5)).reshape(x.shape)
    return z * tensor("weight") + tensor("bias")


# Cut off behind a gain; and what the sum is made of where values are sent as integers without noise: the nearest of
# 2^bits points.
def rounded(about, h):
    plan = dict(line.split("=", 1) for line in about["plan"].splitlines())
    limit, bits = float(about["clip"]), int(plan["protocol.fixed.bits"])
    if float(about["gain"]) > 1:
        h = np.clip(float(about["gain"]) * h, -limit, limit)
    if plan["protocol.aggregation"] == "fedvs":
        limit, bits = float(about["reach"]), min(24, int(math.log2(2**31 / int(about["parties"]))))
    elif plan["protocol.encoding"] != "fixed":
        return h
    unit = 2 * limit / (2**bits - 1)
    return np.floor((np.clip(h, -limit, limit) + limit) / unit + 0.5) * unit - limit


def prepare(about, x):
    if not about["standardise"]:
        return x
    lines = [line.split(",") for line in about["standardise"].splitlines()]
    mean, sd = np.array(lines, dtype=np.float32).astype(np.float64).T
    return ((x - mean) / sd).astype(np.float32).astype(np.float64)


MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "#N/A")


# The columns of a schema, one a line in flow style: as JSON once bare words have quotes.
def read_schema(text):
    columns = []
    for line in text.splitlines()[2:]:
        words = re.findall(r'"(?:[^"\\]|\\.)*"|[][{}:,]|[^][{}:,\s]+', line[4:])
        bare = lambda w: w if w[0] in '"[]{}:,' or re.match(r"-?[0-9]|true$", w) else '"%s"' % w
        column = json.loads("".join(bare(w) for w in words))
        if column["kind"] not in ("id", "ignored", "label"):
            columns.append(column)
    return columns


def days(text):
    at = datetime.datetime.fromisoformat(text)
    if at.tzinfo is None:
        at = at.replace(tzinfo=datetime.timezone.utc)
    return (at - datetime.datetime(2000, 1, 1, tzinfo=datetime.timezone.utc)).total_seconds() / 86400


def features(column, cell):
    cell = cell.strip()
    missing = cell in MISSING
    end = [float(missing)] if column.get("indicator") else []
    if column["kind"] == "category":
        known = [float(cell == level) for level in column["levels"]]
        other = [float(not missing and not any(known))] if column.get("other") else []
        places = known + other + end
        if column.get("encode") == "embedding":
            return [float(places.index(1) + 1 if 1 in places else 0)]
        return places
    if missing:
        x = column["fill"]
    elif column["kind"] == "ordered":
        x = column["levels"].index(cell)
    else:
        x = days(cell) if column["kind"] == "time" else float(cell)
    if "clip" in column:
        x = min(max(x, column["clip"][0]), column["clip"][1])
    return [math.copysign(math.log1p(abs(x)), x) if column.get("log") else x] + end


def read_images(path):
    raw = open(path, "rb").read()
    begin = 4 + 4 * raw[3]  # of the sizes, of so many dimensions
    rows = struct.unpack(">I", raw[4:8])[0]
    x = np.frombuffer(raw[begin:], np.uint8).reshape(rows, -1).astype(np.float32) / np.float32(255)
    return [str(i) for i in range(rows)], x.astype(np.float64)


def read_rows(path, about):
    if not about["schema"]:
        return read_images(path)
    with open(path, newline="") as f:
        rows = list(csv.reader(f))
    at = {name: i for i, name in enumerate(rows[0])}
    columns = read_schema(about["schema"])
    x = [sum((features(c, r[at[c["name"]]]) for c in columns), []) for r in rows[1:]]
    return [r[at["id"]] for r in rows[1:]], np.array(x, dtype=np.float32).astype(np.float64)


def scores(about, logits):
    logits = logits / float(about.get("temperature", "1"))
    if about["loss"] == "softmax":
        e = np.exp(logits - logits.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)
    if about["loss"] == "sigmoid":
        p = 1 / (1 + np.exp(-logits))
        return np.concatenate([1 - p, p], axis=1)
    center, spread = map(float, about.get("target", "0,1").split(","))
    return logits * spread + center


# The parts of all parties, of which some are missing, as the head takes them.
def fuse(about, tensors, parts, absent=()):
    parts = [np.zeros_like(h) if i in absent else h for i, h in enumerate(parts)]
    if "stand_in" in tensors:
        parts = [h + tensors["stand_in"][i] if i in absent else h for i, h in enumerate(parts)]
    if about["fusion"] == "max":
        zero = "stand_in" in tensors or "protocol.absent=zero" in about["plan"].splitlines()
        return np.max([h for i, h in enumerate(parts) if zero or i not in absent], axis=0)
    if about["fusion"] == "concat":
        return np.concatenate(parts, axis=1)
    return sum(parts) / (int(about["parties"]) if about["fusion"] == "mean" else 1)


def main(head_path, out_path, *parties, absent=()):
    about, tensors = read_package(head_path)
    parts, ids = [], None
    for bottom_path, table in zip(parties[::2], parties[1::2]):
        bottom, weights = read_package(bottom_path)
        assert bottom["plan_sha256"] == about["plan_sha256"] and bottom["trail"] == about["trail"]
        own, x = read_rows(table, bottom)
        assert ids in (None, own)
        ids = own
        parts.append(rounded(bottom, forward(bottom, weights, prepare(bottom, x))))
    out = scores(about, forward(about, tensors, fuse(about, tensors, parts, absent)))
    with open(out_path, "w") as f:
        names = ["score"] if about["loss"] == "squared" else ["score_%d" % k for k in range(out.shape[1])]
        f.write(",".join(["id"] + names) + "\n")
        for i, row in zip(ids, out):
            f.write(i + "," + ",".join("%.9g" % v for v in row) + "\n")


if __name__ == "__main__":
    words = sys.argv[1:]
    if words[0] == "--absent":
        main(*words[2:], absent=[int(i) - 1 for i in words[1].split(",")])
    else:
        main(*words)
