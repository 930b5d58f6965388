#!/usr/bin/python3
"""Writes tests/golden/field.h: arithmetic modulo 2^31 - 1 and 2^61 - 1, by python's whole numbers.

    /usr/bin/python3 tests/golden/gen_field.py > tests/golden/field.h

Matrices come from mixed(), which the tests have as well: 64-bit words, wrapped.  Standard library only; shares no code
with the product.

SPDX-License-Identifier: Apache-2.0
"""

WORD = 2**64
SHAPES = [(1, 1, 1), (2, 3, 4), (5, 29, 7), (3, 300, 17), (9, 113, 33)]


def mixed(seed, i):
    x = (i + 1) * (2 * seed + 1) * 0x9E3779B97F4A7C15 % WORD
    x = (x ^ x >> 29) * 0xBF58476D1CE4E5B9 % WORD
    return x ^ x >> 32


def operands(p, bits):
    ends = [0, 1, 2, (p - 1) // 2, (p + 1) // 2, p - 2, p - 1, 2**(bits // 2), p - 2**(bits // 2)]
    some = [mixed(7, i) % p for i in range(12)]
    return [(a, b) for a in ends for b in ends] + list(zip(some, reversed(some)))


def signed(p):
    half = (p - 1) // 2
    return [0, 1, -1, 2, -2, half, -half, half + 1, -half - 1, p - 1, p, -p, p + 1, -p - 1,
            2**63 - 1, -2**63, 2**62, -2**62, 1234567890123456789, -987654321098765432]


def product(p, shape, number):
    n, k, m = shape
    a = [[mixed(2 * number, i * k + u) % p for u in range(k)] for i in range(n)]
    b = [[mixed(2 * number + 1, u * m + j) % p for j in range(m)] for u in range(k)]
    return [sum(a[i][u] * b[u][j] for u in range(k)) % p for i in range(n) for j in range(m)]


def packed(p, bits, n):
    run = sum((mixed(99, i) % p) << (bits * i) for i in range(n))
    return list(run.to_bytes((bits * n + 7) // 8, 'little'))


def array(name, kind, values, suffix=''):
    print(f'static const {kind} {name}[] = {{')
    line = ''
    for v in values:
        text = f'{v}{suffix}, ' if v != -2**63 else 'INT64_MIN, '
        if len(line) + len(text) > 92:
            print('    ' + line.rstrip())
            line = ''
        line += text
    print('    ' + line.rstrip() + '\n};')


def field(bits):
    p = 2**bits - 1
    kind, suffix = ('uint32_t' if bits == 31 else 'uint64_t'), 'U'
    rows = [(a, b, (a + b) % p, (a - b) % p, a * b % p, pow(a, -1, p) if a else 0) for a, b in operands(p, bits)]
    print('\n/* a, b, a + b, a - b, a b, 1 / a (0 for 0) */')
    array(f'golden_fp{bits}_ops', kind, [x for row in rows for x in row], suffix)
    print('\n/* what is read, and the element */')
    array(f'golden_fp{bits}_integers', 'int64_t', signed(p))
    array(f'golden_fp{bits}_elements', kind, [x % p for x in signed(p)], suffix)
    for number, shape in enumerate(SHAPES):
        print(f'\n/* {shape[0]} x {shape[1]} times {shape[1]} x {shape[2]} */')
        array(f'golden_fp{bits}_product_{number}', kind, product(p, shape, number), suffix)
    print(f'\nstatic const {kind} *const golden_fp{bits}_products[] = {{')
    for number in range(len(SHAPES)):
        print(f'    golden_fp{bits}_product_{number},')
    print('};\n\n/* 21 elements of mixed(99, i) without gaps */')
    array(f'golden_fp{bits}_packed', 'uint8_t', packed(p, bits, 21))


def main():
    print('/* field.h -- written by tests/golden/gen_field.py; do not edit.\n *')
    print(' * SPDX-License-Identifier: Apache-2.0\n */')
    print('#include <stddef.h>\n#include <stdint.h>\n')
    print('enum { GOLDEN_FIELD_SHAPES = %d };' % len(SHAPES))
    print('static const size_t golden_field_shapes[][3] = {')
    for n, k, m in SHAPES:
        print(f'    {{{n}, {k}, {m}}},')
    print('};\n')
    print('static inline uint64_t golden_field_mixed(uint64_t seed, uint64_t i)\n{')
    print('    uint64_t x = (i + 1) * (2 * seed + 1) * UINT64_C(0x9E3779B97F4A7C15);\n')
    print('    x = (x ^ x >> 29) * UINT64_C(0xBF58476D1CE4E5B9);\n    return x ^ x >> 32;\n}')
    field(31)
    field(61)


main()
