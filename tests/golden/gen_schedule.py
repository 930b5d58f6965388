#!/usr/bin/python3
"""Writes tests/golden/schedule.h: permutations drawn as common/data/schedule.h says, by other means.

    /usr/bin/python3 tests/golden/gen_schedule.py > tests/golden/schedule.h

Needs hashlib and the openssl command; shares no code with the product.

SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import struct
import subprocess

CASES = [(0, 0, 10), (7, 0, 23), (7, 1, 23), (2**64 - 1, 2**32 + 1, 100), (20240607, 14, 256)]


def numbers(key):
    """The key stream of AES-256-CTR from block 0, as 64-bit little-endian numbers."""
    stream = subprocess.run(["openssl", "enc", "-aes-256-ctr", "-K", key.hex(), "-iv", "00" * 16],
                            input=bytes(8192), stdout=subprocess.PIPE, check=True).stdout
    return iter(struct.unpack("<1024Q", stream))


def below(stream, bound):
    for v in stream:
        if v < 2**64 - 2**64 % bound:
            return v % bound


def permutation(seed, epoch, rows):
    key = hashlib.sha256(b"vfl/schedule/1" + struct.pack("<QQ", seed, epoch)).digest()
    stream = numbers(key)
    order = list(range(rows))
    for i in range(rows - 1, 0, -1):
        j = below(stream, i + 1)
        order[i], order[j] = order[j], order[i]
    return order


def main():
    print("/* schedule.h -- written by tests/golden/gen_schedule.py with openssl; do not edit.\n *\n"
          " * SPDX-License-Identifier: Apache-2.0\n */")
    rows = []
    for k, (seed, epoch, n) in enumerate(CASES):
        order = permutation(seed, epoch, n)
        print("static const uint32_t order_%d[] = {" % k)
        for i in range(0, n, 16):
            print("    " + " ".join("%d," % v for v in order[i:i + 16]))
        print("};")
        rows.append("    {UINT64_C(%d), UINT64_C(%d), %d, order_%d}," % (seed, epoch, n, k))
    print("\nstatic const struct golden_schedule {\n    uint64_t seed, epoch;\n    uint32_t rows;\n"
          "    const uint32_t *order;\n} GOLDEN_SCHEDULE[] = {\n" + "\n".join(rows) + "\n};")


main()
