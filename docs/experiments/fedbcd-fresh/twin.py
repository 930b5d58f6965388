#!/usr/bin/env python3
"""twin.py -- fedbcd-fresh and fedbcd-fresh-credit in one process with torch, from FedBCD's equations: no line of code
and no random stream in common with the daemons, no network, no parties but two modules.  ../held.py reads its table.

    twin.py --data FOLDER --out FILE.csv --models dense,cnn|linear --ways fresh,kept --orders parallel,sequential
            --steps 1,3,5 --rates 1,2,4 --seeds 1-5 [--chosen FILE.csv]

FOLDER holds the four .gz files of MNIST; of default-credit, for linear, default-credit.csv.gz.

fresh: in each of Q local steps a party computes the derivative anew with its own number as it is by then and the
other's as it was sent (eqs. 9 and 18); kept: party 1 does so, party 2 keeps the derivative of the round's start.  Under
sequential party 2 begins when party 1 has stepped, with what it then sends.

Models, start, rates by local iterations, batch, standardised columns, targets and how often they are looked for are
those of the two grids; test rows are drawn once, 2,400 of MNIST's training file, 6,000 of default-credit.  A run ends
at its target, or after 150 batches, 375 of default-credit.

--chosen: of each line (model, way, order, steps) only the rate that ../held.py would choose by that table.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import csv
import gzip
import itertools
import math
import os
import sys

import numpy as np
import torch
from torch import nn

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import held  # noqa: E402

TARGET = {"dense": 0.98, "cnn": 0.975, "linear": 0.71}
MNIST = {"batch": 256, "batches": 150, "tested": 2400, "every": 1}
CREDIT = {"batch": 64, "batches": 375, "tested": 6000, "every": 5}
LINE = ["model", "way", "local_order", "local_iterations"]
HEAD = ["run", *LINE, "learning_rate", "seed", "status", "round", "payload_up", "payload_down", "train_loss",
        "test_auc"]


def idx(path):
    with gzip.open(path) as f:
        data = f.read()
    sides = [int.from_bytes(data[4 + 4 * k:8 + 4 * k], "big") for k in range(data[3])]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(sides)


def standard(x, tested):
    """Columns standardised by the rows that train; the last ones are tested."""
    spread = x[:-tested].std(0)
    return ((x - x[:-tested].mean(0)) / np.where(spread > 0, spread, 1)).astype(np.float32)


def load(folder, model):
    """What the two parties have of each row, and 1 for even digits or a default; test rows come last."""
    if model == "linear":
        with gzip.open(f"{folder}/default-credit.csv.gz", "rt") as f:
            x = np.loadtxt(f, delimiter=",", skiprows=1)
        x = x[np.random.default_rng(7).permutation(len(x))]
        y, x = x[:, -1], standard(x[:, 1:-1], CREDIT["tested"])
        parts = [x[:, 1:5], np.delete(x, [1, 2, 3, 4], axis=1)]
    else:
        x = idx(f"{folder}/train-images-idx3-ubyte.gz").astype(np.float32) / 255
        y = idx(f"{folder}/train-labels-idx1-ubyte.gz") % 2 == 0
        order = np.random.default_rng(7).permutation(len(x))
        x, y = standard(x[order], MNIST["tested"])[:, None], y[order]
        parts = [x[:, :, :, :14], x[:, :, :, 14:]]
    return [torch.from_numpy(np.ascontiguousarray(part)) for part in parts], torch.from_numpy(y.astype(np.float32))


def bottom(model, part):
    """torch's own start: uniform up to 1 / sqrt(inputs)."""
    if model == "linear":
        return nn.Linear(part.shape[1], 1)
    if model == "dense":
        return nn.Sequential(nn.Flatten(), nn.Linear(392, 64), nn.ReLU(), nn.Linear(64, 1))
    return nn.Sequential(nn.Conv2d(1, 8, 5, stride=2, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(168, 32), nn.ReLU(), nn.Linear(32, 1))


def auc(scores, labels):
    ranks = np.empty(len(scores))
    ranks[np.argsort(scores, kind="stable")] = np.arange(1, len(scores) + 1)
    n = labels.sum()
    return (ranks[labels > 0].sum() - n * (n + 1) / 2) / (n * (len(labels) - n))


def derivative(total, y):
    return (torch.sigmoid(total) - y) / len(y)


def local_steps(party, x, y, total, steps, rates, fresh):
    """Q steps of one party on what was sent: the sum of all numbers of the batch."""
    with torch.no_grad():
        others = total - party(x)[:, 0]
    kept = derivative(total, y)
    for k in range(steps):
        party.zero_grad(set_to_none=True)
        own = party(x)[:, 0]
        own.backward(derivative(others + own.detach(), y) if fresh else kept)
        with torch.no_grad():
            for weight in party.parameters():
                weight -= rates[k] * weight.grad


def play(data, model, way, order, steps, rate, seed):
    """Rows (round, training loss of the batch before the step, test AUC) until the target."""
    (halves, y), size = data, CREDIT if model == "linear" else MNIST
    batch_rows, tested = size["batch"], size["tested"]
    torch.manual_seed(seed)
    rng = np.random.default_rng([seed, 1])
    parties = [bottom(model, half) for half in halves]
    rows, r, walk = [], 0, []
    for batch in range(1, size["batches"] + 1):
        if len(walk) < batch_rows:
            walk = rng.permutation(len(y) - tested)
        at, walk = torch.from_numpy(walk[:batch_rows]), walk[batch_rows:]
        xs, labels = [h[at] for h in halves], y[at]
        rates = [rate / math.sqrt(r + k + 1) for k in range(steps)]
        with torch.no_grad():
            total = sum(p(x)[:, 0] for p, x in zip(parties, xs))
        loss = nn.functional.binary_cross_entropy_with_logits(total, labels).item()
        for k, (party, x) in enumerate(zip(parties, xs)):
            if order == "sequential" and k > 0:
                with torch.no_grad():
                    total = sum(p(z)[:, 0] for p, z in zip(parties, xs))
            local_steps(party, x, labels, total, steps, rates, way == "fresh" or k == 0)
        r += steps
        if batch % size["every"]:
            continue
        with torch.no_grad():
            scores = sum(p(h[-tested:])[:, 0] for p, h in zip(parties, halves)).numpy()
        score = auc(scores, y[-tested:].numpy()) if np.isfinite(scores).all() else 0.0
        rows.append((batch * (2 if order == "sequential" else 1), loss, score))
        if score >= TARGET[model] or not np.isfinite(scores).all():
            break
    return rows


def main():
    parser = argparse.ArgumentParser()
    for name in ("data", "out", "models", "ways", "orders", "steps", "rates", "seeds"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--chosen")
    options = parser.parse_args()
    torch.set_num_threads(1)
    data = load(options.data, options.models)
    lines = itertools.product(*(getattr(options, k).split(",") for k in ("models", "ways", "orders", "steps")))
    rates = {}
    if options.chosen:
        settings = {}
        for rows in held.read(options.chosen, [])[1]:
            line = tuple(rows[0][name] for name in LINE)
            run = held.Run(rows, "auc", TARGET[rows[0]["model"]], "rounds")
            settings.setdefault(line, {}).setdefault(rows[0]["learning_rate"], []).append(run)
        rates = {line: [held.choose(tried, range(100))[1]] for line, tried in settings.items()}
    with open(options.out, "w", newline="") as f:
        table = csv.writer(f, lineterminator="\n")
        table.writerow(HEAD)
        for line in lines:
            if line[1] == "kept" and line[2:] == ("parallel", "1"):
                continue  # the same step as fresh
            tried = rates[line] if options.chosen else options.rates.split(",")
            for rate, seed in itertools.product(tried, held.seeds_of(options.seeds)):
                name = "-".join([*line, rate, str(seed)])
                for at, loss, score in play(data, *line[:3], int(line[3]), float(rate), seed):
                    table.writerow([name, *line, rate, seed, "completed", at, 0, 0, f"{loss:.5f}", f"{score:.5f}"])
                f.flush()


if __name__ == "__main__":
    main()
