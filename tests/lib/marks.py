#!/usr/bin/env python3
"""marks.py -- where do records lie?  Files of PLACES that hold any feature or id of the TABLES, in whatever form.

usage: marks.py TABLES... -- PLACES...  A table is a CSV file: id first, then features.  Prints 'values FILE' and
'ids FILE' for each file that has one.  A value is looked for as its text, in shorter decimal forms, and as two
neighbours of a row in float32 or float64; an id as its text, as the hex or the bytes of its SHA-256.
SPDX-License-Identifier: Apache-2.0
"""

import csv
import hashlib
import struct
import sys

from leaks import files

TEXT_MIN = 10  # shorter texts occur by themselves: figures have digits, too


def value_forms(row):
    for text in row:
        yield from (t.encode() for t in {text, '%.9g' % float(text), '%.9f' % float(text)}
                    if len(t) >= TEXT_MIN)
        yield struct.pack('<d', float(text))
    for a, b in zip(row, row[1:]):
        for order in '<>':
            yield struct.pack(order + 'ff', float(a), float(b))
            yield struct.pack(order + 'ff', float(a), float(b)).hex().encode()


def id_forms(name):
    digest = hashlib.sha256(name.encode()).digest()
    yield from (name.encode(), digest, digest.hex().encode(), digest[:8].hex().encode())


def main():
    split = sys.argv.index('--')
    values, ids = set(), set()
    for table in sys.argv[1:split]:
        with open(table, encoding='ascii', newline='') as file:
            for row in list(csv.reader(file))[1:]:
                ids.update(id_forms(row[0]))
                values.update(value_forms(row[1:]))
    for path in sorted(files(sys.argv[split + 1:])):
        with open(path, 'rb') as file:
            data = file.read()
        for what, forms in (('values', values), ('ids', ids)):
            if any(f in data for f in forms):
                print(what, path)


if __name__ == '__main__':
    main()
