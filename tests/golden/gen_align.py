#!/usr/bin/python3
"""Writes tests/golden/align.h: an id's way to a raised point, and a tally, computed by other means.

    /usr/bin/python3 tests/golden/gen_align.py > tests/golden/align.h

The group is gen_equality.py's; what is hashed follows docs/protocol.md, 3.35.

SPDX-License-Identifier: Apache-2.0
"""
import hashlib

from gen_equality import P, D, add, base, encoding, ratio_root, show, times

ORDER = 2**252 + 27742317777372353535851937790883648493


def generator():
    y = 4 * pow(5, P - 2, P) % P
    square, x = ratio_root(y * y - 1, D * y * y + 1)
    assert square
    p = (x, y, 1, x * y % P)
    assert encoding(p).hex() == "e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76"
    return p


def expanded(label, text):
    end = label + bytes([len(label)])
    first = hashlib.sha512(bytes(128) + text + b"\x00\x40\x00" + end).digest()
    return hashlib.sha512(first + b"\x01" + end).digest()


def row(cells, occurrence):
    one = b"vfl/align/id/1" + len(cells).to_bytes(4, "little")
    for c in cells:
        one += len(c).to_bytes(4, "little") + c
    return hashlib.sha256(
        b"vfl/align/row/1" + hashlib.sha256(one).digest() + occurrence.to_bytes(4, "little")).digest()


def scalar(random):
    return int.from_bytes(random, "little") % ORDER


def tally(key, point, context, random):
    g, k = generator(), scalar(random)
    said = encoding(times(key, g)) + encoding(point) + encoding(times(key, point))
    text = context + said + encoding(times(k, g)) + encoding(times(k, point))
    c = int.from_bytes(expanded(b"vfl/align/proof/1", text), "little") % ORDER
    return said + c.to_bytes(32, "little") + ((k + c * key) % ORDER).to_bytes(32, "little")


def main():
    print("/* align.h -- written by tests/golden/gen_align.py; do not edit.\n *\n"
          " * SPDX-License-Identifier: Apache-2.0\n */")
    one = row(["Stra\u00dfe 1".encode(), b"a,b"], 1)
    key = scalar(bytes(range(64)))
    point = base(b"vfl/align/point/1", one)
    session = bytes(range(100, 132))
    context = session + (3).to_bytes(4, "little") + (2).to_bytes(4, "little")
    show("ROW", one)
    show("POINT", encoding(point))
    show("RAISED", encoding(times(key, point)))
    show("SUM", encoding(add(point, times(key, point))))
    show("ORIGIN", encoding(base(b"vfl/align/origin/1", session)))
    show("TALLY", tally(key, point, context, bytes(range(64, 128))))


main()
