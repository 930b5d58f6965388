#!/usr/bin/python3
"""gen_statistics.py -- golden charges of statistics with noise, for tests/unit/privacy.

Independent of the C code on purpose: rho is found by bisection of the claim, which is minimised by a grid of orders and
then by halving steps, with 40 digits.

    python3 tests/golden/gen_statistics.py > tests/golden/statistics.txt    (needs python3-mpmath)

Lines:  spend EPSILON DELTA MEANS COUNTS TOGETHER RHO SIGMA-MEANS SIGMA-COUNTS

A budget for columns of which MEANS need moments (3 numbers, moved by 2 units of 4096) and COUNTS a tree of counts (340
numbers in 4 levels, moved by sqrt(8) units): what a record may cost, and the noise where TOGETHER rows change together.

SPDX-License-Identifier: Apache-2.0
"""
from mpmath import mp, mpf, exp, log, nstr, sqrt

from gen_rdp import paid

mp.dps = 40


def claim(rho, delta, draws):
    def at(d):
        def bound(t):
            e = exp(t)
            return (1 + e) * rho + log(e / (1 + e)) - (log(d) + log(1 + e)) / e

        x = min([mpf(i) / 4 for i in range(-48, 49)], key=bound)
        width = mpf(1) / 8
        while width > mpf(10) ** -12:
            x = min((x - width, x, x + width), key=bound)
            width /= 2
        return max(bound(x), mpf(0))

    return paid(at, delta, mpf(2) ** -100 * draws)


def main():
    print("# made by gen_statistics.py")
    for epsilon, delta, means, counts, together in (("1", "1e-6", 1, 0, 1), ("1", "1e-6", 3, 2, 1),
                                                    ("0.1", "1e-5", 0, 1, 4), ("8", "1e-9", 10, 10, 1),
                                                    ("20", "1e-3", 1, 1, 30)):
        low, high = mpf(-40), mpf(5)
        for _ in range(90):
            middle = (low + high) / 2
            if claim(exp(middle), mpf(delta), 3 * means + 340 * counts) <= mpf(epsilon):
                low = middle
            else:
                high = middle
        rho = exp(low)
        each = sqrt((means + counts) / (2 * rho)) * 4096 * together
        print("spend", epsilon, delta, means, counts, together, nstr(rho, 15), nstr(2 * each, 15),
              nstr(sqrt(mpf(8)) * each, 15))


if __name__ == "__main__":
    main()
