#!/usr/bin/python3
"""Writes tests/golden/gaussian.h: the exact condition of the Gaussian mechanism in 60 digits.

    /usr/bin/python3 tests/golden/gen_gaussian.py > tests/golden/gaussian.h

delta(sigma) = Phi(r/2s - e s/r) - exp(e) Phi(-r/2s - e s/r)   (Balle and Wang 2018, Theorem 8), with Phi by its
power series or continued fraction in decimal arithmetic.  Standard library only.

SPDX-License-Identifier: Apache-2.0
"""
from decimal import Decimal, getcontext

getcontext().prec = 60
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")

# reach, sigma, epsilon
CASES = [("1", "1", "1"), ("1", "0.5", "0.1"), ("1", "3.730632", "1"), ("2", "0.25", "8"), ("8", "20", "0.5"),
         ("1", "100", "0.01"), ("1", "0.05", "150"), ("1", "0.012", "4000"), ("0.001", "0.004", "1"),
         ("1000", "90", "100"), ("1", "0.045", "300")]


def tail(x):
    """1 - Phi(x) for x >= 0."""
    density = (-x * x / 2).exp() / (2 * PI).sqrt()
    if x < 6:
        term = total = x
        k = 1
        while abs(term) > Decimal(10)**-58:
            term *= x * x / (2 * k + 1)
            total += term
            k += 1
        return Decimal("0.5") - density * total
    fraction = Decimal(0)
    for k in range(2000, 0, -1):
        fraction = k / (x + fraction)
    return density / (x + fraction)


def phi(x):
    return tail(-x) if x < 0 else 1 - tail(x)


def main():
    print("/* gaussian.h -- written by tests/golden/gen_gaussian.py; do not edit.\n *\n"
          " * SPDX-License-Identifier: Apache-2.0\n */\n"
          "static const struct golden_gaussian {\n    double reach, sigma, epsilon, delta;\n} GOLDEN_GAUSSIAN[] = {")
    for reach, sigma, epsilon in CASES:
        r, s, e = Decimal(reach), Decimal(sigma), Decimal(epsilon)
        delta = phi(r / (2 * s) - e * s / r) - e.exp() * phi(-r / (2 * s) - e * s / r)
        print("    {%s, %s, %s, %.17e}," % (reach, sigma, epsilon, delta))
    print("};")


main()
