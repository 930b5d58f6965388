#!/usr/bin/python3
"""Writes tests/golden/equality.h: base points of common/crypto/equality.h, computed by other means.

    /usr/bin/python3 tests/golden/gen_equality.py > tests/golden/equality.h

ristretto255 after RFC 9496, section 4, on Python's integers and extended Edwards coordinates; the hash
after RFC 9380, 5.3.1 and appendix B.  Shares no code with the product.

SPDX-License-Identifier: Apache-2.0
"""
import hashlib

P = 2**255 - 19
D = -121665 * pow(121666, P - 2, P) % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)


def even(x):
    """Of x and -x the one that counts as not negative."""
    x %= P
    return P - x if x & 1 else x


def ratio_root(u, v):
    """(whether u/v is a square, the root of u/v or of i u/v)."""
    r = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    check = v * r * r % P
    if check in (-u % P, -u * ROOT_OF_MINUS_ONE % P):
        r = r * ROOT_OF_MINUS_ONE % P
    return check in (u % P, -u % P), even(r)


# Their signs are those that the RFC prints.
ROOT_AD_MINUS_ONE = P - ratio_root(-D - 1, 1)[1]
INVERSE_ROOT_A_MINUS_D = ratio_root(1, -1 - D)[1]
if not ROOT_AD_MINUS_ONE & 1:
    ROOT_AD_MINUS_ONE = P - ROOT_AD_MINUS_ONE
assert ROOT_AD_MINUS_ONE == (
    25063068953384623474111414158702152701244531502492656460079210482610430750235)
assert INVERSE_ROOT_A_MINUS_D == (
    54469307008909316920995813868745141605393597292927456921205312896311721017578)


def element(half):
    """MAP of RFC 9496, 4.3.4."""
    t = (int.from_bytes(half, "little") & (2**255 - 1)) % P
    r = ROOT_OF_MINUS_ONE * t * t % P
    u = (r + 1) * (1 - D * D) % P
    v = (-1 - r * D) * (r + D) % P
    square, s = ratio_root(u, v)
    if not square:
        s = -even(s * t) % P
    n = ((-1 if square else r) * (r - 1) * (D - 1)**2 - v) % P
    w = 2 * s * v, n * ROOT_AD_MINUS_ONE, 1 - s * s, 1 + s * s
    return tuple(x % P for x in (w[0] * w[3], w[2] * w[1], w[1] * w[3], w[0] * w[2]))


def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]), (p[1] + p[0]) * (q[1] + q[0])
    c, d = 2 * D * p[3] * q[3], 2 * p[2] * q[2]
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(k, p):
    out = (0, 1, 1, 0)
    for bit in reversed(range(253)):
        out = add(out, out)
        if k >> bit & 1:
            out = add(out, p)
    return out


def encoding(p):
    x, y, z, t = p
    u1, u2 = (z + y) * (z - y) % P, x * y % P
    root = ratio_root(1, u1 * u2 * u2)[1]
    d1, d2 = u1 * root % P, u2 * root % P
    inverse = d1 * d2 * t % P
    if t * inverse % P & 1:
        x, y, d2 = y * ROOT_OF_MINUS_ONE % P, x * ROOT_OF_MINUS_ONE % P, d1 * INVERSE_ROOT_A_MINUS_D % P
    if x * inverse % P & 1:
        y = -y
    return even(d2 * (z - y)).to_bytes(32, "little")


def base(label, secret):
    """hash_to_ristretto255 of RFC 9380, appendix B."""
    end = label + bytes([len(label)])
    first = hashlib.sha512(bytes(128) + secret + b"\x00\x40\x00" + end).digest()
    wide = hashlib.sha512(first + b"\x01" + end).digest()
    return add(element(wide[:32]), element(wide[32:]))


def show(name, data):
    print("static const uint8_t GOLDEN_%s[%d] = {" % (name, len(data)))
    for i in range(0, len(data), 12):
        print("    " + " ".join("0x%02x," % b for b in data[i:i + 12]))
    print("};")


def main():
    # RFC 9497, appendix A.1.1: a blinded input is a multiple of the hash above.
    blind = bytes.fromhex("64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706")
    assert encoding(
        times(int.from_bytes(blind, "little"), base(b"HashToGroup-OPRFV1-\x00-ristretto255-SHA512", b"\x00"))
    ).hex() == "609a0ae68c15a3cf6903766461307e5c8bb2f95e7e6550e1ffa2dc99e412803c"
    print("/* equality.h -- written by tests/golden/gen_equality.py; do not edit.\n *\n"
          " * SPDX-License-Identifier: Apache-2.0\n */")
    show("BASE_EMPTY", encoding(base(b"vfl/ids/3", b"")))
    show("BASE_LONG", encoding(base(b"vfl/ids/3", bytes(i % 256 for i in range(300)))))


if __name__ == "__main__":
    main()
