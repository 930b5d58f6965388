#!/usr/bin/env python3
"""fit_tanh.py -- the coefficients of common/nn/act.c's tanh, printed with the error of the fit.

tanh(x) ~ x P(x^2) / Q(x^2) on [0, 9.02], P and Q of degree 4, Q(0) = 1; minimax in relative error by Lawson's
reweighting of the linearised least-squares problem.

SPDX-License-Identifier: Apache-2.0
"""
import numpy as np

DEGREE, END, POINTS, ROUNDS = 4, 9.02, 4000, 200


def fit():
    node = np.cos(np.pi * (np.arange(POINTS) + 0.5) / POINTS)
    x = (node + 1) / 2 * END + 1e-9
    s = (x / END) ** 2  # scaled, or the powers of x^2 <= 81 spoil the conditioning
    f = np.tanh(x) / x
    powers = np.stack([s**i for i in range(DEGREE + 1)], 1)
    a = np.hstack([powers, -f[:, None] * powers[:, 1:]])
    weight, q = np.ones(POINTS), np.ones(POINTS)
    best = (np.inf, None)
    for _ in range(ROUNDS):
        row = np.sqrt(weight) / (np.abs(q) * f)
        c = np.linalg.lstsq(a * row[:, None], f * row, rcond=1e-18)[0]
        q = 1 + powers[:, 1:] @ c[DEGREE + 1 :]
        error = np.abs(powers @ c[: DEGREE + 1] / q / f - 1)
        if error.max() < best[0]:
            best = (error.max(), c.copy())
        weight *= error / error.max() + 1e-3
        weight *= POINTS / weight.sum()
    return best


if __name__ == "__main__":
    error, c = fit()
    scale = END ** (-2.0 * np.arange(DEGREE + 1))
    print("relative error %.2e" % error)
    print("P", " ".join("%.9e" % v for v in c[: DEGREE + 1] * scale))
    print("Q", " ".join("%.9e" % v for v in np.concatenate([[1.0], c[DEGREE + 1 :] * scale[1:]])))
