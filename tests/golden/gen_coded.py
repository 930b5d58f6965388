#!/usr/bin/python3
"""Writes tests/golden/coded.h: coded shares, sealed, and uploads, computed as the headers of
common/secagg and common/lcc say, by other means.

    /usr/bin/python3 tests/golden/gen_coded.py > tests/golden/coded.h

Needs hashlib, hmac and the cryptography module (AES-GCM); the field is Python's integers.  Shares no
code with the product.

SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import hmac
import struct

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

# parties, K, T, bits of a code, purpose, round, values
CASES = [
    (3, 1, 1, 2, 0, 0, 5),
    (5, 2, 2, 10, 1, 255, 13),     # the last round of the first keys, the last segment padded
    (5, 2, 2, 10, 2, 256, 12),     # the first of the second, nothing padded
    (6, 4, 1, 13, 0, 70000, 3),    # more segments than values, 273 ratchets, 16 bits an element
    (2, 1, 1, 4, 1, 1801, 1029),   # two chunks
]


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def is_prime(n):
    return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))


def prime_above(n):
    n += 1
    while not is_prime(n):
        n += 1
    return n


def share_of(rows, point, p):
    """The value at `point` of the polynomial that is rows[u] at u + 1, column by column."""
    factors = []
    for u in range(len(rows)):
        top, below = 1, 1
        for k in range(len(rows)):
            if k != u:
                top = top * (point - (k + 1)) % p
                below = below * (u - k) % p
        factors.append(top * pow(below, -1, p) % p)
    return [sum(f * row[i] for f, row in zip(factors, rows)) % p for i in range(len(rows[0]))]


def uniform(p, n, *name):
    """Not quite uniform, and nobody will notice."""
    return [int.from_bytes(sha(bytes(name), struct.pack("<I", i)), "little") % p for i in range(n)]


def pack(values, w):
    total = 0
    for i, v in enumerate(values):
        total |= v << (i * w)
    return total.to_bytes((len(values) * w + 7) // 8, "little")


def seal_key(case, sender, receiver, number):
    key = sha(b"seal key", bytes([case, sender, receiver]))
    for _ in range(number // 256):
        key = hmac.new(key, b"vfl/ratchet/1" + b"\x01", hashlib.sha256).digest()
    return key


def nonce_and_aad(case, purpose, number, sender, receiver):
    name = bytes([purpose]) + struct.pack("<Q", number)
    return (struct.pack("<Q", number) + bytes([purpose]) + bytes(3),
            b"vfl/share/1" + sha(b"sid %d" % case) + name + struct.pack("<HH", sender, receiver) +
            sha(b"broadcast %d" % case))


def deal(case, m):
    """The shares that member m makes for all, and p."""
    parties, segments, privacy, bits, _, _, n = CASES[case]
    p = prime_above(max((2**bits - 1) * parties, parties + segments + privacy))
    length = -(-n // segments)
    codes = [(i * 7919 + m * 104729) % 2**bits for i in range(n)] + [0] * (segments * length - n)
    rows = [codes[k * length:(k + 1) * length] for k in range(segments)]
    rows += [uniform(p, length, case, m, t) for t in range(privacy)]
    return [share_of(rows, segments + privacy + 1 + j, p) for j in range(parties)], p


def add(vectors, p):
    return [sum(column) % p for column in zip(*vectors)]


def c_bytes(name, data):
    print("static const uint8_t %s[] = {" % name)
    for i in range(0, len(data), 16):
        print("    " + " ".join("0x%02x," % v for v in data[i:i + 16]))
    print("};")


def write_case(case):
    parties, segments, privacy, bits, purpose, number, n = CASES[case]
    dealt, p = zip(*(deal(case, m) for m in range(parties)))
    p, w = p[0], (p[0] - 1).bit_length()
    sealed = tags = b""
    for sender in range(1, parties):
        nonce, aad = nonce_and_aad(case, purpose, number, sender, 0)
        text = AESGCM(seal_key(case, sender, 0, number)).encrypt(nonce, pack(dealt[sender][0], w), aad)
        sealed, tags = sealed + text[:-16], tags + text[-16:]
    uploads = b"".join(pack(add([dealt[m][j] for m in range(parties)], p), w) for j in range(parties))
    others = b"".join(pack(add([dealt[m][j] for m in range(1, parties)], p), w) for j in range(parties))
    for name, data in (("sealed", sealed), ("tags", tags), ("uploads", uploads), ("others", others)):
        c_bytes("%s_%d" % (name, case), data)
    return "    {%d, %d, %d, %d, %d, %d, %d, %d, %d, sealed_%d, tags_%d, uploads_%d, others_%d}," % (
        parties, segments, privacy, bits, p, w, purpose, number, n, case, case, case, case)


def main():
    print("/* coded.h -- written by tests/golden/gen_coded.py; do not edit.\n *\n"
          " * SPDX-License-Identifier: Apache-2.0\n */")
    rows = [write_case(case) for case in range(len(CASES))]
    nonce, aad = nonce_and_aad(0, 2, 0x0102030405060708, 1, 258)
    c_bytes("GOLDEN_SHARE_NONCE", nonce)
    c_bytes("GOLDEN_SHARE_AAD", aad)
    print("\n/* sealed, tags: what members 1, 2, .. made for member 0.  uploads: of all members.  others:\n"
          " * the same without what member 0 dealt. */\n"
          "static const struct golden_coded {\n    uint32_t parties, segments, privacy, bits, prime, width;\n"
          "    uint8_t purpose;\n    uint64_t round;\n    uint32_t values;\n"
          "    const uint8_t *sealed, *tags, *uploads, *others;\n} GOLDEN_CODED[] = {\n" + "\n".join(rows) + "\n};")


main()
