#!/usr/bin/python3
"""gen_rdp.py -- golden divergences of the Poisson Binomial Mechanism, for tests/unit/privacy.

Independent of the C code on purpose: the two laws are convolved literally, one Bernoulli trial after the
other, and summed with 50 digits; epsilon is minimised by a grid of orders and then by halving steps,
not by golden sections.

    python3 tests/golden/gen_rdp.py > tests/golden/rdp.txt        (needs python3-mpmath)

Lines:  rdp B BETA M EXCESS VALUE            D_(1+EXCESS)(P || Q), one coordinate, one release
        eps B BETA M COUNT DELTA EPSILON     COUNT such releases, record adjacency
        dp B BETA M P PARTS NOISE STEPS DELTA EPSILON
                                             PARTS participations of P coordinates and STEPS local
                                             steps at noise multiplier NOISE each

SPDX-License-Identifier: Apache-2.0
"""
from mpmath import mp, mpf, log, exp, nstr

mp.dps = 50


MOVE = 2 + mpf(2) ** -9         # what a record and rounding may move the sum of a batch by
ETA = mpf(2) ** (30 - 100)      # of the distance of all draws of a step


def paid(bound, delta, eta):
    """The epsilon at delta where eta of it is not the law's: bound(d) with d + (1 + e^epsilon) eta = delta; above
    20, where there is none, bound(delta)."""
    value = exact = bound(mpf(delta))
    for _ in range(6):
        left = mpf(delta) - (1 + exp(value)) * eta
        if left <= 0:
            return exact if exact > 20 else mpf('inf')
        value = bound(left)
    return value


def law(successes):
    """The law of a sum of independent trials with the given success probabilities."""
    p = [mpf(1)]
    for r in successes:
        p = [(p[s] * (1 - r) if s < len(p) else 0) + (p[s - 1] * r if s > 0 else 0)
             for s in range(len(p) + 1)]
    return p


def pair(b, beta, m):
    h, l = mpf(1) / 2 + mpf(beta), mpf(1) / 2 - mpf(beta)
    p = law([h] * (b * m))
    q = law([l] * b + [h] * (b * (m - 1)))
    return p, q


def renyi(p, q, excess):
    e = mpf(excess)
    return log(sum(x ** (1 + e) * y ** (-e) for x, y in zip(p, q))) / e


def steps_renyi(noise, excess):
    """One step: N(0, noise^2) against the same moved by MOVE (the clip is the unit), by its integral
    E_Q[(P/Q)^alpha] over the real line, trapezoids, which converge geometrically."""
    s, alpha = mpf(noise), 1 + mpf(excess)
    width = s / 8
    middle = -MOVE * (alpha - 1)                # where the integrand has its mode, Q moved to MOVE
    total = mpf(0)
    for i in range(-160, 161):
        x = middle + i * width
        total += exp(-alpha * x * x / (2 * s * s) + (alpha - 1) * (x - MOVE) ** 2 / (2 * s * s))
    return log(total * width / (s * mp.sqrt(2 * mp.pi))) / excess


def epsilon(p, q, count, delta, steps=0, noise=0):
    def bound(t):
        e = exp(t)
        total = count * renyi(p, q, e) + (steps * steps_renyi(noise, e) if steps else 0)
        return total + log(e / (1 + e)) - (log(mpf(delta)) + log(1 + e)) / e

    mp.dps = 25
    grid = [mpf(i) / 4 for i in range(-48, 33)]
    t = min(grid, key=bound)
    step = mpf(1) / 8
    while step > mpf(10) ** -8:  # the minimum is flat: its square is far below 10 digits
        t = min((t - step, t, t + step), key=bound)
        step /= 2
    value = bound(t)
    mp.dps = 50
    return max(value, mpf(0))


POINTS = [(1, "0.25", 2), (1, "0.01", 3), (2, "0.4", 5), (3, "0.0001", 4), (4, "0.1", 3), (5, "0.25", 1),
          (8, "0.25", 2), (8, "0.02", 28), (16, "0.2", 5), (32, "0.15", 5), (64, "0.1", 5), (64, "0.25", 4)]
EXCESSES = ["1e-9", "0.001", "0.25", "1", "7", "100"]
CLAIMS = [(1, "0.05", 3, 160, "1e-5"), (4, "0.1", 3, 1600, "1e-5"), (8, "0.02", 28, 16, "1e-7"),
          (16, "0.2", 5, 16, "1e-5"), (2, "0.4", 5, 64, "1e-6")]
STEPPED = [(4, "0.1", 2, 2, 5, "10", 5, "1e-5"), (4, "0.1", 1, 2, 5, "10", 5, "1e-5"),
           (16, "0.05", 4, 8, 3, "2.5", 1, "1e-6"), (2, "0.3", 3, 1, 40, "30", 20, "1e-5")]


def main():
    print("# made by gen_rdp.py")
    for b, beta, m in POINTS:
        p, q = pair(b, beta, m)
        for excess in EXCESSES:
            print("rdp", b, beta, m, excess, nstr(renyi(p, q, excess), 15))
    for b, beta, m, count, delta in CLAIMS:
        p, q = pair(b, beta, m)
        print("eps", b, beta, m, count, delta, nstr(epsilon(p, q, count, delta), 12))
    for b, beta, m, coordinates, parts, noise, steps, delta in STEPPED:
        p, q = pair(b, beta, m)
        value = paid(lambda d: epsilon(p, q, parts * coordinates, d, parts * steps, noise), delta, parts * steps * ETA)
        print("dp", b, beta, m, coordinates, parts, noise, steps, delta, nstr(value, 12))


if __name__ == "__main__":
    main()
