#!/usr/bin/python3
"""PBM-VFL in numpy, written from the paper and from nothing else of this project.

    /usr/bin/python3 tests/golden/model_pbm_vfl.py --data phishing.csv.gz --out twin.csv \
        --encodings pbm:8:0.25 float32 gaussian-paper:16:0.2 --inits glorot he torch

It is Algorithms 1 and 2 of PBM-VFL (Tran et al.) on a table with the columns id, features, label, where the
parties hold equal runs of the columns.  It shares no code, no random stream and no seed with the daemons, so an
agreement of the two is one of distributions: of epochs to a score, averaged over seeds.  Most of the spread
between seeds comes from the initial weights; --start FOLDER takes those of a run of the daemons for the same
init and seed, FOLDER/INIT-SEED/server/model.safetensors and .../party-I/model.safetensors, and nothing else.

Written down, one line for each encoding, init, seed and epoch: average precision of class 1 on the training
and the test rows, once on a fresh release under the mechanism and once on the exact sums.  The seeds of one
encoding and init run side by side, as one more axis of every array, and stop together: a few epochs after
their mean training score under the mechanism has reached the target.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import csv
import gzip
import hashlib
import json
import os
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # matrices this small only lose by threads
import numpy as np  # noqa: E402

F = np.float32


# --- data ------------------------------------------------------------------------------------------------


def read_table(path):
    """(ids as text, features, labels) of a CSV, plain or gzip."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as f:
        rows = list(csv.reader(f))
    if rows[0][0] != "id" or rows[0][-1] != "label":
        sys.exit(f"{path}: the first column must be id, the last one label")
    body = rows[1:]
    x = np.array([[float(cell) for cell in r[1:-1]] for r in body])
    return [r[0] for r in body], x, np.array([int(r[-1]) for r in body])


def split(path, parties, raw=False, positive=1):
    """Training and test (features by party, labels), standardised by the training rows unless raw."""
    ids, x, y = read_table(path)
    y = y if positive == 1 else 1 - y
    test = np.array([hashlib.sha256(i.encode()).digest()[0] % 5 == 0 for i in ids])
    mean, sd = x[~test].mean(axis=0), x[~test].std(axis=0)
    if not raw:
        x = (x - mean) / np.where(sd > 0, sd, 1)
    if x.shape[1] % parties:
        sys.exit(f"{path}: {x.shape[1]} columns do not divide by {parties} parties")
    by_party = np.stack(np.split(x, parties, axis=1)).astype(F)  # M x rows x columns
    return (by_party[:, ~test], y[~test]), (by_party[:, test], y[test])


# --- the model -------------------------------------------------------------------------------------------
# Arrays of the bottoms have the axes seed, party, then rows or inputs, then outputs.


def init_layer(rng, kind, shape):
    """Weights (... x in x out) and biases (... x out): Glorot & Bengio 2010, He et al. 2015, or torch's own."""
    fan_in, fan_out = shape[-2:]
    bias = np.zeros(shape[:-2] + (fan_out,))
    if kind == "glorot":
        limit = np.sqrt(6 / (fan_in + fan_out))
        w = rng.uniform(-limit, limit, shape)
    elif kind == "he":
        w = rng.normal(0, np.sqrt(2 / fan_in), shape)
    else:
        limit = 1 / np.sqrt(fan_in)
        w, bias = rng.uniform(-limit, limit, shape), rng.uniform(-limit, limit, bias.shape)
    return w.astype(F), bias.astype(F)


def init_stack(rngs, kind, lead, widths):
    """[(w, b), ...] of a stack of layers, the first axis being the seed."""
    return stack([[init_layer(r, kind, lead + (i, o)) for i, o in zip(widths, widths[1:])] for r in rngs])


def read_model(path):
    """[(w, b), ...] of a safetensors file: length of the header, header (JSON), data."""
    with open(path, "rb") as f:
        text = f.read(int.from_bytes(f.read(8), "little"))
        data = f.read()
    tensors = {name: np.frombuffer(data[slice(*t["data_offsets"])], F).reshape(t["shape"])
               for name, t in json.loads(text).items() if name != "__metadata__"}
    return [(tensors[f"layer.{k}.weight"], tensors[f"layer.{k}.bias"]) for k in range(len(tensors) // 2)]


def stack(models):
    """Layer by layer, one more axis in front."""
    return [[np.stack(part) for part in zip(*same)] for same in zip(*models)]


def read_start(folder, init, seeds, parties):
    """(bottoms, head) that the daemons started from."""
    runs = [f"{folder}/{init}-{s}" for s in seeds]
    of_run = [stack([read_model(f"{r}/party-{p + 1}/model.safetensors") for p in range(parties)]) for r in runs]
    return stack(of_run), stack([read_model(f"{r}/server/model.safetensors") for r in runs])


def bottoms(layers, x, clip):
    """[input, hidden..., C tanh]: all activations of all parties."""
    acts = [x]
    for w, b in layers[:-1]:
        acts.append(np.maximum(acts[-1] @ w + b[..., None, :], 0))
    w, b = layers[-1]
    acts.append(F(clip) * np.tanh(acts[-1] @ w + b[..., None, :]))
    return acts


def bottoms_step(layers, acts, gradient, clip, rate):
    """One SGD step of every party for the gradient with respect to its embedding (lines 16 to 18)."""
    d = gradient[:, None] * (F(clip) - acts[-1] ** 2 / F(clip))
    for k in reversed(range(len(layers))):
        w, b = layers[k]
        dw, db = acts[k].swapaxes(-1, -2) @ d, d.sum(axis=-2)
        if k > 0:
            d = (d @ w.swapaxes(-1, -2)) * (acts[k] > 0)
        w -= rate * dw
        b -= rate * db


def softmax(z):
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


# --- what is released ------------------------------------------------------------------------------------


LEVELS = 16  # protocol.gaussian.levels


class Encoding:
    """exact, or sum of the embeddings (seeds x parties x rows x P) as the server gets to know it."""

    def __init__(self, text, parties, clip):
        self.name, self.clip, self.parties = text, clip, parties
        self.kind, *numbers = text.split(":")
        if self.kind == "float32" and not numbers:
            return
        if self.kind not in ("pbm", "gaussian-paper", "gaussian-equal_rdp") or len(numbers) != 2:
            sys.exit(f"{text}: neither float32 nor KIND:b:beta of pbm, gaussian-paper, gaussian-equal_rdp")
        self.b, self.beta = int(numbers[0]), float(numbers[1])
        b_beta2 = self.b * self.beta**2
        if self.kind == "gaussian-paper":  # section 7: 2 M C^2 / (b beta^2) at each party
            self.sigma = clip * np.sqrt(2 * parties / b_beta2)
        elif self.kind == "gaussian-equal_rdp":
            # Near alpha = 1 the divergence of PBM is alpha (2 beta)^2 b / (2 M (1/4 - beta^2)); that of a
            # Gaussian at one party is alpha (2 C)^2 / (2 sigma^2).  Equal: M C^2 (1 - 4 beta^2) / (4 b beta^2).
            self.sigma = clip * np.sqrt(parties * (1 - 4 * self.beta**2) / (4 * b_beta2))

    def release(self, rngs, h):
        if self.kind == "pbm":
            p = 0.5 + (self.beta / self.clip) * h.astype(float)
            q = np.stack([r.binomial(self.b, p[s]) for s, r in enumerate(rngs)]).sum(axis=1)
            return ((self.clip / (self.beta * self.b)) * (q - self.b * self.parties / 2)).astype(F)
        total = h.sum(axis=1)
        if self.kind == "float32":
            return total
        # Whole steps of the grid: embeddings rounded one by one, and a draw for each party.  A rounded normal of four
        # steps and more has the moments of the discrete Gaussian to 1/12 of a step's square, and is no protection.
        step = self.clip / LEVELS
        codes = np.rint(h / F(step)).sum(axis=1)
        for _ in range(self.parties):
            noise = np.stack([r.standard_normal(total.shape[1:], dtype=F) for r in rngs])
            codes += np.rint(F(self.sigma / step) * noise)
        return (step * codes).astype(F)


# --- scores ----------------------------------------------------------------------------------------------


def average_precision(score, y):
    """sum over thresholds of (recall gained) x precision; rows of equal score share one threshold."""
    order = np.argsort(-score, kind="stable")
    score, hits = score[order], np.cumsum(y[order])
    last = np.append(np.flatnonzero(np.diff(score)), len(score) - 1)
    return float(np.sum(np.diff(hits[last], prepend=0) * hits[last] / (last + 1)) / hits[-1])


def evaluate(layers, head, enc, clip, rngs, x, y):
    """By seed: (average precision under a fresh release, the same on exact sums)."""
    h = bottoms(layers, x[None], clip)[-1]
    scores = []
    for sums in (enc.release(rngs, h), h.sum(axis=1)):
        p = softmax(sums @ head[0] + head[1][:, None])[..., 1]
        scores.append([average_precision(p_seed, y) for p_seed in p])
    return list(zip(*scores))


# --- training --------------------------------------------------------------------------------------------


def train_epoch(layers, head, enc, opt, order, noise, x, y):
    """Algorithm 2 over one permutation of the rows per seed; the last batch may be shorter."""
    rate = F(opt.rate)
    for at in range(0, order.shape[1], opt.batch):
        rows = order[:, at:at + opt.batch]
        acts = bottoms(layers, x[:, rows].swapaxes(0, 1), opt.clip)
        sums = enc.release(noise, acts[-1])
        d = (softmax(sums @ head[0] + head[1][:, None]) - np.eye(2, dtype=F)[y[rows]]) / F(rows.shape[1])
        gradient = d @ head[0].swapaxes(-1, -2)
        head[0] -= rate * (sums.swapaxes(-1, -2) @ d)
        head[1] -= rate * d.sum(axis=-2)
        bottoms_step(layers, acts, gradient, opt.clip, rate)


def run(enc, init, opt, train, test, out):
    """All seeds of one encoding and init.  Returns the first epoch at the target, or None."""
    streams = [np.random.SeedSequence([s, 0x5042]).spawn(3) for s in opt.seeds]
    init_rngs, order_rngs, noise = [[np.random.default_rng(s[k]) for s in streams] for k in range(3)]
    parties, columns = train[0].shape[0], train[0].shape[2]
    if opt.start:
        layers, (head,) = read_start(opt.start, init, opt.seeds, parties)
    else:
        layers = init_stack(init_rngs, init, (parties,), [columns] + opt.layers + [opt.embedding])
        (head,) = init_stack(init_rngs, init, (), [opt.embedding, 2])
    reached = None
    for epoch in range(1, opt.epochs + 1):
        order = np.stack([r.permutation(len(train[1])) for r in order_rngs])
        train_epoch(layers, head, enc, opt, order, noise, *train)
        on_train = evaluate(layers, head, enc, opt.clip, noise, *train)
        on_test = evaluate(layers, head, enc, opt.clip, noise, *test)
        for seed, a, b in zip(opt.seeds, on_train, on_test):
            out.writerow([enc.name, init, seed, epoch] + [f"{v:.5f}" for v in (*a, *b)])
        if reached is None and np.mean([a[0] for a in on_train]) >= opt.target:
            reached = epoch
        if reached is not None and epoch >= reached + opt.more:
            break
    return reached


def arguments():
    p = argparse.ArgumentParser(description="PBM-VFL in numpy: scores by epoch")
    p.add_argument("--data", required=True, help="CSV or CSV.gz: id, features, label")
    p.add_argument("--out", required=True, help="CSV to write")
    p.add_argument("--encodings", nargs="+", required=True,
                   help="float32, pbm:b:beta, gaussian-paper:b:beta, gaussian-equal_rdp:b:beta")
    p.add_argument("--inits", nargs="+", default=["glorot"], choices=["glorot", "he", "torch"])
    p.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    p.add_argument("--start", help="folder of the initial weights; otherwise they are drawn")
    p.add_argument("--raw", action="store_true", help="columns as they are")
    p.add_argument("--positive", type=int, default=1, choices=[0, 1], help="the class that is looked for")
    p.add_argument("--parties", type=int, default=5)
    p.add_argument("--layers", nargs="*", type=int, default=[64, 64])
    p.add_argument("--embedding", type=int, default=16)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--batch", type=int, default=100)
    p.add_argument("--rate", type=float, default=0.01)
    p.add_argument("--epochs", type=int, default=100, help="at most")
    p.add_argument("--target", type=float, default=0.9)
    p.add_argument("--more", type=int, default=4, help="epochs after the target")
    return p.parse_args()


def main():
    opt = arguments()
    train, test = split(opt.data, opt.parties, opt.raw, opt.positive)
    encodings = [Encoding(e, opt.parties, opt.clip) for e in opt.encodings]
    with open(opt.out, "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["encoding", "init", "seed", "epoch", "train_mechanism", "train_exact", "test_mechanism",
                      "test_exact"])
        for enc in encodings:
            for init in opt.inits:
                begin = time.monotonic()
                reached = run(enc, init, opt, train, test, out)
                f.flush()
                print(f"{enc.name} {init}: epoch {reached or 'none up to ' + str(opt.epochs)} "
                      f"({len(train[1])} rows, {time.monotonic() - begin:.1f} s)", flush=True)


if __name__ == "__main__":
    main()
