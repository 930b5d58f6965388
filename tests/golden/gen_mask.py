#!/usr/bin/python3
"""Writes tests/golden/mask.h: masked uploads computed as common/secagg/mask.h says, by other means.

    /usr/bin/python3 tests/golden/gen_mask.py > tests/golden/mask.h

Needs hashlib, hmac and the openssl command; shares no code with the product.

SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import hmac
import struct
import subprocess

# parties, bits of a code, w, purpose, round, values
CASES = [
    (2, 14, 16, 0, 0, 21),       # w = 16: the widest of the narrow lanes
    (3, 10, 13, 1, 255, 21),     # the last round of the first key
    (3, 10, 13, 0, 256, 21),     # the first of the second
    (5, 24, 28, 2, 7, 21),       # wide lanes
    (5, 13, 17, 0, 1801, 9001),  # the narrowest of the wide lanes, several runs, seven ratchets
    (5, 2, 6, 0, 70000, 9001),   # narrow lanes, several runs, 273 ratchets
]


def pair_key(case, low, high):
    return hashlib.sha256(b"pair key" + bytes([case, low, high])).digest()


def ratchet(key, times):
    for _ in range(times):
        key = hmac.new(key, b"vfl/ratchet/1" + b"\x01", hashlib.sha256).digest()  # RFC 5869, 2.3: T(1)
    return key


def stream(key, iv, n):
    return subprocess.run(["openssl", "enc", "-aes-256-ctr", "-K", key.hex(), "-iv", (iv + bytes(4)).hex()],
                          input=bytes(n), stdout=subprocess.PIPE, check=True).stdout


def pack(values, w):
    total = 0
    for i, v in enumerate(values):
        total |= v << (i * w)
    return total.to_bytes((len(values) * w + 7) // 8, "little")


def uploads(case, parties, bits, w, purpose, number, n):
    sid = hashlib.sha256(b"sid %d" % case).digest()
    broadcast = hashlib.sha256(b"broadcast %d" % case).digest()
    text = b"vfl/mask/1" + bytes([purpose]) + struct.pack("<Q", number) + sid + broadcast
    iv = hashlib.sha256(text).digest()[:12]
    checks = -(-64 // w)
    lane = 2 if w <= 16 else 4
    y = [[(i * 7919 + m * 104729) % 2**bits for i in range(n)] + [0] * checks for m in range(parties)]
    for low in range(parties):
        for high in range(low + 1, parties):
            raw = stream(ratchet(pair_key(case, low, high), number // 256), iv, lane * (n + checks))
            words = struct.unpack("<%d%s" % (n + checks, "H" if lane == 2 else "I"), raw)
            for i, word in enumerate(words):
                y[low][i] = (y[low][i] + word) % 2**w
                y[high][i] = (y[high][i] - word) % 2**w
    return [pack(v[:n], w) + pack(v[n:], w) for v in y]


def c_bytes(name, data):
    print("static const uint8_t %s[] = {" % name)
    for i in range(0, len(data), 16):
        print("    " + " ".join("0x%02x," % v for v in data[i:i + 16]))
    print("};")


def main():
    print("/* mask.h -- written by tests/golden/gen_mask.py with openssl; do not edit.\n *\n"
          " * SPDX-License-Identifier: Apache-2.0\n */")
    rows = []
    for case, spec in enumerate(CASES):
        ups = uploads(case, *spec)
        c_bytes("upload_digests_%d" % case, b"".join(hashlib.sha256(u).digest() for u in ups))
        rows.append("    {%d, %d, %d, %d, %d, %d, upload_digests_%d}," % (spec + (case,)))
        if case == 0:
            c_bytes("first_upload", ups[0])
    print("\n/* Digest m is of payload || check of party m. */\n"
          "static const struct golden_mask {\n    uint32_t parties, bits, width;\n    uint8_t purpose;\n"
          "    uint64_t round;\n    uint32_t values;\n    const uint8_t *digests;\n} GOLDEN_MASK[] = {\n" +
          "\n".join(rows) + "\n};")


main()
