#!/usr/bin/python3
"""Writes the data sets that ship with the project, from Debian's python3-sklearn package.

    /usr/bin/python3 tests/data/make_sets.py [FOLDER]      (default: the folder of this file)

Numbers are copied as text, so nothing is rounded.  The gzip files carry no name and no time: the same zlib
writes the same bytes.

SPDX-License-Identifier: Apache-2.0
"""
import gzip
import hashlib
import io
import os
import sys

import sklearn.datasets

SOURCE = os.path.join(os.path.dirname(sklearn.datasets.__file__), "data")


def write_set(folder, name, columns, rows):
    """rows: lists of texts, features then label; ids are the line order from 0."""
    lines = [",".join(["id"] + columns + ["label"])]
    for i, row in enumerate(rows):
        assert len(row) == len(columns) + 1
        lines.append(",".join([str(i)] + row))
    text = ("\n".join(lines) + "\n").encode("ascii")
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=packed, mode="wb", compresslevel=9, mtime=0) as out:
        out.write(text)
    path = os.path.join(folder, name)
    with open(path, "wb") as out:
        out.write(packed.getvalue())
    print(hashlib.sha256(packed.getvalue()).hexdigest(), name, len(rows), "rows", len(columns), "features")
    print(hashlib.sha256(text).hexdigest(), "its text")


def breast_cancer(folder):
    names = [n.replace(" ", "_") for n in sklearn.datasets.load_breast_cancer().feature_names]
    with open(os.path.join(SOURCE, "breast_cancer.csv"), encoding="ascii") as f:
        lines = f.read().split()
    assert lines[0] == "569,30,malignant,benign"
    write_set(folder, "breast_cancer.csv.gz", names, [line.split(",") for line in lines[1:]])


def digits(folder):
    with gzip.open(os.path.join(SOURCE, "digits.csv.gz"), "rt", encoding="ascii") as f:
        rows = [[str(int(float(cell))) for cell in line.split(",")] for line in f]
    write_set(folder, "digits.csv.gz", ["p%d" % i for i in range(64)], rows)


if __name__ == "__main__":
    target = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    breast_cancer(target)
    digits(target)
