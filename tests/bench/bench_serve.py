#!/usr/bin/python3
"""bench_serve.py -- predictions on request from the real daemons, beside one fsync and PyTorch + gRPC.

usage: bench_serve.py [--parties 4] [--rate 200] [--seconds 10] [--flood 10000] [--no-peer]

One service for all: 30 columns over M parties, hidden 64-64, embedding 16, binomial mechanism, pairwise masks, TLS on
loopback, one thread a process.  Ours are vfl-server and vfl-party that stand, with their ledgers on: each row is
charged, durably, by every party before it answers.  The peer is peer_serve.py, which keeps no ledger.
1. One row a request, --rate a second (open loop: a late answer delays no later request): p50 and p99; the same of the
   peer, and of an fsync of 100 bytes in the same folder, in turns.
2. Batches of 1000 rows, two at a time: rows a second.
3. --flood requests at once: how many were answered, how many told to come again (429), how many lost, and memory.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import collections
import http.client
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
VFL = os.path.join(HERE, "../../deploy/vfl")
BIN = os.environ.get("VFL_BIN", os.path.join(HERE, "../../build/bin"))
TRAIN, ROWS, BATCH = 2000, 300000, 1000


def write_csv(path, rows, first):
    chance = random.Random(first)
    with open(path, "w", encoding="ascii") as f:
        f.write("id," + ",".join(f"x{c}" for c in range(30)) + ",label\n")
        for row in range(first, first + rows):
            x = [chance.gauss(0, 1) for _ in range(30)]
            f.write(f"{row}," + ",".join(f"{v:.2f}" for v in x) + f",{int(x[0] + x[-1] > 0)}\n")


class Ours:
    def __init__(self, folder, parties):
        self.run, self.parties, self.next = f"{folder}/run", parties, TRAIN
        write_csv(f"{folder}/train.csv", TRAIN, 0)
        write_csv(f"{folder}/test.csv", ROWS, TRAIN)
        command = [VFL, "cluster", "--quiet", "--train", f"{folder}/train.csv", "--test", f"{folder}/test.csv",
                   "--parties", str(parties), "--out", self.run, "--party", "*:model.layers=[64,64]"]
        for s in ("model.embedding=16", "protocol.pbm.trials=16", "training.epochs=1", "training.evaluate_every=0"):
            command += ["--set", s]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.processes = [self.start("server", ["--set", "http=127.0.0.1:0"])]
        with open(f"{self.run}/server/address", encoding="ascii") as f:
            server = f.read().strip()
        for i in range(parties):
            self.processes.append(self.start(f"party-{i + 1}", ["--set", f"server={server}", "--set",
                                             f"data.predict={self.run}/data/party-{i + 1}-test.csv"]))
        with open(f"{self.run}/server/http", encoding="ascii") as f:
            self.host, port = f.read().strip().rsplit(":", 1)
        self.port = int(port)
        with open(f"{self.run}/server/token.predict", encoding="ascii") as f:
            self.token = f.read().strip()

    def start(self, who, options):
        program = "vfl-server" if who == "server" else "vfl-party"
        if who == "server":
            os.remove(f"{self.run}/server/address")
        process = subprocess.Popen([f"{BIN}/{program}", "-c", f"{self.run}/{who}/config.yaml", "--set", "stand=true",
                                    *options], stdout=subprocess.DEVNULL,
                                   stderr=open(f"{self.run}/{who}.log", "ab"))
        while who == "server" and not os.path.exists(f"{self.run}/server/http"):
            if process.poll() is not None:
                sys.exit("bench_serve.py: the server has ended")
            time.sleep(0.01)
        return process

    def connect(self):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=120)

        def ask(ids):
            connection.request("POST", "/v1/models/served/predict", json.dumps({"ids": ids, "deadline_ms": 60000}),
                               {"Authorization": f"Bearer {self.token}"})
            answer = connection.getresponse()
            body = answer.read()
            return answer.status, body
        return ask

    def fresh(self, n):
        """Ids that nobody has asked for."""
        self.next += n
        return [str(i) for i in range(self.next - n, self.next)]

    def rss_kb(self):
        with open(f"/proc/{self.processes[0].pid}/status", encoding="ascii") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))

    def close(self):
        for p in self.processes:
            p.send_signal(signal.SIGTERM)
        for p in self.processes:
            p.wait()


class Peer:
    def __init__(self, folder, parties):
        cert, key = f"{folder}/peer.crt", f"{folder}/peer.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                        "-keyout", key, "-out", cert], check=True, capture_output=True)
        self.process = subprocess.Popen([os.path.join(HERE, "peer_serve.py"), str(parties), str(ROWS), cert, key],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        self.chance = random.Random(1)

    def connect(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

        def ask(ids):
            connection.request("POST", "/predict", json.dumps({"ids": ids}))
            answer = connection.getresponse()
            return answer.status, answer.read()
        return ask

    def fresh(self, n):
        return [self.chance.randrange(ROWS) for _ in range(n)]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def at_a_rate(arm, rate, seconds):
    """Seconds that each request took since the moment at which it was due."""
    took, lock, workers = [], threading.Lock(), 16
    due = collections.deque((i / rate, arm.fresh(1)) for i in range(int(rate * seconds)))
    begin = time.perf_counter() + 0.2

    def work():
        ask = arm.connect()
        while True:
            with lock:
                if not due:
                    return
                at, ids = due.popleft()
            time.sleep(max(0, begin + at - time.perf_counter()))
            status, _ = ask(ids)
            with lock:
                took.append(time.perf_counter() - begin - at if status == 200 else float("inf"))
    threads = [threading.Thread(target=work) for _ in range(workers)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return took


def fsyncs(folder, n):
    took = []
    fd = os.open(f"{folder}/fsync", os.O_WRONLY | os.O_CREAT, 0o600)
    for i in range(n):
        os.pwrite(fd, b"x" * 100, i * 100)
        start = time.perf_counter()
        os.fsync(fd)
        took.append(time.perf_counter() - start)
        time.sleep(0.002)
    os.close(fd)
    return took


def quantiles(took):
    took = sorted(took)
    return took[len(took) // 2] * 1e3, took[int(len(took) * 0.99)] * 1e3


def batches(arm, rounds):
    lists = [[arm.fresh(BATCH) for _ in range(rounds)] for _ in range(2)]
    ended = []

    def work(ids):
        ask = arm.connect()
        ended.append(all(ask(i)[0] == 200 for i in ids))
    start = time.perf_counter()
    threads = [threading.Thread(target=work, args=(i,)) for i in lists]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return 2 * rounds * BATCH / (time.perf_counter() - start) if all(ended) and len(ended) == 2 else 0


def flood(arm, requests, connections=1000):
    """All of them as fast as they go, over so many connections, of 40 rows each."""
    codes, lock = collections.Counter(), threading.Lock()
    jobs = collections.deque(arm.fresh(20) for _ in range(requests))
    most = [arm.rss_kb()]

    def work():
        ask = arm.connect()
        while True:
            with lock:
                if not jobs:
                    return
                ids = jobs.popleft()
            try:
                status, _ = ask(ids)
            except OSError as e:
                status = type(e).__name__
            with lock:
                codes[status] += 1
    threads = [threading.Thread(target=work) for _ in range(connections)]
    for t in threads:
        t.start()
    while any(t.is_alive() for t in threads):
        most.append(arm.rss_kb())
        time.sleep(0.05)
    return codes, most[0], max(most)


def main():
    p = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    p.add_argument("--parties", type=int, default=4)
    p.add_argument("--rate", type=float, default=200)
    p.add_argument("--seconds", type=float, default=10)
    p.add_argument("--flood", type=int, default=10000)
    p.add_argument("--no-peer", action="store_true")
    options = p.parse_args()
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    threading.stack_size(1 << 18)
    with tempfile.TemporaryDirectory() as folder:
        arms = {"ours": Ours(folder, options.parties)}
        try:
            if not options.no_peer:
                arms["PyTorch + gRPC"] = Peer(folder, options.parties)
            took = collections.defaultdict(list)
            for arm in arms.values():
                at_a_rate(arm, 50, 1)  # to warm up, and to open a job
            for _ in range(3):
                for name, arm in arms.items():
                    took[name] += at_a_rate(arm, options.rate, options.seconds / 3)
                took["one fsync"] += fsyncs(folder, 200)
            for name, values in took.items():
                print("%-16s p50 %8.3f ms   p99 %8.3f ms" % (name, *quantiles(values)), flush=True)
            ours = statistics.median(took["ours"]) * 1e3
            fsync = statistics.median(took["one fsync"]) * 1e3
            print("p50 less one fsync %.3f ms (aim: 2)" % (ours - fsync))
            if not options.no_peer:
                print("peer / ours %.2f (aim: 2)" % (statistics.median(took["PyTorch + gRPC"]) * 1e3 / ours))
            print("%.0f rows/s in batches of %d, two at a time (aim: 30000)" % (batches(arms["ours"], 40), BATCH),
                  flush=True)
            codes, before, most = flood(arms["ours"], options.flood)
            lost = options.flood - codes[200] - codes[429]
            print(f"{options.flood} requests at once: {codes[200]} answered, {codes[429]} told to come again, "
                  f"{lost} lost; server {before / 1024:.0f} MiB before, {most / 1024:.0f} at most")
        finally:
            for arm in arms.values():
                arm.close()


main()
