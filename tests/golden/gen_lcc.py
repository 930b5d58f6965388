#!/usr/bin/python3
"""Writes tests/golden/lcc.h: Lagrange-coded shares, by linear algebra on whole numbers.

    /usr/bin/python3 tests/golden/gen_lcc.py > tests/golden/lcc.h

The polynomial of each column is solved for by Gaussian elimination (its coefficients, by which nothing in the product
goes) and evaluated by Horner's rule.  Standard library only; shares no code with the product.

SPDX-License-Identifier: Apache-2.0
"""

# M, K, T, prime, columns, the members who are decoded from
CASES = [
    (2, 1, 1, 5, 7, [1, 0]),
    (3, 1, 2, 7, 7, [2, 0, 1]),
    (5, 3, 1, 11, 5, [4, 1, 2, 3]),
    (10, 4, 2, 641, 9, [9, 0, 3, 7, 5, 2]),
    (10, 3, 5, 16381, 4, [1, 2, 3, 4, 6, 7, 8, 9]),
    (28, 15, 5, 32771, 3, [27, 1, 2, 3, 25, 5, 6, 7, 23, 9, 10, 11, 21, 13, 14, 15, 17, 19, 18, 0]),
    (7, 2, 3, 65521, 6, [6, 4, 2, 0, 5]),
]


def row_element(dealer, u, column, p):
    return (7919 * dealer + 104729 * u + 1299709 * column + 31 * (dealer + 1) * (u + 2) * (column + 3) + 17) % p


def solve(points, values, p):
    """The coefficients, constant first, of the polynomial through the points."""
    n = len(points)
    rows = [[pow(x, k, p) for k in range(n)] + [y % p] for x, y in zip(points, values)]
    for k in range(n):
        pivot = next(r for r in range(k, n) if rows[r][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        scale = pow(rows[k][k], -1, p)
        rows[k] = [v * scale % p for v in rows[k]]
        for r in range(n):
            if r != k:
                factor = rows[r][k]
                rows[r] = [(a - factor * b) % p for a, b in zip(rows[r], rows[k])]
    return [row[n] for row in rows]


def evaluate(coefficients, x, p):
    total = 0
    for a in reversed(coefficients):
        total = (total * x + a) % p
    return total


def shares_of(dealer, parties, threshold, p, columns):
    """parties x columns: the polynomial has row u at u + 1, share j is its value at threshold + 1 + j."""
    shares = [[0] * columns for _ in range(parties)]
    for column in range(columns):
        f = solve(range(1, threshold + 1), [row_element(dealer, u, column, p) for u in range(threshold)], p)
        for j in range(parties):
            shares[j][column] = evaluate(f, threshold + 1 + j, p)
    return shares


def decoded(sums, who, segments, threshold, p, columns):
    out = [[0] * columns for _ in range(segments)]
    for column in range(columns):
        f = solve([threshold + 1 + j for j in who], [sums[j][column] for j in who], p)
        for k in range(segments):
            out[k][column] = evaluate(f, k + 1, p)
    return out


def array(name, kind, values):
    text = "static const %s %s[] = {" % (kind, name)
    line = ""
    for v in values:
        if len(line) + len(str(v)) > 90:
            text += "\n    " + line.rstrip()
            line = ""
        line += "%d, " % v
    print(text + "\n    " + line.rstrip() + "\n};")


def main():
    print("/* lcc.h -- written by tests/golden/gen_lcc.py; do not edit.\n *\n"
          " * SPDX-License-Identifier: Apache-2.0\n */\n#include <stdint.h>\n")
    for i, (parties, segments, privacy, p, columns, who) in enumerate(CASES):
        threshold = segments + privacy
        assert len(who) == threshold <= parties and p > parties + threshold
        dealt = [shares_of(d, parties, threshold, p, columns) for d in range(parties)]
        sums = [[sum(s[j][c] for s in dealt) % p for c in range(columns)] for j in range(parties)]
        out = decoded(sums, who, segments, threshold, p, columns)
        for k in range(segments):
            for c in range(columns):
                assert out[k][c] == sum(row_element(d, k, c, p) for d in range(parties)) % p
        array("golden_lcc_who_%d" % i, "uint32_t", who)
        array("golden_lcc_first_%d" % i, "uint16_t", [v for row in dealt[0] for v in row])
        array("golden_lcc_sums_%d" % i, "uint16_t", [v for row in sums for v in row])
        array("golden_lcc_out_%d" % i, "uint16_t", [v for row in out for v in row])
    print("\n/* Shares of dealer 0, M x columns; sums of all M dealers' shares; K x columns decoded from `who`. */")
    print("static const struct golden_lcc {\n    uint32_t parties, segments, privacy, prime, columns;\n"
          "    const uint32_t *who;\n    const uint16_t *first, *sums, *out;\n} GOLDEN_LCC[] = {")
    for i, (parties, segments, privacy, p, columns, _) in enumerate(CASES):
        print("    {%d, %d, %d, %d, %d, golden_lcc_who_%d, golden_lcc_first_%d, golden_lcc_sums_%d, golden_lcc_out_%d},"
              % (parties, segments, privacy, p, columns, i, i, i, i))
    print("};")


if __name__ == "__main__":
    main()
