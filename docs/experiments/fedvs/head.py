#!/usr/bin/python3
"""Does FedVS's head for default-credit need its batch normalisation?  head.py default-credit.csv[.gz]

In numpy, from the paper and from nothing else of this project: 11 parties with equal runs of columns, h = mean of
x W1 + x^2 W2, inputs standardised and cut off at 2, and behind it two heads side by side,

  dense   Linear-ReLU-Linear-ReLU-Linear                          (what run.sh trains)
  paper   Linear-BatchNorm-Linear-ReLU-BatchNorm-WeightNorm-Linear-Sigmoid   (appendix C)

with SGD 0.01, batches of 32, width 64, P = 32.  Prints test accuracy and AUC by epoch, mean of the seeds.

SPDX-License-Identifier: Apache-2.0
"""
import csv
import gzip
import hashlib
import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np  # noqa: E402

F, RATE, BATCH, P, WIDTH, EPOCHS, SEEDS = np.float32, 0.01, 32, 32, 64, 10, 3
SIZES = [3] + [2] * 10  # 23 columns for 11 parties, the first getting one more


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as f:
        rows = list(csv.reader(f))[1:]
    x = np.array([[float(c) for c in r[1:-1]] for r in rows])
    y = np.array([int(r[-1]) for r in rows])
    test = np.array([hashlib.sha256(r[0].encode()).digest()[0] % 5 == 0 for r in rows])
    x = (x - x[~test].mean(axis=0)) / x[~test].std(axis=0)
    x = np.clip(x, -2, 2)
    x = np.hstack([x, x * x]).astype(F)
    return x[~test], y[~test], x[test], y[test]


def auc(score, y):
    _, place, counts = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(counts) - (counts - 1) / 2)[place]
    ones = y.sum()
    return (rank[y == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(y) - ones))


class Linear:
    """With norm: w = g v / |v|, a row of v for each output (weight normalisation)."""

    def __init__(self, rng, ins, outs, norm=False):
        self.v = rng.normal(0, np.sqrt(2 / ins), (ins, outs)).astype(F)
        self.b, self.g = np.zeros(outs, F), np.linalg.norm(self.v, axis=0) if norm else None

    def w(self):
        return self.v if self.g is None else self.v * (self.g / np.linalg.norm(self.v, axis=0))

    def forward(self, x, train):
        self.x = x
        return x @ self.w() + self.b

    def backward(self, d):
        dw, back = self.x.T @ d, d @ self.w().T
        self.b -= RATE * d.sum(axis=0)
        if self.g is None:
            self.v -= RATE * dw
        else:
            size = np.linalg.norm(self.v, axis=0)
            unit = self.v / size
            along = (dw * unit).sum(axis=0)
            self.v -= RATE * (self.g / size) * (dw - along * unit)
            self.g -= RATE * along
        return back


class Relu:
    def forward(self, x, train):
        self.on = x > 0
        return x * self.on

    def backward(self, d):
        return d * self.on


class BatchNorm:
    def __init__(self, width):
        self.g, self.b = np.ones(width, F), np.zeros(width, F)
        self.mean, self.var = np.zeros(width, F), np.ones(width, F)

    def forward(self, x, train):
        if not train:
            return (x - self.mean) / np.sqrt(self.var + F(1e-5)) * self.g + self.b
        mean, var = x.mean(axis=0), x.var(axis=0)
        self.mean += F(0.1) * (mean - self.mean)
        self.var += F(0.1) * (var * len(x) / (len(x) - 1) - self.var)
        self.inverse = 1 / np.sqrt(var + F(1e-5))
        self.z = (x - mean) * self.inverse
        return self.z * self.g + self.b

    def backward(self, d):
        dz = d * self.g
        self.g -= RATE * (d * self.z).sum(axis=0)
        self.b -= RATE * d.sum(axis=0)
        return self.inverse * (dz - dz.mean(axis=0) - self.z * (dz * self.z).mean(axis=0))


class Bottoms:
    """The mean over the parties of x W1 + x^2 W2; each party starts with a fan-in of its own, columns times 2."""

    def __init__(self, rng):
        fan = np.tile(np.repeat([2 * s for s in SIZES], SIZES), 2)[:, None]
        self.w = (rng.normal(0, 1, (len(fan), P)) * np.sqrt(2 / fan)).astype(F)

    def forward(self, x, train):
        self.x = x
        return x @ self.w / F(len(SIZES))

    def backward(self, d):
        self.w -= RATE * (self.x.T @ d) / F(len(SIZES))


def model(kind, rng):
    if kind == "dense":
        return [Bottoms(rng), Linear(rng, P, WIDTH), Relu(), Linear(rng, WIDTH, WIDTH), Relu(), Linear(rng, WIDTH, 1)]
    return [Bottoms(rng), Linear(rng, P, WIDTH), BatchNorm(WIDTH), Linear(rng, WIDTH, WIDTH), Relu(), BatchNorm(WIDTH),
            Linear(rng, WIDTH, 1, norm=True)]


def forward(layers, x, train):
    for layer in layers:
        x = layer.forward(x, train)
    return x[:, 0]


def train(kind, seed, data):
    x, y, test_x, test_y = data
    rng = np.random.default_rng(seed)
    layers, scores = model(kind, rng), []
    for _ in range(EPOCHS):
        order = rng.permutation(len(y))
        for at in range(0, len(y) - 1, BATCH):
            rows = order[at:at + BATCH]
            z = forward(layers, x[rows], True)
            d = ((1 / (1 + np.exp(-z)) - y[rows]) / len(rows)).astype(F)[:, None]
            for layer in reversed(layers):
                d = layer.backward(d)
        z = forward(layers, test_x, False)
        scores.append((((z > 0) == test_y).mean(), auc(z, test_y)))
    return scores


def main():
    data = load(sys.argv[1])
    runs = {kind: np.array([train(kind, s, data) for s in range(SEEDS)]) for kind in ("dense", "paper")}
    print("| epoch | dense: accuracy | AUC | paper's: accuracy | AUC |\n|---|---|---|---|---|")
    for e in (0, 1, 2, 4, EPOCHS - 1):
        cells = [f"{m:.4f} ± {s:.4f}" for r in runs.values() for m, s in
                 zip(r[:, e].mean(axis=0), r[:, e].std(axis=0, ddof=1))]
        print(f"| {e + 1} | {' | '.join(cells)} |")


main()
