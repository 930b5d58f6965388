#!/usr/bin/python3
"""Prints the Ed25519 signature that tests/unit/crypto/test_sign.c expects, from the formulas of RFC 8032.

    /usr/bin/python3 tests/golden/gen_sign.py

SPDX-License-Identifier: Apache-2.0
"""
import hashlib

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P

SEED = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")  # 7.1, test 1
MESSAGE = b"vfl/hello/1" + b"\0" + b"abc"


def even_x(y):
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    return x if x % 2 == 0 else P - x


def add(a, b):
    k = D * a[0] * b[0] * a[1] * b[1] % P
    return ((a[0] * b[1] + b[0] * a[1]) * pow(1 + k, P - 2, P) % P,
            (a[1] * b[1] + a[0] * b[0]) * pow(1 - k, P - 2, P) % P)


def multiple(n, a):
    total = (0, 1)
    while n:
        if n & 1:
            total = add(total, a)
        a, n = add(a, a), n >> 1
    return total


def encoded(a):
    return (a[1] | (a[0] & 1) << 255).to_bytes(32, "little")


def number(*parts):
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little") % ORDER


def main():
    y = 4 * pow(5, P - 2, P) % P
    base = (even_x(y), y)
    digest = hashlib.sha512(SEED).digest()
    secret = int.from_bytes(digest[:32], "little") & (1 << 254) - 8 | 1 << 254
    public = encoded(multiple(secret, base))
    r = number(digest[32:], MESSAGE)
    point = encoded(multiple(r, base))
    s = (r + number(point, public, MESSAGE) * secret) % ORDER
    print("public key", public.hex())
    print("signature ", (point + s.to_bytes(32, "little")).hex())
    spki = bytes.fromhex("302a300506032b6570032100") + public
    print("spki digest", hashlib.sha256(spki).hexdigest())


main()
