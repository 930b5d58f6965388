#!/usr/bin/env python3
"""gen_nn.py -- golden vectors of common/nn in float64, by explicit formulas that share no code with it.

    /usr/bin/python3 tests/golden/gen_nn.py > tests/golden/nn.json

Inputs are rounded to float32 first, so both sides start from the same numbers.

SPDX-License-Identifier: Apache-2.0
"""
import json

import numpy as np

WIDTH, ROWS, SCALE, RATE, STEPS = [6, 8, 5, 3], 7, 2.5, 0.05, 3
rng = np.random.RandomState(20240611)


def single(a):
    return np.asarray(a, np.float32).astype(np.float64)


def flat(a):
    return [float("%.9g" % v) for v in np.ravel(a)]


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


# 6 -> 8 relu -> 5 sigmoid -> 3, 2.5 tanh; mean cross-entropy on the scaled tanh.
def forward(p, x):
    z1 = x @ p["w0"] + p["b0"]
    a1 = np.maximum(z1, 0)
    a2 = 1 / (1 + np.exp(-(a1 @ p["w1"] + p["b1"])))
    t3 = np.tanh(a2 @ p["w2"] + p["b2"])
    return a1, a2, t3, SCALE * t3


def gradients(p, x, label):
    a1, a2, t3, y = forward(p, x)
    s = softmax(y)
    loss = -np.mean(np.log(s[np.arange(len(label)), label]))
    onehot = np.eye(WIDTH[3])[label]
    dy = (s - onehot) / len(label)
    d3 = dy * SCALE * (1 - t3**2)
    d2 = (d3 @ p["w2"].T) * a2 * (1 - a2)
    d1 = (d2 @ p["w1"].T) * (a1 > 0)
    g = {"w0": x.T @ d1, "b0": d1.sum(0), "w1": a1.T @ d2, "b1": d2.sum(0)}
    g.update({"w2": a2.T @ d3, "b2": d3.sum(0)})
    return loss, y, dy, g, d1 @ p["w0"].T


def sgd(state, key, g, t):
    return RATE * g


def momentum(state, key, g, t):
    state[key] = 0.9 * state.get(key, 0.0) + g
    return RATE * state[key]


def adam(state, key, g, t):
    m, v = state.get(key, (0.0, 0.0))
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
    state[key] = m, v
    return RATE * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)


KEYS = ["w0", "b0", "w1", "b1", "w2", "b2"]


def params(p):
    return sum((flat(p[k]) for k in KEYS), [])


def train(rule, p, x, label):
    p, state, after = dict(p), {}, []
    for t in range(1, STEPS + 1):
        g = gradients(p, x, label)[3]
        p = {k: p[k] - rule(state, k, g[k], t) for k in KEYS}
        after.append(params(p))
    return after


def net():
    p = {}
    for i in range(3):
        p["w%d" % i] = single(rng.normal(size=(WIDTH[i], WIDTH[i + 1])) * 0.6)
        p["b%d" % i] = single(rng.normal(size=WIDTH[i + 1]) * 0.3)
    x, label = single(rng.normal(size=(ROWS, WIDTH[0]))), rng.randint(0, WIDTH[3], ROWS)
    loss, y, dy, g, dx = gradients(p, x, label)
    out = {"params": params(p), "x": flat(x), "label": label.tolist(), "y": flat(y)}
    out.update({"loss": loss, "dy": flat(dy), "gradient": params(g), "dx": flat(dx)})
    out.update({r.__name__: train(r, p, x, label) for r in (sgd, momentum, adam)})
    return out


# FedVS, equation (1): h = x W1 + x^2 W2 + x^3 W3, powers by element; half the squared distance to a target.
FEATURES, DEGREE, EMBEDDING = 4, 3, 5


def polynomial_gradients(w, x, target):
    h = sum(x**i @ w[i] for i in w)
    dy = (h - target) / len(x)
    return h, dy, {i: (x**i).T @ dy for i in w}


def polynomial_params(w):
    return sum((flat(w[i]) for i in sorted(w)), [])


def polynomial_train(rule, w, x, target):
    w, state, after = dict(w), {}, []
    for t in range(1, STEPS + 1):
        g = polynomial_gradients(w, x, target)[2]
        w = {i: w[i] - rule(state, i, g[i], t) for i in w}
        after.append(polynomial_params(w))
    return after


def polynomial():
    own = np.random.RandomState(20230713)
    w = {i: single(own.normal(size=(FEATURES, EMBEDDING)) * 0.5) for i in range(1, DEGREE + 1)}
    x, target = single(own.normal(size=(ROWS, FEATURES))), single(own.normal(size=(ROWS, EMBEDDING)))
    h, dy, g = polynomial_gradients(w, x, target)
    out = {"params": polynomial_params(w), "x": flat(x), "target": flat(target), "y": flat(h)}
    out.update({"dy": flat(dy), "gradient": polynomial_params(g)})
    out.update({r.__name__: polynomial_train(r, w, x, target) for r in (sgd, momentum, adam)})
    return out


# Extreme logits included: a formula that is not stable gives inf or nan there.
def losses():
    z = single(np.vstack([rng.normal(size=(4, 4)) * 3, [[90, -90, 0, 1], [-200, -201, -199, -200]]]))
    label = np.array([0, 3, 1, 2, 0, 1])
    s = softmax(z)
    logs = z - z.max(1, keepdims=True)
    logs = logs - np.log(np.exp(logs).sum(1, keepdims=True))
    soft = {"logits": flat(z), "target": label.tolist(), "prob": flat(s)}
    soft["loss"] = float(-np.mean(logs[np.arange(6), label]))
    soft["dz"] = flat((s - np.eye(4)[label]) / 6)

    z, t = single([0.0, 1.5, -2.25, 60.0, -60.0, 88.0, -3.0]), np.array([1, 0, 1, 0, 1, 1, 0])
    p = 1 / (1 + np.exp(-z))
    sigm = {"logits": flat(z), "target": t.tolist(), "prob": flat(p)}
    sigm["loss"] = float(np.mean(np.logaddexp(0, z) - t * z))
    sigm["dz"] = flat((p - t) / 7)

    z, t = single(rng.normal(size=5) * 4), single(rng.normal(size=5))
    square = {"logits": flat(z), "target": flat(t), "prob": flat(z)}
    square["loss"] = float(np.mean((z - t) ** 2) / 2)
    square["dz"] = flat((z - t) / 5)
    return {"softmax": soft, "sigmoid": sigm, "squared": square}


if __name__ == "__main__":
    text = json.dumps({"net": net(), "loss": losses(), "polynomial": polynomial()}, separators=(",", ":"))
    print(text.replace('],"', '],\n"').replace("],[", "],\n["))
