#!/usr/bin/python3
"""Writes tests/golden/schedule.h: permutations drawn as common/data/schedule.h says, by other means.

    /usr/bin/python3 tests/golden/gen_schedule.py > tests/golden/schedule.h

Needs hashlib and the openssl command; shares no code with the product.

SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import struct
import subprocess

# seed, epoch, rows, batch, segments
CASES = [(0, 0, 10, 7, 1), (7, 0, 23, 7, 1), (7, 1, 23, 7, 1), (2**64 - 1, 2**32 + 1, 100, 7, 1),
         (20240607, 14, 256, 7, 1),
         (7, 0, 23, 8, 2), (11, 3, 24, 9, 3), (12, 0, 97, 20, 5), (2**63, 2, 17, 12, 12)]


def numbers(key, most):
    """The first `most` numbers of the key stream of AES-256-CTR from block 0: 64 bits, little-endian."""
    stream = subprocess.run(["openssl", "enc", "-aes-256-ctr", "-K", key.hex(), "-iv", "00" * 16],
                            input=bytes(8 * most), stdout=subprocess.PIPE, check=True).stdout
    return iter(struct.unpack("<%dQ" % most, stream))


def below(stream, bound):
    for v in stream:
        if v < 2**64 - 2**64 % bound:
            return v % bound


def permutation(seed, epoch, rows):
    key = hashlib.sha256(b"vfl/schedule/1" + struct.pack("<QQ", seed, epoch)).digest()
    stream = numbers(key, 2 * rows + 100)
    order = list(range(rows))
    for i in range(rows - 1, 0, -1):
        j = below(stream, i + 1)
        order[i], order[j] = order[j], order[i]
    return order


def steps(seed, epoch, rows, batch, segments):
    """(coded rows, rows) of each step: the permuted coded rows in runs of batch / segments, sorted if there are
    segments; a coded row is column r of the rows written in `segments` lines, None where there is none."""
    length = -(-rows // segments)
    cells = list(range(rows)) + [None] * (length * segments - rows)
    lines = [cells[k * length:(k + 1) * length] for k in range(segments)]
    order = permutation(seed, epoch, length)
    step = batch // segments
    for i in range(0, length, step):
        coded = order[i:i + step]
        if segments > 1:
            coded = sorted(coded)
        yield coded, [line[r] for line in lines for r in coded if line[r] is not None]


def array(name, values):
    print("static const uint32_t %s[] = {" % name)
    for i in range(0, len(values), 16):
        print("    " + " ".join("%d," % v for v in values[i:i + 16]))
    print("};")


def main():
    print("/* schedule.h -- written by tests/golden/gen_schedule.py with openssl; do not edit.\n *\n"
          " * SPDX-License-Identifier: Apache-2.0\n */")
    rows = []
    for k, case in enumerate(CASES):
        epoch = list(steps(*case))
        array("coded_%d" % k, [v for coded, _ in epoch for v in coded])
        array("order_%d" % k, [v for _, real in epoch for v in real])
        rows.append("    {UINT64_C(%d), UINT64_C(%d), %d, %d, %d, coded_%d, order_%d}," % (*case, k, k))
    print("\n/* One epoch: its coded rows and its rows, step after step. */\n"
          "static const struct golden_schedule {\n    uint64_t seed, epoch;\n"
          "    uint32_t rows, batch, segments;\n    const uint32_t *coded, *order;\n"
          "} GOLDEN_SCHEDULE[] = {\n" + "\n".join(rows) + "\n};")


if __name__ == "__main__":
    main()
