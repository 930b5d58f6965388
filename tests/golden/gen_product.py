#!/usr/bin/python3
"""Writes tests/golden/product.h: coded products (FedVS, eq. 2, 4, 6), by linear algebra on whole numbers.

    /usr/bin/python3 tests/golden/gen_product.py > tests/golden/product.h

Every polynomial is solved for by Gaussian elimination (its coefficients, by which nothing in the product goes) and
evaluated by Horner's rule.  What is decoded must be the segments times the model, computed without any polynomial.
Standard library only; shares no code with the product.

SPDX-License-Identifier: Apache-2.0
"""

from gen_lcc import array, evaluate, solve

P31 = 2**31 - 1
P61 = 2**61 - 1

# M, K, T, prime, rows of a segment, inputs, width, largest absolute value (0: any element), the members decoded from
CASES = [
    (3, 1, 1, P31, 2, 2, 2, 0, [2, 0, 1]),
    (3, 1, 1, P61, 1, 1, 1, 0, [0, 1, 2]),
    (5, 2, 1, P31, 3, 4, 2, 1000, [4, 1, 3, 0, 2]),
    (7, 1, 2, P61, 2, 3, 2, 0, [6, 0, 5, 2, 3]),
    (10, 3, 1, P61, 2, 5, 3, 100000, [9, 2, 0, 8, 4, 5, 1]),
    (10, 2, 3, P31, 1, 3, 2, 0, [3, 9, 1, 0, 7, 8, 2, 6, 5]),
    (12, 4, 2, P61, 1, 2, 2, 0, [11, 0, 1, 10, 9, 2, 3, 8, 7, 4, 6]),
]


def numbers(state, n, p, most):
    """n elements; of a linear congruence's upper bits."""
    out = []
    for _ in range(n):
        state[0] = (state[0] * 6364136223846793005 + 1442695040888963407) % 2**64
        value = state[0] >> 2
        out.append((value % (2 * most + 1) - most) % p if most else value % p)
    return out


def shares_of(rows, parties, p):
    """Row u of each column is the polynomial's value at u + 1, share j that at len(rows) + 1 + j."""
    n = len(rows)
    columns = [solve(range(1, n + 1), column, p) for column in zip(*rows)]
    return [[evaluate(f, n + 1 + j, p) for f in columns] for j in range(parties)]


def matrix_product(x, w, rows, inputs, width, p):
    return [sum(x[r * inputs + i] * w[i * width + c] for i in range(inputs)) % p
            for r in range(rows) for c in range(width)]


def decoded(results, who, segments, threshold, p):
    points = [threshold + 1 + j for j in who]
    columns = [solve(points, column, p) for column in zip(*[results[j] for j in who])]
    return [[evaluate(f, k + 1, p) for f in columns] for k in range(segments)]


def flat(rows):
    return [v for row in rows for v in row]


def write_case(number, case):
    parties, segments, privacy, p, rows, inputs, width, most, who = case
    threshold = segments + privacy
    assert len(who) == 2 * (threshold - 1) + 1 <= parties and p > parties + threshold
    state = [number + 1]
    x = [numbers(state, rows * inputs, p, most) for _ in range(segments)]
    x_masks = [numbers(state, rows * inputs, p, 0) for _ in range(privacy)]
    w = numbers(state, inputs * width, p, most)
    w_masks = [numbers(state, inputs * width, p, 0) for _ in range(privacy)]
    x_shares = shares_of(x + x_masks, parties, p)
    w_shares = shares_of([w] * segments + w_masks, parties, p)
    results = [matrix_product(x_shares[j], w_shares[j], rows, inputs, width, p) for j in range(parties)]
    out = decoded(results, who, segments, threshold, p)
    assert out == [matrix_product(segment, w, rows, inputs, width, p) for segment in x]
    array("golden_product_who_%d" % number, "uint32_t", who)
    for name, values in (("x", x + x_masks), ("w", [w] + w_masks), ("x_shares", x_shares), ("w_shares", w_shares),
                         ("results", results), ("out", out)):
        array("golden_product_%s_%d" % (name, number), "uint64_t", flat(values))


def main():
    print("/* product.h -- written by tests/golden/gen_product.py; do not edit.\n *\n"
          " * SPDX-License-Identifier: Apache-2.0\n */\n#include <stdint.h>\n")
    for i, case in enumerate(CASES):
        write_case(i, case)
    print("\n/* x: (K+T) x (rows inputs), w: (1+T) x (inputs width), the last T rows masks; shares of each, M rows;\n"
          " * results: M x (rows width), each member's product; out: K x (rows width), decoded from `who`. */")
    print("static const struct golden_product {\n    uint32_t bits, parties, segments, privacy, rows, inputs, width;\n"
          "    const uint32_t *who;\n    const uint64_t *x, *w, *x_shares, *w_shares, *results, *out;\n"
          "} GOLDEN_PRODUCT[] = {")
    for i, (parties, segments, privacy, p, rows, inputs, width, _, _) in enumerate(CASES):
        print("    {%d, %d, %d, %d, %d, %d, %d," % (p.bit_length(), parties, segments, privacy, rows, inputs, width))
        print("     " + " ".join("golden_product_%s_%d," % (name, i) for name in ("who", "x", "w")))
        print("     " + " ".join("golden_product_%s_%d%s" % (name, i, "}," if name == "out" else ",")
                                 for name in ("x_shares", "w_shares", "results", "out")))
    print("};")


main()
