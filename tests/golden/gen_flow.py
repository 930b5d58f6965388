#!/usr/bin/python3
"""Writes tests/golden/flow.h: digests and keys of common/flow's headers, computed by other means.

    /usr/bin/python3 tests/golden/gen_flow.py > tests/golden/flow.h

Needs hashlib and hmac; X25519 is RFC 7748's ladder on Python's integers.  Shares no code with the
product.

SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import hmac
import struct

PRIME = 2**255 - 19


def sha(data):
    return hashlib.sha256(data).digest()


def run(first, n):
    """n bytes counting up from first."""
    return bytes((first + i) % 256 for i in range(n))


def roster():
    """Name, first byte of the key, operator."""
    lines = [("server", "srv", 1, "hub"), ("party", "p1", 40, "bank"), ("party", "p2", 80, "p2"),
             ("party", "p3", 120, "bank")]
    text = "".join("%s %s %s %s\n" % (role, name, run(key, 32).hex(), operator)
                   for role, name, key, operator in lines)
    return sha(text.encode())


def sid():
    """Three hellos whose bodies have 5, 0 and 100 bytes."""
    hellos = [(run(10, 5), run(1, 32)), (b"", run(2, 32)), (run(30, 100), run(3, 32))]
    data = (b"vfl/sid/3" + run(200, 32) + struct.pack("<Q", 2**40 + 7) + run(150, 32) +
            run(90, 32) + struct.pack("<Q", len(hellos)))
    for body, key in hellos:
        data += struct.pack("<Q", len(body)) + body + key
    return sha(data)


def x25519(secret, u):
    k = int.from_bytes(secret, "little")
    k = (k & ~7 & (2**255 - 1)) | 2**254
    x1 = int.from_bytes(u, "little") & (2**255 - 1)
    x2, z2, x3, z3 = 1, 0, x1, 1
    for t in reversed(range(255)):
        if k >> t & 1:
            a, b, c, d = x3, z3, x2, z2
        else:
            a, b, c, d = x2, z2, x3, z3
        # (a, b) is doubled, and (c, d) becomes the sum of both.
        s, m = (a + b) % PRIME, (a - b) % PRIME
        ss, mm = s * s % PRIME, m * m % PRIME
        e = (ss - mm) % PRIME
        p, q = (c - d) * s % PRIME, (c + d) * m % PRIME
        doubled = ss * mm % PRIME, e * (ss + 121665 * e) % PRIME
        added = (p + q) ** 2 % PRIME, x1 * (p - q) ** 2 % PRIME
        if k >> t & 1:
            (x2, z2), (x3, z3) = added, doubled
        else:
            (x2, z2), (x3, z3) = doubled, added
    return (x2 * pow(z2, PRIME - 2, PRIME) % PRIME).to_bytes(32, "little")


def pair_key(secret, public, salt, purpose, first, second):
    extracted = hmac.new(salt, x25519(secret, public), hashlib.sha256).digest()
    info = purpose + struct.pack("<HH", first, second)
    return hmac.new(extracted, info + b"\x01", hashlib.sha256).digest()


def trail():
    """A plan, then three gradients of 8, 0 and 100 bytes, the second one of a step far on."""
    chain = [sha(b"vfl/trail/1" + run(60, 32))]
    for step, gradient in ((0, run(1, 8)), (2**40 + 3, b""), (2, run(200, 100))):
        chain.append(sha(chain[-1] + struct.pack("<Q", step) + gradient))
    return chain


def view(chain):
    """generation, purpose, round, place, sweep: each with bytes of its own."""
    return sha(b"vfl/view/1" + chain + struct.pack("<QQQQQ", 0x0102030405060708, 2,
                                                   0x1112131415161718, 0x2122232425262728,
                                                   0x3132333435363738))


def show(name, data):
    print("static const uint8_t GOLDEN_%s[%d] = {" % (name, len(data)))
    for i in range(0, len(data), 12):
        print("    " + " ".join("0x%02x," % b for b in data[i:i + 12]))
    print("};")


def main():
    # RFC 7748, section 5.2, first vector: the ladder above is X25519.
    assert x25519(
        bytes.fromhex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4"),
        bytes.fromhex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c"),
    ).hex() == "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"
    own, other = run(5, 32), run(77, 32)
    public = x25519(other, (9).to_bytes(32, "little"))
    print("/* flow.h -- written by tests/golden/gen_flow.py; do not edit.\n *\n"
          " * SPDX-License-Identifier: Apache-2.0\n */")
    show("ROSTER_DIGEST", roster())
    show("SID", sid())
    show("OTHER_PUBLIC", public)
    show("PAIR_KEY", pair_key(own, public, run(9, 32), b"vfl/mask/1", 3, 255))
    show("SEAL_255_TO_3", pair_key(own, public, run(9, 32), b"vfl/seal/1", 255, 3))
    show("SEAL_3_TO_255", pair_key(own, public, run(9, 32), b"vfl/seal/1", 3, 255))
    chain = trail()
    for i, value in enumerate(chain):
        show("TRAIL_%d" % i, value)
    show("VIEW", view(chain[3]))


main()
