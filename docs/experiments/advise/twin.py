#!/usr/bin/python3
"""Private training with each party's embedding by itself (concat), in numpy: the search behind vfl price --advise.

    /usr/bin/python3 docs/experiments/advise/twin.py prepare SHARED FOLDER
    /usr/bin/python3 docs/experiments/advise/twin.py score FOLDER [KEY=VALUE ...] [--tables phishing,mfeat] [--seeds 8]
    /usr/bin/python3 docs/experiments/advise/twin.py central FOLDER --out central.csv [--tables ...]

It shares no code, no random stream and no accountant with the daemons.  prepare writes FOLDER/NAME-train.csv and
FOLDER/NAME-test.csv; score trains on four fifths of the training rows and scores on the rest, never on test rows
(unless --split test); central is DP-SGD by whoever holds all columns, at the same epsilon.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import csv
import gzip
import hashlib
import math
import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # matrices this small only lose by threads
import numpy as np  # noqa: E402

F = np.float32
DELTA = 1e-5
# Columns of each party (equal parts where a number), and the score.
TABLES = {
    "phishing": ([6] * 5, "auprc"),
    "default-credit": ([8, 8, 7], "auc"),
    "mfeat": ([76, 216, 64, 240, 47, 6], "accuracy"),
    "har": ([187, 187, 187], "accuracy"),
}


# --- the accountant --------------------------------------------------------------------------------------


def coin(b, beta, alpha):
    """D_alpha of one coordinate among nobody else: b coins of 1/2 + beta against 1/2 - beta."""
    h, low = math.log(0.5 + beta), math.log(0.5 - beta)
    return b / (alpha - 1) * float(np.logaddexp(alpha * h + (1 - alpha) * low, alpha * low + (1 - alpha) * h))


def smallest(total, delta=DELTA):
    """min over alpha of total(alpha) + the conversion (Canonne, Kamath, Steinke 2020), by a grid of ln(alpha - 1)."""
    best = math.inf
    for u in np.linspace(-3, 7, 2001):
        a = 1 + math.exp(u)
        best = min(best, total(a) + math.log((a - 1) / a) - (math.log(delta) + math.log(a)) / (a - 1))
    return max(0.0, best)


def epsilon(p, b, beta, steps, noise):
    move = (2 + 2**-9) ** 2 / 2
    return smallest(lambda a: p * coin(b, beta, a) + (steps * move * a / noise**2 if steps else 0))


def largest_beta(eps, p, b, steps, noise):
    low, high = 0.0, 0.49
    if epsilon(p, b, high, steps, noise) <= eps:
        return high
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon(p, b, middle, steps, noise) <= eps else (low, middle)
    return math.floor(low * 1e4) / 1e4


def sampled_gaussian(q, sigma, alpha):
    """D_alpha of one step on a Poisson sample of share q, alpha whole; neighbours differ by a record more or less
    (Mironov, Talwar, Zhang 2019, section 3.3)."""
    k = np.arange(alpha + 1)
    terms = np.array([math.lgamma(alpha + 1) - math.lgamma(i + 1) - math.lgamma(alpha - i + 1) for i in k])
    if q >= 1:
        return alpha / (2 * sigma**2)
    terms = terms + k * math.log(q) + (alpha - k) * math.log1p(-q) + (k * k - k) / (2 * sigma**2)
    return float(np.logaddexp.reduce(terms)) / (alpha - 1)


def central_epsilon(q, sigma, steps):
    best = math.inf
    for a in list(range(2, 65)) + [80, 96, 128, 192, 256]:
        eps = steps * sampled_gaussian(q, sigma, a)
        best = min(best, eps + math.log((a - 1) / a) - (math.log(DELTA) + math.log(a)) / (a - 1))
    return best


def central_noise(eps, q, steps):
    low, high = 0.3, 200.0
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if central_epsilon(q, middle, steps) <= eps else (middle, high)
    return high


# --- data ------------------------------------------------------------------------------------------------


def digest(text):
    return hashlib.sha256(text.encode()).digest()


def rows_of(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as f:
        rows = list(csv.reader(f))
    return rows[0], rows[1:]


def prepare(shared, folder):
    """Test rows by the first byte of SHA-256 of the id (of har as published, by person); equal rows of phishing are one
    record.  Where columns have no common unit one row in ten of the others (third byte) stands for a public source: its
    means and deviations standardise all rows, and it is neither trained nor tested on."""
    os.makedirs(folder, exist_ok=True)
    for name in TABLES:
        where = f"{shared}/{name}"
        if name == "har":
            parts = []
            for kind in ("train", "test"):
                head, rows = rows_of(f"{where}/{kind}.csv.gz")
                parts.append([[("t" if kind == "test" else "") + r[0]] + r[1:] for r in rows])
            test, rest, public = parts[1], parts[0], []
        else:
            head, rows = rows_of(f"{where}/{name}.csv.gz")
            if name == "phishing":
                first = {}
                for r in rows:
                    first.setdefault(tuple(r[1:]), r)
                rows = list(first.values())
            test = [r for r in rows if digest(r[0])[0] % 5 == 0]
            rest = [r for r in rows if digest(r[0])[0] % 5 != 0]
            public = [] if name == "phishing" else [r for r in rest if digest(r[0])[2] % 10 == 0]
            rest = [r for r in rest if name == "phishing" or digest(r[0])[2] % 10 != 0]
        if public:
            x = np.array([[float(v) for v in r[1:-1]] for r in public])
            mean, sd = x.mean(axis=0), x.std(axis=0)
            sd[sd == 0] = 1
            for part in (test, rest):
                for r in part:
                    z = (np.array([float(c) for c in r[1:-1]]) - mean) / sd
                    r[1:-1] = [f"{v:.6g}" for v in z]
        for kind, part in (("train", rest), ("test", test)):
            with open(f"{folder}/{name}-{kind}.csv", "w", newline="") as f:
                csv.writer(f, lineterminator="\n").writerows([head] + part)
        print(f"{name}: {len(rest)} to train, {len(test)} to test, {len(public)} public")


def load(folder, name, split):
    """(x by party, y) to train and held out."""
    def take(rows):
        x = np.array([[float(v) for v in r[1:-1]] for r in rows], F)
        at = np.cumsum([0] + TABLES[name][0])
        return [np.ascontiguousarray(x[:, a:b]) for a, b in zip(at, at[1:])], np.array([int(r[-1]) for r in rows])

    _, rows = rows_of(f"{folder}/{name}-train.csv")
    if split == "test":
        return take(rows), take(rows_of(f"{folder}/{name}-test.csv")[1])
    held = [digest(r[0])[1] % 5 == 0 for r in rows]
    return take([r for r, h in zip(rows, held) if not h]), take([r for r, h in zip(rows, held) if h])


# --- scores ----------------------------------------------------------------------------------------------


def average_precision(score, y):
    order = np.argsort(-score, kind="stable")
    score, hits = score[order], np.cumsum(y[order])
    last = np.append(np.flatnonzero(np.diff(score)), len(score) - 1)
    return float(np.sum(np.diff(hits[last], prepend=0) * hits[last] / (last + 1)) / hits[-1])


def auc(score, y):
    values, place, count = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]
    n1 = y.sum()
    return float((rank[y == 1].sum() - n1 * (n1 + 1) / 2) / (n1 * (len(y) - n1)))


def judge(name, logits, y):
    kind = TABLES[name][1]
    if kind == "accuracy":
        return float((logits.argmax(axis=-1) == y).mean())
    return (average_precision if kind == "auprc" else auc)(logits[..., 0], y)


# --- the split model -------------------------------------------------------------------------------------


def first_weights(rng, kind, shape):
    fan_in, fan_out = shape[-2:]
    bias = np.zeros(shape[:-2] + (1, fan_out))
    if kind == "glorot":
        limit = np.sqrt(6 / (fan_in + fan_out))
        w = rng.uniform(-limit, limit, shape)
    elif kind == "he":
        w = rng.normal(0, np.sqrt(2 / fan_in), shape)
    else:
        limit = 1 / np.sqrt(fan_in)
        w, bias = rng.uniform(-limit, limit, shape), rng.uniform(-limit, limit, bias.shape)
    return [w.astype(F), bias.astype(F)]


class Adam:
    def __init__(self, decay=0.0):
        self.kept, self.decay = {}, F(decay)

    def step(self, key, w, g, rate):
        if self.decay:
            w -= F(rate) * self.decay * w
        k = self.kept.setdefault(key, [np.zeros_like(w), np.zeros_like(w), 0])
        k[2] += 1
        k[0] *= F(0.9)
        k[0] += F(0.1) * g
        k[1] *= F(0.999)
        k[1] += F(0.001) * g * g
        w -= F(rate / (1 - 0.9 ** k[2])) * k[0] / (np.sqrt(k[1] / F(1 - 0.999 ** k[2])) + F(1e-8))


class Net:
    """Dense layers, of all seeds."""

    def __init__(self, rng, kind, seeds, widths, activation, decay=0.0):
        self.layers = [first_weights(rng, kind, (seeds, a, b)) for a, b in zip(widths, widths[1:])]
        self.activation, self.adam, self.mean, self.counted = activation, Adam(decay), None, 0

    def forward(self, x, average=False):
        acts = [x]
        layers = self.mean if average and self.mean else self.layers
        for i, (w, b) in enumerate(layers):
            z = acts[-1] @ w + b
            if i + 1 < len(layers):
                z = np.tanh(z) if self.activation == "tanh" else np.maximum(z, 0)
            acts.append(z)
        return acts

    def gradients(self, acts, d):
        out, norms = [], 0
        for k in reversed(range(len(self.layers))):
            out.append((k, d))
            norms = norms + (d * d).sum(axis=-1) * ((acts[k] ** 2).sum(axis=-1) + 1)
            below = d @ self.layers[k][0].swapaxes(-1, -2) if k > 0 else None
            if k > 0:
                d = below * ((1 - acts[k] ** 2) if self.activation == "tanh" else (acts[k] > 0))
        return out, norms

    def add_to_mean(self):
        self.counted += 1
        if self.mean is None:
            self.mean = [[w.copy(), b.copy()] for w, b in self.layers]
        for have, new in zip(self.mean, self.layers):
            for h, n in zip(have, new):
                h += (n - h) / F(self.counted)


# The recipe at epsilon 4: share of epsilon that steps cost (it gives the noise), what is left gives beta.  balanced:
# class weights; gain: of the coins; average tail: the mean of the second half's weights is the model; cut: a box and
# no tanh; sharp: a gain at the end alone.
DEFAULTS = dict(
    p=1, trials=1, layers=[], head=[], init="glorot", steps=30, batch=200, rate=0.03, clip=0.03, noise=20.0, epochs=1,
    schedule="constant", average="none", decay=0.0, activation="tanh", fusion="concat", share=0.25, balanced=1, cut=0,
    gain=1000.0, sharp=1.0)


def release(rng, beta, b, h):
    """Estimates: (C / (b beta)) (Bin(b, 1/2 + beta h) - b / 2), C = 1."""
    prob = F(0.5) + F(beta) * h
    if b == 1:
        return ((rng.random(prob.shape, dtype=F) < prob).astype(F) - F(0.5)) / F(beta)
    return ((rng.binomial(b, prob) - b / 2) / (b * beta)).astype(F)


def run(name, o, beta, noise, seeds, first, train, held):
    rng = np.random.default_rng([first, seeds])
    (xs, y), (hx, hy) = train, held
    classes = int(y.max()) + 1
    outs = 1 if classes == 2 else classes
    target = y[:, None].astype(F) if outs == 1 else np.eye(classes, dtype=F)[y]
    weight = (n_of := np.bincount(y)).sum() / (classes * n_of[y]) if o["balanced"] else np.ones(len(y))
    weight = weight.astype(F)[:, None]

    def outside(z):
        return np.clip(z, -1, 1) if o["cut"] else np.clip(F(o["gain"]) * np.tanh(z), -1, 1)

    def inside(z):
        return F(1) if o["cut"] else 1 - np.tanh(z) ** 2

    parties = [Net(rng, o["init"], seeds, [x.shape[1]] + o["layers"] + [o["p"]], o["activation"]) for x in xs]
    joint = len(xs) * o["p"] if o["fusion"] == "concat" else o["p"]
    head = Net(rng, o["init"], seeds, [joint] + o["head"] + [outs], "relu", o["decay"])
    n, p = len(y), o["p"]
    rounds = math.ceil(n / o["batch"]) * o["epochs"]
    total, t = rounds * o["steps"], 0

    def fuse(each):
        return np.concatenate(each, axis=-1) if o["fusion"] == "concat" else sum(each)

    def slopes(acts, lab, w):
        z = acts[-1]
        if outs == 1:
            return (w / (1 + np.exp(-z)) - w * lab).astype(F)
        z = np.exp(z - z.max(axis=-1, keepdims=True))
        return (w * (z / z.sum(axis=-1, keepdims=True) - lab)).astype(F)

    for _ in range(o["epochs"]):
        order = np.stack([rng.permutation(n) for _ in range(seeds)])
        for at in range(0, n, o["batch"]):
            rows = order[:, at:at + o["batch"]]
            size, lab, w = rows.shape[1], target[rows], weight[rows]
            inputs = [x[rows] for x in xs]
            acts = [net.forward(x) for net, x in zip(parties, inputs)]
            joined = fuse([release(rng, beta, o["trials"], outside(a[-1])) for a in acts])
            # the gradient of each embedding, kept for all local steps
            ha = head.forward(joined)
            d = slopes(ha, lab, w)
            grads, _ = head.gradients(ha, d)
            down = grads[-1][1] @ head.layers[0][0].swapaxes(-1, -2)
            for q in range(o["steps"]):
                cool = 0.5 * (1 + math.cos(math.pi * t / total))
                rate = o["rate"] * (1 if o["schedule"] == "constant" else cool)
                if q:
                    ha = head.forward(joined)
                    grads, _ = head.gradients(ha, slopes(ha, lab, w))
                for k, g in grads:
                    head.adam.step((k, 0), head.layers[k][0], ha[k].swapaxes(-1, -2) @ g / F(size), rate)
                    bias = g.sum(axis=-2, keepdims=True) / F(size)
                    head.adam.step((k, 1), head.layers[k][1], bias, rate)
                for i, (net, x) in enumerate(zip(parties, inputs)):
                    a = net.forward(x) if q else acts[i]
                    own = down[..., i * p:(i + 1) * p] if o["fusion"] == "concat" else down
                    gs, norms = net.gradients(a, own * inside(a[-1]))
                    shorter = np.minimum(1, o["clip"] / np.maximum(np.sqrt(norms), 1e-30)).astype(F)[..., None]
                    for k, g in gs:
                        g = g * shorter
                        for part, s in enumerate((a[k].swapaxes(-1, -2) @ g, g.sum(axis=-2, keepdims=True))):
                            s = s + F(noise * o["clip"]) * rng.standard_normal(s.shape, dtype=F)
                            net.adam.step((k, part), net.layers[k][part], s / F(size), rate)
                t += 1
                if o["average"] == "tail" and t > total / 2:
                    for net in parties + [head]:
                        net.add_to_mean()
    avg = o["average"] != "none"
    ends = [outside(F(o["sharp"]) * net.forward(x[None], avg)[-1]) for net, x in zip(parties, hx)]
    joined, exact = fuse([release(rng, beta, o["trials"], h) for h in ends]), fuse(ends)
    z, ze = head.forward(joined, avg)[-1], head.forward(exact, avg)[-1]
    return [(judge(name, z[s], hy), judge(name, ze[s], hy)) for s in range(seeds)]


def price(o, eps):
    """(beta, noise): the noise with which steps alone cost share of epsilon, and the widest coins that what is left
    pays for, among nobody else (M_eff = 1; under fusion sum a bound)."""
    noise = o["noise"]
    if o["share"]:
        low, high = 1.0, 2000.0
        for _ in range(40):
            middle = math.sqrt(low * high)
            cost = smallest(lambda a: o["epochs"] * o["steps"] * (2 + 2**-9) ** 2 / 2 * a / middle**2)
            low, high = (low, middle) if cost <= o["share"] * eps else (middle, high)
        noise = high
    return largest_beta(eps, o["p"] * o["epochs"], o["trials"], o["epochs"] * o["steps"], noise), noise


# --- central DP-SGD --------------------------------------------------------------------------------------


def central(name, eps, o, seeds, first, train, held):
    """Logistic regression by DP-SGD (Abadi et al. 2016) on all columns at once, Poisson batches, Adam under a cosine;
    scores in clear."""
    rng = np.random.default_rng([first, seeds])
    x, hx = np.concatenate(train[0], axis=1), np.concatenate(held[0], axis=1)
    y, n = train[1], len(train[1])
    classes = int(y.max()) + 1
    outs = 1 if classes == 2 else classes
    target = y[:, None].astype(F) if outs == 1 else np.eye(classes, dtype=F)[y]
    q = min(1.0, o["batch"] / n)
    steps = math.ceil(o["epochs"] / q)
    sigma = central_noise(eps, q, steps)
    scores = []
    for s in range(seeds):
        widths = [x.shape[1]] + o["layers"] + [outs]
        net = Net(rng, "glorot", 1, widths, "tanh")
        if not o["layers"]:
            net.layers[0][0][:] = 0
        for t in range(steps):
            rows = np.flatnonzero(rng.random(n) < q)
            rate = o["rate"] * 0.5 * (1 + math.cos(math.pi * t / steps))
            acts = net.forward(x[None, rows])
            z = acts[-1]
            if outs == 1:
                d = 1 / (1 + np.exp(-z)) - target[rows]
            else:
                e = np.exp(z - z.max(axis=-1, keepdims=True))
                d = e / e.sum(axis=-1, keepdims=True) - target[rows]
            gs, norms = net.gradients(acts, d.astype(F))
            shorter = np.minimum(1, o["clip"] / np.maximum(np.sqrt(norms), 1e-30)).astype(F)[..., None]
            for k, g in gs:
                g = g * shorter
                for part, total in enumerate((acts[k].swapaxes(-1, -2) @ g, g.sum(axis=-2, keepdims=True))):
                    total = total + F(sigma * o["clip"]) * rng.standard_normal(total.shape, dtype=F)
                    net.adam.step((k, part), net.layers[k][part], total / F(q * n), rate)
        scores.append(judge(name, net.forward(hx[None])[-1][0], held[1]))
    return sigma, scores


# --- what is run -----------------------------------------------------------------------------------------


def setting(pairs):
    o = dict(DEFAULTS)
    for pair in pairs:
        key, value = pair.split("=")
        have = o[key]
        o[key] = [int(v) for v in value.split("+") if v] if isinstance(have, list) else type(have)(value)
    return o


def central_all(folder, opt):
    """Settings by the held-out training rows, two seeds; then ten seeds on the test rows."""
    choices = [dict(layers=[], epochs=30, clip=1.0, rate=r) for r in (0.003, 0.01, 0.03, 0.1)]
    with open(opt.out, "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["table", "epsilon", "rate", "noise", "seed", "score"])
        for name in opt.tables.split(","):
            inner, outer = load(folder, name, "validation"), load(folder, name, "test")
            for eps in map(float, opt.epsilon.split(",")):
                scored = []
                for o in choices:
                    o["batch"] = len(inner[0][1]) // 10
                    scored.append(float(np.mean(central(name, eps, o, 2, 901, *inner)[1])))
                o = choices[int(np.argmax(scored))]
                o["batch"] = len(outer[0][1]) // 10
                sigma, scores = central(name, eps, o, 10, 1001, *outer)
                for k, v in enumerate(scores):
                    out.writerow([name, f"{eps:g}", o["rate"], f"{sigma:.3f}", 1001 + k, f"{v:.5f}"])
                f.flush()
                print(f"{name} {eps:g}: rate {o['rate']} of {scored}, {np.mean(scores):.4f} +- "
                      f"{np.std(scores, ddof=1):.4f}", flush=True)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("what", choices=["prepare", "score", "central"])
    a.add_argument("rest", nargs="*")
    a.add_argument("--tables", default="phishing,default-credit,mfeat")
    a.add_argument("--epsilon", default="4,10")
    a.add_argument("--seeds", type=int, default=4)
    a.add_argument("--first-seed", type=int, default=1)
    a.add_argument("--out", default="central.csv")
    a.add_argument("--split", default="validation", choices=["validation", "test"])
    opt = a.parse_args()
    if opt.what == "prepare":
        return prepare(*opt.rest)
    folder = opt.rest[0]
    if opt.what == "central":
        return central_all(folder, opt)
    for name in opt.tables.split(","):
        train, held = load(folder, name, opt.split)
        for eps in map(float, opt.epsilon.split(",")):
            o = setting(opt.rest[1:])
            beta, noise = price(o, eps)
            s = np.array(run(name, o, beta, noise, opt.seeds, opt.first_seed, train, held))
            print(f"{name} {eps:g} beta {beta:.4f} noise {noise:.2f}: {s[:, 0].mean():.4f} +- "
                  f"{s[:, 0].std(ddof=1):.4f}, without coins {s[:, 1].mean():.4f}")


if __name__ == "__main__":
    main()
