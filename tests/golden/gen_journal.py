#!/usr/bin/python3
"""Writes tests/golden/journal.h: a segment as common/daemon/journal_segment.h says, by other means.

    /usr/bin/python3 tests/golden/gen_journal.py > tests/golden/journal.h

Needs hashlib, hmac and the openssl command; GCM is composed here from AES blocks (NIST SP 800-38D).

SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import hmac
import struct
import subprocess

STATE_KEY = hashlib.sha256(b"state key").digest()
LABEL = hashlib.sha256(b"plan").digest()
BEFORE = hashlib.sha256(b"the segment before").digest()
SALT = hashlib.sha256(b"salt").digest()
NUMBER, FIRST_STEP, BEFORE_RECORDS = 0x0102030405, 700, 65
# purpose, round, place, sweep, generation, rows, present, sum, gradient
RECORDS = [
    (2, 81, 2048, 3, 6, 1024, 4, [0.5, -1.25, 3e8], []),
    (0, 82, 700, 0, 6, 64, 5, [1.0, 2.0], [-0.75, 1e-3, 42.0]),
]


def aes(mode, key, data, iv=None):
    command = ["openssl", "enc", "-aes-256-" + mode, "-K", key.hex(), "-nopad"]
    command += ["-iv", iv.hex()] if iv else []
    return subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout


def multiply(x, y):
    z = 0
    for i in range(127, -1, -1):
        if x >> i & 1:
            z ^= y
        y = (y >> 1) ^ (0xE1 << 120 if y & 1 else 0)
    return z


def padded(data):
    return data + bytes(-len(data) % 16)


def seal(key, nonce, text, aad):
    """AES-256-GCM with a nonce of 96 bits: ciphertext, then the tag."""
    cipher = aes("ctr", key, text, nonce + b"\0\0\0\2") if text else b""
    h = int.from_bytes(aes("ecb", key, bytes(16)), "big")
    data = padded(aad) + padded(cipher) + struct.pack(">QQ", 8 * len(aad), 8 * len(cipher))
    y = 0
    for i in range(0, len(data), 16):
        y = multiply(y ^ int.from_bytes(data[i:i + 16], "big"), h)
    first = int.from_bytes(aes("ecb", key, nonce + b"\0\0\0\1"), "big")
    return cipher + (y ^ first).to_bytes(16, "big")


def hkdf(key, salt, info, n):
    prk = hmac.new(salt, key, hashlib.sha256).digest()
    out = block = b""
    for i in range(1, -(-n // 32) + 1):
        block = hmac.new(prk, block + info + bytes([i]), hashlib.sha256).digest()
        out += block
    return out[:n]


def trail(place):
    return hashlib.sha256(b"trail %d" % place).digest()


def record(key, index, spec):
    purpose, number, place, sweep, generation, rows, present, total, gradient = spec
    aad = struct.pack("<QQ", NUMBER, index)
    head = struct.pack("<QQQQIIQQQ", number, place, sweep, generation, purpose, rows, present,
                       len(total), len(gradient)) + trail(place)
    floats = struct.pack("<%df" % (len(total) + len(gradient)), *total, *gradient)
    return (seal(key, struct.pack("<QI", 2 * index, 0), head, aad)
            + seal(key, struct.pack("<QI", 2 * index + 1, 0), floats, aad))


def c_bytes(name, data):
    print("static const uint8_t %s[] = {" % name)
    for i in range(0, len(data), 16):
        print("    " + " ".join("0x%02x," % v for v in data[i:i + 16]))
    print("};")


def main():
    header = b"VFLJRNL1" + struct.pack("<QQQQ", NUMBER, FIRST_STEP, BEFORE_RECORDS, 1)
    header += trail(FIRST_STEP - 1) + LABEL + BEFORE + SALT
    both = hkdf(STATE_KEY, SALT, b"vfl/journal/1" + header, 64)
    segment = header + both[32:] + b"".join(record(both[:32], i, r) for i, r in enumerate(RECORDS))
    print("/* journal.h -- written by tests/golden/gen_journal.py with openssl; do not edit.\n *\n"
          " * SPDX-License-Identifier: Apache-2.0\n */")
    c_bytes("golden_state_key", STATE_KEY)
    c_bytes("golden_segment", segment)


if __name__ == "__main__":
    main()
