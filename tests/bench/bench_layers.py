#!/usr/bin/python3
"""bench_layers.py -- time of a step of deep nets, and memory, beside PyTorch on the same core.

usage: bench_layers.py [--repetitions 9] [--seconds 1] [CASE ...]

Forward, backward and a step of SGD; one thread.  Both stand on one core and take turns; a figure is processor time, the
median of the repetitions, and the ratio of each pair is what travels.  Memory is the most that a whole process had, for
PyTorch with Python and itself: `net` is what it had above the smallest case's.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.environ.get("VFL_BIN", os.path.join(HERE, "../../build/bin"))
OURS = os.path.normpath(os.path.join(BIN, "../tests/bench/bench_layers"))
# Both choose their kernels themselves, whatever this shell has been told.
OWN = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
CASES = ["conv-64", "conv-128", "conv-256", "conv-512", "lstm", "cnn", "resnet18", "resnet18-batchnorm"]


class Side:
    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=OWN)

    def steps(self, n):
        print(n, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline()) / n

    def end(self):
        self.process.stdin.close()
        memory = int(self.process.stdout.readline())
        self.process.wait()
        return memory


def measure(case, repetitions, seconds):
    sides = [Side(OURS, case), Side(os.path.join(HERE, "peer_layers.py"), case)]
    count = [max(1, round(1e6 * seconds / min(s.steps(1), s.steps(1)))) for s in sides]
    times = [[s.steps(n) for s, n in zip(sides, count)] for _ in range(repetitions)]
    memory = [s.end() for s in sides]
    ours, torch = (statistics.median(t[i] for t in times) for i in (0, 1))
    ratios = sorted(a / b for a, b in times)
    print(f"{case:18} ours {ours:10.0f} us  torch {torch:10.0f} us  ratio {statistics.median(ratios):5.2f} "
          f"({ratios[0]:.2f} to {ratios[-1]:.2f})  memory {memory[0] / 1e6:6.0f} and {memory[1] / 1e6:6.0f} MB",
          flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("cases", nargs="*", default=CASES)
    o = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for case in o.cases:
        measure(case, o.repetitions, o.seconds)


if __name__ == "__main__":
    sys.exit(main())
