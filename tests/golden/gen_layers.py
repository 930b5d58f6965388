#!/usr/bin/env python3
"""gen_layers.py -- nets of images and series in float64, by PyTorch's definitions written out as sums.

    /usr/bin/python3 tests/golden/gen_layers.py > tests/golden/layers.json

Weights have PyTorch's names and layout; they and the inputs are rounded to float32 first, so both
sides start from the same numbers.  Gradients are not here: tests/unit/nn/test_layer.c holds them
against differences.

SPDX-License-Identifier: Apache-2.0
"""
import json

import numpy as np

ROWS = 3
rng = np.random.RandomState(20240611)
tensors = []


def single(a):
    return np.asarray(a, np.float32).astype(np.float64)


def flat(a):
    return [float("%.9g" % v) for v in np.ravel(a)]


def weight(name, *shape):
    w = single(rng.normal(0, 0.4, shape))
    tensors.append({"name": name, "shape": list(shape), "values": flat(w)})
    return w


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def windows(x, size, stride, padding, outside):
    """x (C, H, W) to (C, OH, OW, kh, kw)."""
    (kh, kw), (sh, sw), (ph, pw) = size, stride, padding
    c, h, w = x.shape
    p = np.full((c, h + 2 * ph, w + 2 * pw), outside, np.float64)
    p[:, ph:ph + h, pw:pw + w] = x
    oh, ow = (h + 2 * ph - kh) // sh + 1, (w + 2 * pw - kw) // sw + 1
    return np.array([[[p[k, i * sh:i * sh + kh, j * sw:j * sw + kw] for j in range(ow)]
                      for i in range(oh)] for k in range(c)])


def conv(x, w, b, stride, padding, groups=1):
    v = windows(x, w.shape[2:], stride, padding, 0.0)
    each, out = x.shape[0] // groups, w.shape[0] // groups
    return np.array([
        np.einsum("cijab,cab->ij", v[o // out * each:(o // out + 1) * each], w[o]) + b[o]
        for o in range(w.shape[0])])


def norm(x, groups, w, b):
    g = x.reshape(groups, -1)
    z = (g - g.mean(1, keepdims=True)) / np.sqrt(g.var(1, keepdims=True) + 1e-5)
    return z.reshape(x.shape) * w[:, None, None] + b[:, None, None]


def memory(x, wi, wh, bi, bh):
    h = c = np.zeros(wh.shape[1])
    out = []
    for step in x:
        i, f, g, o = np.split(wi @ step + bi + wh @ h + bh, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        out.append(h)
    return np.array(out)


def image():
    w0, b0 = weight("0.weight", 4, 2, 3, 3), weight("0.bias", 4)
    w3, b3 = weight("3.weight", 6, 2, 3, 3), weight("3.bias", 6)
    w4, b4 = weight("4.weight", 6), weight("4.bias", 6)
    w8, b8 = weight("8.weight", 3, 54), weight("8.bias", 3)

    def net(x):
        x = np.maximum(conv(x, w0, b0, (1, 1), (1, 1)), 0)
        x = windows(x, (2, 2), (2, 2), (0, 0), -np.inf).max((3, 4))
        x = np.tanh(norm(conv(x, w3, b3, (2, 2), (1, 1), 2), 3, w4, b4))
        x = windows(x, (2, 2), (1, 1), (1, 1), 0.0).mean((3, 4))
        return np.tanh(w8 @ x.ravel() + b8)
    return net, (2, 8, 7)


def series():
    w0, b0 = weight("0.weight", 4, 3, 5), weight("0.bias", 4)
    w2, b2 = weight("2.weight", 4), weight("2.bias", 4)
    w5, b5 = weight("5.weight", 2, 12), weight("5.bias", 2)

    def net(x):
        x = sigmoid(conv(x.T[:, None], w0[:, :, None], b0, (1, 2), (0, 2)))
        x = windows(norm(x, 1, w2, b2), (1, 3), (1, 2), (0, 1), -np.inf).max((3, 4))
        return np.tanh(w5 @ x.ravel() + b5)
    return net, (10, 3)


def memories():
    first = [weight("0." + n, *s) for n, s in (("weight_ih_l0", (16, 3)), ("weight_hh_l0", (16, 4)),
                                               ("bias_ih_l0", (16,)), ("bias_hh_l0", (16,)))]
    second = [weight("1." + n, *s) for n, s in (("weight_ih_l0", (20, 4)), ("weight_hh_l0", (20, 5)),
                                                ("bias_ih_l0", (20,)), ("bias_hh_l0", (20,)))]
    w, b = weight("2.weight", 2, 5), weight("2.bias", 2)
    return (lambda x: w @ memory(memory(x, *first), *second)[-1] + b), (6, 3)


def case(make):
    tensors.clear()
    net, shape = make()
    x = single(rng.normal(0, 1, (ROWS,) + shape))
    return {"x": flat(x), "y": flat([net(row) for row in x]), "tensors": list(tensors)}


print(json.dumps({"image": case(image), "series": case(series), "memory": case(memories)},
                 separators=(",", ":")))
