#!/usr/bin/python3
"""bench_round.py -- microseconds per training round of the real daemons beside PyTorch doing the same job.

usage: bench_round.py [--parties 2,5,10,28] [--repetitions 3] [--arms ours,grpc,ssl,one] [--patience 20]

One job for all: 8844 rows, 30 columns (or one a party) split over M parties, batch 100, embedding 16, hidden 64-64,
binomial mechanism b = 16, beta = 0.25, pairwise masks, one process per party, TLS on loopback, one thread a process.
Ours are vfl-server and vfl-party as `vfl cluster` starts them, with their ledgers on; the peers are peer_torch.py.
The arms alternate, a figure is the median of the repetitions, and the ratios are what travels from one machine to
another.  `foreign` says how many processors others have used meanwhile; each measurement first waits --patience
seconds for an idle machine.  Daemons are those of build/bin, or of VFL_BIN.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
VFL = os.path.join(HERE, "../../deploy/vfl")
ROWS, TEST_ROWS, BATCH = 8844, 100, 100
ROUNDS_PER_EPOCH = -(-ROWS // BATCH)
NAMES = {"ours": "ours", "grpc": "PyTorch + gRPC/TLS", "ssl": "PyTorch + ssl sockets",
         "one": "PyTorch, one process, plain"}
BARS = {("grpc", 5): 18, ("grpc", 28): 30, ("ssl", 100): 25, ("one", 5): 1}
SECONDS = 1.5  # of one measurement, roughly


# --- how busy the machine is ---

def busy_ticks():
    with open("/proc/stat") as f:
        field = [int(v) for v in f.readline().split()[1:9]]
    return sum(field) - field[3] - field[4]


def group_ticks(group):
    """Of every process in the group, and of all children that it has waited for."""
    total = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f:
                field = f.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(field[2]) == group:
            total += sum(int(v) for v in field[11:15])
    return total


def children_ticks():
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (r.ru_utime + r.ru_stime) * os.sysconf("SC_CLK_TCK")


def wait_for_quiet(patience_s):
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        before = busy_ticks()
        time.sleep(0.3)
        if busy_ticks() - before < 0.3 * 0.2 * os.sysconf("SC_CLK_TCK"):
            return


class Foreign:
    """Processors that others used between `with` and its end; own_ticks() counts what is ours."""

    def __init__(self, own_ticks):
        self.own_ticks = own_ticks

    def __enter__(self):
        self.start = time.monotonic(), busy_ticks() - self.own_ticks()
        return self

    def __exit__(self, *_):
        ticks = busy_ticks() - self.own_ticks() - self.start[1]
        self.processors = max(0.0, ticks / os.sysconf("SC_CLK_TCK") / (time.monotonic() - self.start[0]))


# --- the arms ---

class Ours:
    def __init__(self, parties, folder):
        self.parties, self.folder = parties, folder
        self.rounds = max(400, 24000 // parties)
        self.last = None
        columns = max(30, parties)
        for name, rows, first in (("train", ROWS, 0), ("test", TEST_ROWS, ROWS)):
            write_csv(f"{folder}/{name}.csv", rows, first, columns)

    def measure(self):
        out = f"{self.folder}/run"
        shutil.rmtree(out, ignore_errors=True)
        settings = ["model.embedding=16", "protocol.encoding=pbm", "protocol.aggregation=masked",
                    "protocol.pbm.trials=16", "protocol.pbm.beta=0.25", f"training.batch={BATCH}",
                    "training.evaluate_every=0", f"training.epochs={self.rounds / ROUNDS_PER_EPOCH:.6f}"]
        command = [VFL, "cluster", "--quiet", "--train", f"{self.folder}/train.csv", "--test",
                   f"{self.folder}/test.csv", "--parties", str(self.parties), "--out", out,
                   "--party", "*:model.layers=[64,64]"]
        for s in settings:
            command += ["--set", s]
        with Foreign(children_ticks) as foreign:
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        with open(f"{out}/summary.json") as f:
            self.last = json.load(f)
        return self.last["time"]["train_s"] * 1e6 / self.last["rounds"], foreign.processors

    def close(self):
        pass


class Peer:
    def __init__(self, kind, parties, cert, key):
        self.process = subprocess.Popen([os.path.join(HERE, "peer_torch.py"), kind, str(parties), cert, key],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        process_group=0)
        self.run(10)
        self.rounds = max(5, int(SECONDS * 1e6 / self.run(10)))

    def run(self, rounds):
        self.process.stdin.write(f"{rounds}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit("bench_round.py: a peer has ended early")
        return int(answer) / rounds

    def measure(self):
        with Foreign(lambda: group_ticks(self.process.pid)) as foreign:
            us = self.run(self.rounds)
        return us, foreign.processors

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def write_csv(path, rows, first, columns):
    chance = random.Random(first)
    with open(path, "w") as f:
        f.write("id," + ",".join(f"x{c}" for c in range(columns)) + ",label\n")
        for row in range(first, first + rows):
            x = [chance.gauss(0, 1) for _ in range(columns)]
            f.write(f"{row}," + ",".join(f"{v:.3f}" for v in x) + f",{int(x[0] + x[-1] > 0)}\n")


def make_certificate(folder):
    cert, key = f"{folder}/peer.crt", f"{folder}/peer.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                    "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


# --- the table ---

def report(parties, arms, figures):
    us = {a: statistics.median(v for v, _ in figures[a]) for a in figures}
    for a in figures:
        values, noise = zip(*figures[a])
        ratio, bar = "", ""
        if a != "ours" and "ours" in us:
            ratio = f"{us[a] / us['ours']:6.1f}x"
            if (a, parties) in BARS:
                bar = f"  (bar {BARS[a, parties]}x)"
        print(f"M = {parties:3}  {NAMES[a]:28} {us[a]:9.0f} us/round  [{min(values):.0f} .. {max(values):.0f}]"
              f"  foreign {max(noise):.2f}  {ratio}{bar}", flush=True)
    if "ours" in arms and arms["ours"].last:
        parts = [p["max_rss_kb"] for p in arms["ours"].last["parties"]]
        spans = arms["ours"].last["time"]["spans"]
        rounds = arms["ours"].last["rounds"]
        print(f"         largest party {max(parts) / 1024:.1f} MiB; us per round: " +
              ", ".join(f"{k} {v * 1e6 / rounds:.0f}" for k, v in spans.items()), flush=True)


def bench(parties, options, folder):
    cert, key = make_certificate(folder)
    arms = {}
    try:
        for a in options.arms.split(","):
            arms[a] = Ours(parties, folder) if a == "ours" else Peer(a, parties, cert, key)
        figures = {a: [] for a in arms}
        for _ in range(options.repetitions):
            for a, arm in arms.items():
                wait_for_quiet(options.patience)
                figures[a].append(arm.measure())
        report(parties, arms, figures)
    finally:
        for arm in arms.values():
            arm.close()


def main():
    p = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    p.add_argument("--parties", default="2,5,10,28")
    p.add_argument("--repetitions", type=int, default=3)
    p.add_argument("--arms", default="ours,grpc,ssl,one")
    p.add_argument("--patience", type=float, default=20)
    options = p.parse_args()
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    for parties in map(int, options.parties.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            bench(parties, options, folder)


main()
