#!/usr/bin/python3
"""Writes tests/golden/gauss.h: weights of the discrete Gaussian in units of 2^-124.

    /usr/bin/python3 tests/golden/gen_gauss.py > tests/golden/gauss.h

Independent of the C code on purpose: each e^(-m^2 / 2 s^2) by itself, by the exponential of decimal arithmetic with
90 digits, over the sum of all; the C code goes from one to the next in fixed point.  The sums' laws are in
test_gauss.c.  Standard library only.

SPDX-License-Identifier: Apache-2.0
"""
from decimal import Decimal, getcontext, ROUND_FLOOR

getcontext().prec = 90

# sigma, what its square is divided by, magnitudes in the table
TABLES = [("4", 1, 50), ("7.3", 1, 91), ("16", 1, 196), ("64.5", 26, 156), ("1000", 8245, 136)]


def weights(sigma, part):
    a = Decimal(part) / (2 * Decimal(float(sigma)) ** 2)
    w = [(-a * m * m).exp() for m in range(1200)]   # what is left beyond is below 10^-100
    total = w[0] + 2 * sum(w[1:])
    return [w[0] / total] + [2 * x / total for x in w[1:]]


print("/* gauss.h -- made by tests/golden/gen_gauss.py.\n * SPDX-License-Identifier: Apache-2.0\n */")
print("#ifndef COLONNADE_TESTS_GOLDEN_GAUSS_H\n#define COLONNADE_TESTS_GOLDEN_GAUSS_H\n\n#include <stdint.h>\n")
print("/* Upper and lower 62 bits of floor(2^124 P(|X| = m)), m = 0.. */")
print("struct golden_gauss {\n    double sigma;\n    uint64_t part;\n    uint32_t entries;"
      "\n    const uint64_t (*weight)[2];\n};\n")
for n, (sigma, part, entries) in enumerate(TABLES):
    print(f"static const uint64_t golden_gauss_{n}[{entries}][2] = {{")
    for p in weights(sigma, part)[:entries]:
        units = int((p * 2 ** 124).to_integral_value(rounding=ROUND_FLOOR))
        print(f"    {{0x{units >> 62:016x}, 0x{units & (1 << 62) - 1:016x}}},")
    print("};")
print("\nstatic const struct golden_gauss golden_gauss[] = {")
for n, (sigma, part, entries) in enumerate(TABLES):
    print(f"    {{{float(sigma)}, {part}, {entries}, golden_gauss_{n}}},")
print("};\n\n#endif")
