#!/usr/bin/python3
"""Writes tests/golden/compress.h: payloads of compressors, by search instead of by algorithm.

    /usr/bin/python3 tests/golden/gen_compress.py > tests/golden/compress.h

Nearest points: the best of all corners around a value.  Codes: by solving linear equations.  What random codes mean:
the one lattice point of their class that lies in the region, found by looking at many.  Dithers: AES-256-CTR of the
openssl command.  Needs numpy and openssl; shares no code with the product.

SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import itertools
import math
import struct
import subprocess

import numpy as np

R3 = math.sqrt(3)
E8 = np.array([[2, 0, 0, 0, 0, 0, 0, 0], [-1, 1, 0, 0, 0, 0, 0, 0], [0, -1, 1, 0, 0, 0, 0, 0],
               [0, 0, -1, 1, 0, 0, 0, 0], [0, 0, 0, -1, 1, 0, 0, 0], [0, 0, 0, 0, -1, 1, 0, 0],
               [0, 0, 0, 0, 0, -1, 1, 0], [0.5] * 8])
# Rows generate the lattice; packing radius, covering radius.
LATTICES = {"SCALAR": (np.eye(1), 0.5, 0.5), "LATTICE": (np.array([[1, 0], [0.5, R3 / 2]]), 0.5, 1 / R3),
            "E8": (E8, math.sqrt(0.5), 1.0)}
# v of the square region of A2, in the rows above, for 1 .. 8 bits.
TURN = [(1, 1), (3, 1), (7, 1), (11, 6), (25, 8), (58, 3), (79, 58), (223, 28)]
N = 43


def stream(case, n):
    key = hashlib.sha256(b"compress %d" % case).digest()
    raw = subprocess.run(["openssl", "enc", "-aes-256-ctr", "-K", key.hex(), "-iv", "00" * 16], input=bytes(2 * n),
                         stdout=subprocess.PIPE, check=True).stdout
    return [(t + 0.5) / 65536 for t in struct.unpack("<%dH" % n, raw)]


def corners(kind, y):
    """Lattice points among which the nearest to y is."""
    if kind == "E8":
        for shift in (0, 0.5):
            for corner in itertools.product(*[(math.floor(v - shift), math.floor(v - shift) + 1) for v in y]):
                if sum(corner) % 2 == 0:
                    yield np.array(corner) + shift
        return
    generator = LATTICES[kind][0]
    base = np.floor(np.linalg.solve(generator.T, y))
    for step in itertools.product((-1, 0, 1, 2), repeat=len(y)):
        yield (base + step) @ generator


def nearest(kind, y):
    return min(corners(kind, y), key=lambda point: float(((y - point)**2).sum()))


def rotation(bits):
    """Rows: the axes of the box in the plane of A2."""
    v = np.array(TURN[bits - 1]) @ LATTICES["LATTICE"][0]
    v /= math.hypot(*v)
    return np.array([v, [-v[1], v[0]]])


def halves(kind, bits):
    if kind == "LATTICE":
        side = math.hypot(*(np.array(TURN[bits - 1]) @ LATTICES[kind][0]))
        return np.array([side / 2, 4**bits * R3 / 2 / side / 2])
    return np.full(len(LATTICES[kind][0]), 2.0**bits / 2)


def code_of(kind, bits, square, point):
    """point: of the lattice, in its own frame."""
    size = 2**bits
    coordinates = np.rint(np.linalg.solve(LATTICES[kind][0].T, point)).astype(int)
    if not square:
        return [int(c) % size for c in coordinates]
    if kind == "LATTICE":
        (p, q), (i, j) = TURN[bits - 1], coordinates
        row = int(p * j - q * i) % size**2
        return [row % size, row // size]
    doubled = np.rint(2 * point).astype(int)
    half = int(doubled[0]) % 2
    n = [int(v - half) // 2 for v in doubled]
    return [v % size for v in n[:7]] + [(n[7] - n[7] % 2 + half) % size]


def encode(kind, bits, square, x, u):
    """x: scaled block in the frame of the region; u: dither in that of the lattice.  Code, and what it means."""
    turn = rotation(bits) if square and kind == "LATTICE" else np.eye(len(x))
    point = nearest(kind, turn.T @ x + u)
    inside = turn @ (point - u)
    if square:
        assert (abs(inside) < halves(kind, bits)).all()
    else:
        assert abs(nearest(kind, inside / 2**bits)).max() == 0
    return code_of(kind, bits, square, point), inside


def decode(kind, bits, square, code, u):
    size = 2**bits
    if not square:
        p = np.array(code) @ LATTICES[kind][0] - u
        return p - size * nearest(kind, p / size)
    if kind == "E8":
        half = code[7] % 2
        n = code[:7] + [code[7] - half + sum(code[:7]) % 2]
        p = np.array(n) + half / 2 - u
        return p - size * np.rint(p / size)
    turn, limit, (p, q) = rotation(bits), halves(kind, bits), TURN[bits - 1]
    found = []
    reach = 2 * size
    for i in range(-reach, reach + 1):
        for j in range(-reach, reach + 1):
            if (p * j - q * i - code[0] - size * code[1]) % size**2 == 0:
                at = turn @ (np.array([i, j]) @ LATTICES[kind][0] - u)
                if (abs(at) < limit).all():
                    found.append(at)
    assert len(found) == 1
    return found[0]


def pack(values, bits):
    total = 0
    for i, v in enumerate(values):
        total |= v << (i * bits)
    return total.to_bytes((len(values) * bits + 7) // 8, "little")


def float32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def lattice_case(case, kind, bits, square, given):
    """given: codes of the generator's, else of values x[i] = ((7919 i + 104729 case) % 2049 - 1024) / 1024."""
    generator, packing, covering = LATTICES[kind]
    d = len(generator)
    blocks = -(-N // d)
    room = halves(kind, bits).min() - covering if square else (2**bits * packing - covering) / math.sqrt(d)
    scale = float32(1.02 / room) if room > 0 else 0.75
    x = [((7919 * i + 104729 * case) % 2049 - 1024) / 1024 if i < N else 0 for i in range(blocks * d)]
    t = stream(case, blocks * d)
    codes, values = [], []
    for k in range(0, blocks * d, d):
        u = np.array(t[k:k + d]) @ generator
        if given:
            code = [(31 * (k + i) + 17 * case + (k * i) % 7) % 2**bits for i in range(d)]
            value = decode(kind, bits, square, code, u)
        else:
            code, value = encode(kind, bits, square, np.array(x[k:k + d]) / scale, u)
        codes += code
        values += list(scale * value)
    return scale, struct.pack("<f", -scale if square else scale) + pack(codes, bits), values[:N]


def topk(rows, width, bits, importance):
    x = [[((7919 * (r * width + c)) % 2049 - 1024) / 1024 for c in range(width)] for r in range(rows)]
    weight = importance or [sum(abs(row[c]) for row in x) for c in range(width)]
    k = max(1, math.floor(width * bits / 32 + 0.5))
    columns = sorted(sorted(range(width), key=lambda c: (-weight[c], c))[:k])
    index = pack(columns, (width - 1).bit_length()) if width > 1 else b""
    return index + b"".join(struct.pack("<f", row[c]) for row in x for c in columns)


def c_bytes(name, data):
    print("static const uint8_t %s[] = {" % name)
    for i in range(0, len(data), 16):
        print("    " + " ".join("0x%02x," % v for v in data[i:i + 16]))
    print("};")


def c_floats(name, values):
    print("static const double %s[] = {" % name)
    for i in range(0, len(values), 6):
        print("    " + " ".join("%.9g," % v for v in values[i:i + 6]))
    print("};")


def main():
    print("/* compress.h -- written by tests/golden/gen_compress.py with openssl; do not edit.\n *\n"
          " * SPDX-License-Identifier: Apache-2.0\n */")
    rows = []
    for kind in LATTICES:
        for square in (False, True) if kind != "SCALAR" else (False,):
            for bits in (1, 2, 3, 5, 8):
                for given in (False, True):
                    if kind == "E8" and square and bits == 1 and not given:
                        continue  # no scale without overload
                    if kind == "LATTICE" and square and bits == 8 and given:
                        continue  # too many to look at
                    case = len(rows)
                    scale, payload, values = lattice_case(case, kind, bits, square, given)
                    c_bytes("payload_%d" % case, payload)
                    c_floats("values_%d" % case, values)
                    rows.append("    {ENCODING_%s, %d, %s, %s, %.9g, payload_%d, values_%d}," %
                                (kind, bits, *(str(v).lower() for v in (square, given)), scale, case, case))
    print("\nenum { GOLDEN_VALUES = %d };\n\n"
          "/* Key of case k: SHA-256(\"compress k\").  given: codes that were not made from values. */\n"
          "static const struct golden_lattice {\n    enum plan_encoding kind;\n    uint32_t bits;\n"
          "    bool square, given;\n    double scale;\n    const uint8_t *payload;\n    const double *values;\n"
          "} GOLDEN_LATTICE[] = {\n" % N +
          "\n".join(rows) + "\n};\n")
    c_bytes("golden_topk_mean", topk(5, 48, 2, None))
    c_bytes("golden_topk_importance", topk(3, 37, 4, [(c * 11) % 13 for c in range(37)]))
    c_bytes("golden_key", hashlib.sha256(b"vfl/dither/1" + bytes(range(32)) + struct.pack("<H", 258)).digest())


main()
