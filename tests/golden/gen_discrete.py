#!/usr/bin/python3
"""gen_discrete.py -- golden divergences of sums of discrete Gaussians, for tests/unit/privacy.

Independent of the C code on purpose: the laws of the sums are convolved, value by value, with 40 digits, and their
divergence summed; claims are minimised by a grid of orders and then by halving steps.

    python3 tests/golden/gen_discrete.py > tests/golden/discrete.txt        (needs python3-mpmath)

Lines:  tau RATIO N VALUE                        Kairouz, Liu and Steinke 2021, Theorem 1
        sum RATIO N SHIFT EXCESS VALUE           D_(1+EXCESS) of the sum of N, sigma RATIO steps each, and the same
                                                 moved by SHIFT steps
        eps SIGMA STEP CLIP P M RELEASES DELTA EPSILON
                                                 the server's claim for the columns of one party among M, masked,
                                                 the draws' distance paid for

SPDX-License-Identifier: Apache-2.0
"""
from mpmath import mp, mpf, exp, log, nstr, pi, sqrt

from gen_rdp import paid

mp.dps = 40


def tau(ratio, n):
    return 10 * sum((exp(-2 * pi ** 2 * mpf(ratio) ** 2 * k / (k + 1)) for k in range(1, n)), mpf(0))


def sum_law(ratio, n):
    """P(z), z = -reach .. reach, of the sum of n."""
    reach = int(14 * float(ratio)) + 2
    one = [exp(-mpf(z) ** 2 / (2 * mpf(ratio) ** 2)) for z in range(-reach, reach + 1)]
    total = sum(one)
    one = [p / total for p in one]
    law = [mpf(1)]
    for _ in range(n):
        new = [mpf(0)] * (len(law) + len(one) - 1)
        for i, p in enumerate(law):
            for j, q in enumerate(one):
                new[i + j] += p * q
        law = new
    return law


def renyi(law, shift, excess):
    """What is cut off beyond 14 sigma is below 10^-40, and so is left out where either law ends."""
    e = mpf(excess)
    pairs = [(law[i], law[i - shift]) for i in range(shift, len(law))]
    return log(sum(p * (p / q) ** e for p, q in pairs)) / e


def claim(sigma, step, clip, p, m, releases, delta):
    s, c, t, d = mpf(sigma), mpf(clip), tau(mpf(sigma) / mpf(step), m), mpf(p)
    reach2 = 4 * c * c * d / (m * s * s)
    cost = releases * min(reach2 + 2 * t * d, (sqrt(reach2) + t * sqrt(d)) ** 2) / 2

    def at(d_):
        def bound(t_):
            e = exp(t_)
            return (1 + e) * cost + log(e / (1 + e)) - (log(d_) + log(1 + e)) / e

        x = min([mpf(i) / 4 for i in range(-48, 33)], key=bound)
        width = mpf(1) / 8
        while width > mpf(10) ** -10:
            x = min((x - width, x, x + width), key=bound)
            width /= 2
        return max(bound(x), mpf(0))

    return paid(at, delta, mpf(2) ** -100 * p * m * releases)


def main():
    print("# made by gen_discrete.py")
    for ratio in ("0.5", "1", "4"):
        for n in (1, 2, 5, 100):
            print("tau", ratio, n, nstr(tau(ratio, n), 15))
    for ratio, n, shift in (("0.5", 1, 1), ("0.5", 3, 1), ("0.7", 2, 2), ("1", 2, 1), ("1", 4, 3), ("4", 1, 8),
                            ("4", 2, 8), ("4", 3, 5)):
        law = sum_law(ratio, n)
        for excess in ("0.001", "0.5", "3"):
            print("sum", ratio, n, shift, excess, nstr(renyi(law, shift, excess), 15))
    for case in ((4, 1, 1, 2, 3, 1, "1e-5"), (30, "0.5", 4, 4, 5, 10, "1e-6"), (16, 1, 16, 2, 5, 1, "1e-5"),
                 (2, "0.001", 1, 16, 28, 100, "1e-5"), (4, "0.25", 1, 1000, 2, 1000, "1e-5")):
        print("eps", *case, nstr(claim(*case), 12))


main()
