#!/usr/bin/python3
"""bench_lcc.py -- Lagrange coding beside numpy doing the same.

usage: bench_lcc.py [--repetitions 5]

Ours is `bench_lcc serve`, the peers are the three arms of peer_lcc.py, which says what they are.  Both sides encode the
same number of elements for the same (M, K, T) and prime on one core and take processor time; they alternate, ratios
are taken within each turn, and a figure is the median of the turns.  Programs are those of build/bin, or of VFL_BIN.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import os
import statistics
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.environ.get("VFL_BIN", os.path.join(HERE, "../../build/bin"))
TRIALS = 64  # codes are 0..64
SHAPES = [(5, 3, 1), (10, 4, 2), (10, 3, 5), (28, 15, 5), (50, 20, 10)]
SIZES = [1000000, 16000]
ARMS = ["int64", "blas", "tuned"]
BAR = ((10, 4, 2), 1000000, 15)


def prime_above(n):
    return next(p for p in range(n + 1, 65522) if all(p % d for d in range(2, int(p**0.5) + 1)))


class Arm:
    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, *numbers):
        print(*numbers, file=self.process.stdin, flush=True)
        return [float(v) for v in self.process.stdout.readline().split()]

    def close(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            raise SystemExit(f"{self.process.args[0]} failed")


def compare(ours, peer, shape, p, n, repetitions):
    own, ratios = [], []
    for _ in range(repetitions):
        mine = ours.ask(*shape, p, n)
        theirs = peer.ask(*shape, p, n)
        own.append(mine)
        ratios.append([v / mine[i % 2] for i, v in enumerate(theirs)])
    own = [statistics.median(v) for v in zip(*own)]
    ratios = [statistics.median(v) for v in zip(*ratios)]
    words = []
    for i, what in enumerate(("encode", "decode")):
        beside = ", ".join(f"{arm} {ratios[2 * k + i]:.1f} x" for k, arm in enumerate(ARMS))
        words.append(f"{what} {own[i]:7.1f} us: {beside}")
    m, k, t = shape
    print(f"({m:2},{k:2},{t:2}) p = {p:5}, {n:7} elements:   " + "   ".join(words), flush=True)
    return ratios


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--repetitions", type=int, default=5)
    options = options.parse_args()
    ours = Arm(os.path.normpath(os.path.join(BIN, "../tests/bench/bench_lcc")), "serve")
    peer = Arm(os.path.join(HERE, "peer_lcc.py"))
    print(f"Lagrange coding beside numpy on one core, medians of {options.repetitions} turns")
    for n in SIZES:
        for shape in SHAPES:
            for p in (prime_above(TRIALS * shape[0]), 65521):
                ratios = compare(ours, peer, shape, p, n, options.repetitions)
                if (shape, n) == BAR[:2] and p != 65521:
                    verdicts = [f"{arm} {'met' if min(ratios[2 * k:2 * k + 2]) >= BAR[2] else 'missed'}"
                                for k, arm in enumerate(ARMS)]
                    print(f"    aim, {BAR[2]} x for both: {', '.join(verdicts)}")
    ours.close()
    peer.close()


main()
