#!/usr/bin/python3
"""peer_lcc.py -- Lagrange coding in numpy, as fast as its author could make it.

usage: peer_lcc.py.  Each line "M K T p n" on standard input is answered by one line of six medians of processor time
in microseconds, until end of file: encode and decode

  int64   as one writes it first: (C @ X) % p on int64
  blas    the fastest of a few whole-array lines: one BLAS product, exact in float32 when every sum fits 24 bits and in
          float64 otherwise, then y - y // p * p on integers, whose floor division by a scalar numpy vectorises
  tuned   the same product in chunks that stay in the second cache level, into buffers made before, and reduced there as
          y - p floor(y / p), with a correction only where rounding could make floor() wrong

SPDX-License-Identifier: Apache-2.0
"""
import os
import statistics
import sys
import time

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402

REPETITIONS = 7
CHUNK_BYTES = 256 * 1024  # of the product of one chunk


def lagrange(to, points, p):
    """to x points: the coefficient of the value at points[u] in that at to[i]."""
    rows = []
    for x in to:
        row = []
        for u, a in enumerate(points):
            top = bottom = 1
            for k, b in enumerate(points):
                if k != u:
                    top = top * (x - b) % p
                    bottom = bottom * (a - b) % p
            row.append(top * pow(bottom, -1, p) % p)
        rows.append(row)
    return np.array(rows, dtype=np.int64)


class Product:
    """out = c x mod p for uint16 rows x: the tuned way."""

    def __init__(self, c, p):
        c = np.where(c > (p - 1) // 2, c - p, c)
        rows, terms = c.shape
        kind = np.float32 if terms * (p // 2 + 1) * p < 2**24 else np.float64
        self.p = kind(p)
        self.inverse = kind(1.0 / p)
        self.c = np.ascontiguousarray(c, dtype=kind)
        self.columns = max(256, CHUNK_BYTES // (rows * self.c.itemsize))
        self.x = np.empty((terms, self.columns), dtype=kind)
        self.y = np.empty((rows, self.columns), dtype=kind)
        self.q = np.empty((rows, self.columns), dtype=kind)

    def __call__(self, out, x):
        n = x.shape[1]
        for at in range(0, n, self.columns):
            end = min(n, at + self.columns)
            here, y, q = self.x[:, :end - at], self.y[:, :end - at], self.q[:, :end - at]
            np.copyto(here, x[:, at:end])
            np.matmul(self.c, here, out=y)
            np.multiply(y, self.inverse, out=q)
            np.floor(q, out=q)
            np.multiply(q, self.p, out=q)
            np.subtract(y, q, out=y)
            if self.can_miss():
                np.add(y, self.p, out=y, where=y < 0)
                np.subtract(y, self.p, out=y, where=y >= self.p)
            np.copyto(out[:, at:end], y, casting="unsafe")

    def can_miss(self):
        """Whether the rounded 1 / p can make floor() wrong: tried on both sides of every multiple of p."""
        if not hasattr(self, "misses"):
            most = int(np.abs(self.c).sum(axis=1).max() * self.p)
            k = np.arange(-(most // int(self.p)) - 1, most // int(self.p) + 2, dtype=self.c.dtype)
            self.misses = any((np.floor((k * self.p + d) * self.inverse) != k).any()
                              for d in (self.p * 0, self.p - 1))
        return self.misses


def int64(c, p):
    return lambda x: ((c @ x.astype(np.int64)) % p).astype(np.uint16)


def blas(c, p):
    small = c.shape[1] * p * p < 2**24
    factor = c.astype(np.float32 if small else np.float64)

    def product(x):
        y = (factor @ x.astype(factor.dtype)).astype(np.int32 if small else np.int64)
        y -= y // p * p
        return y.astype(np.uint16)
    return product


def median_us(work):
    work()
    times = []
    for _ in range(REPETITIONS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return 1e6 * statistics.median(times)


def measure(parties, segments, privacy, p, n):
    threshold = segments + privacy
    columns = -(-n // segments)
    beta = range(1, threshold + 1)
    alpha = range(threshold + 1, threshold + 1 + parties)
    who = list(range(parties - 1, parties - 1 - threshold, -1))
    encode, decode = lagrange(alpha, beta, p), lagrange(beta[:segments], [alpha[j] for j in who], p)
    rows = np.random.default_rng(1).integers(0, p, (threshold, columns), dtype=np.uint16)
    shares = np.empty((parties, columns), dtype=np.uint16)
    out = np.empty((segments, columns), dtype=np.uint16)
    encoding, decoding = Product(encode, p), Product(decode, p)
    encoding(shares, rows)
    held = np.ascontiguousarray(shares[who])
    decoding(out, held)
    assert (out == rows[:segments]).all()
    times = []
    for way in (int64, blas):
        encode_so, decode_so = way(encode, p), way(decode, p)
        assert (encode_so(rows) == shares).all() and (decode_so(held) == out).all()
        times += [median_us(lambda: encode_so(rows)), median_us(lambda: decode_so(held))]
    return times + [median_us(lambda: encoding(shares, rows)), median_us(lambda: decoding(out, held))]


def main():
    for line in sys.stdin:
        print(*("%.3f" % us for us in measure(*map(int, line.split()))), flush=True)


main()
