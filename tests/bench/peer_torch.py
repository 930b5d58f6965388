#!/usr/bin/python3
"""peer_torch.py -- the round that bench_round.py measures, as a user of PyTorch would write it.

usage: peer_torch.py one|ssl|grpc M CERT KEY.  `one`: all parties in this process, without network and without
privacy.  `ssl`, `grpc`: this process is the server and forks M parties, which talk to it over TLS on loopback; the
embeddings go through torch's binomial sampler and numpy's pairwise masks (seeded for each pair and round, so that a
lost round could be repeated; no cryptography is asked of them).  A line with a number on standard input runs so many
rounds, and the answer is their time in microseconds; between two lines every process is asleep.  End of file ends it.
SPDX-License-Identifier: Apache-2.0
"""
import os
import signal
import socket
import ssl
import struct
import sys
import threading
import time

import numpy as np
import torch
from torch import nn

ROWS, BATCH, EMBEDDING, HIDDEN, COLUMNS = 8844, 100, 16, 64, 30
TRIALS, BETA, CLIP = 16, 0.25, 1.0
STARTED = []


class Schedule:
    """The same batches everywhere, without end."""

    def __init__(self):
        self.chance = torch.Generator().manual_seed(5)
        self.left = []

    def next(self):
        if not self.left:
            order = torch.randperm(ROWS, generator=self.chance)
            self.left = [order[s:s + BATCH] for s in range(0, ROWS, BATCH)][::-1]
        return self.left.pop()


class Head:
    def __init__(self):
        self.net = nn.Linear(EMBEDDING, 2)
        self.step = torch.optim.SGD(self.net.parameters(), lr=0.01)
        self.loss = nn.CrossEntropyLoss()
        self.label = (torch.rand(ROWS) > 0.5).long()

    def train(self, fused, rows):
        fused = fused.detach().requires_grad_(True)
        self.step.zero_grad()
        self.loss(self.net(fused), self.label[rows]).backward()
        self.step.step()
        return fused.grad


class Bottom:
    def __init__(self, index, parties):
        columns = max(COLUMNS, parties)
        own = columns // parties + (1 if index < columns % parties else 0)
        self.data = torch.randn(ROWS, own)
        self.net = nn.Sequential(nn.Linear(own, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(),
                                 nn.Linear(HIDDEN, EMBEDDING), nn.Tanh())
        self.step = torch.optim.SGD(self.net.parameters(), lr=0.01)

    def forward(self, rows):
        self.out = self.net(self.data[rows])
        return self.out.detach()

    def backward(self, gradient):
        self.step.zero_grad()
        self.out.backward(gradient)
        self.step.step()


def protect(embedding, index, parties, number):
    q = torch.distributions.Binomial(TRIALS, 0.5 + BETA * embedding / CLIP).sample().numpy().astype(np.uint16)
    for other in range(parties):
        if other != index:
            pair = [min(index, other), max(index, other), number]
            mask = np.random.Generator(np.random.PCG64(pair)).integers(0, 1 << 16, q.shape, dtype=np.uint16)
            q = q + mask if index < other else q - mask
    return q


def estimate(total, parties):
    return (torch.from_numpy(total.astype(np.float32)) - parties * TRIALS / 2) * (CLIP / (TRIALS * BETA))


def gradient_of(received):
    return torch.from_numpy(np.frombuffer(received, np.float32).reshape(-1, EMBEDDING).copy())


class OneProcess:
    def __init__(self, parties):
        self.schedule, self.head = Schedule(), Head()
        self.bottoms = [Bottom(i, parties) for i in range(parties)]

    def run(self, rounds):
        for _ in range(rounds):
            rows = self.schedule.next()
            gradient = self.head.train(sum(b.forward(rows) for b in self.bottoms), rows)
            for b in self.bottoms:
                b.backward(gradient)


# --- plain sockets under TLS ---

def receive(connection, n):
    out = bytearray(n)
    view, have = memoryview(out), 0
    while have < n:
        got = connection.recv_into(view[have:])
        if got == 0:
            raise EOFError
        have += got
    return out


def party_ssl(index, parties, port, cert):
    bottom, schedule, number = Bottom(index, parties), Schedule(), 0
    raw = socket.create_connection(("127.0.0.1", port))
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection = ssl.create_default_context(cafile=cert).wrap_socket(raw, server_hostname="localhost")
    while True:
        rows = schedule.next()
        connection.sendall(protect(bottom.forward(rows), index, parties, number).tobytes())
        bottom.backward(gradient_of(receive(connection, len(rows) * EMBEDDING * 4)))
        number += 1


class ServerSsl:
    def __init__(self, parties, cert, key, tell_port):
        self.parties, self.schedule, self.head = parties, Schedule(), Head()
        listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        tell_port(listener.getsockname()[1])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        self.connections = []
        for _ in range(parties):
            raw, _address = listener.accept()
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections.append(context.wrap_socket(raw, server_side=True))

    def run(self, rounds):
        for _ in range(rounds):
            rows = self.schedule.next()
            total = np.zeros((len(rows), EMBEDDING), np.uint16)
            for connection in self.connections:
                total += np.frombuffer(receive(connection, total.nbytes), np.uint16).reshape(total.shape)
            gradient = self.head.train(estimate(total, self.parties), rows).numpy().tobytes()
            for connection in self.connections:
                connection.sendall(gradient)


# --- gRPC under TLS: a party's call returns with the gradient ---

def party_grpc(index, parties, port, cert):
    import grpc  # after the fork: its threads do not survive one
    with open(cert, "rb") as f:
        credentials = grpc.ssl_channel_credentials(f.read())
    channel = grpc.secure_channel(f"localhost:{port}", credentials)
    grpc.channel_ready_future(channel).result(60)
    upload, bottom, schedule, number = channel.unary_unary("/vfl.Round/Upload"), Bottom(index, parties), Schedule(), 0
    while True:
        q = protect(bottom.forward(schedule.next()), index, parties, number)
        bottom.backward(gradient_of(upload(struct.pack("<I", number) + q.tobytes())))
        number += 1


class ServerGrpc:
    def __init__(self, parties, cert, key, tell_port):
        import grpc
        from concurrent import futures
        self.parties, self.schedule, self.head = parties, Schedule(), Head()
        self.change = threading.Condition()
        self.answers = self.done = self.allowed = 0
        self.total = self.answer = None
        with open(cert, "rb") as c, open(key, "rb") as k:
            credentials = grpc.ssl_server_credentials([(k.read(), c.read())])
        handler = grpc.unary_unary_rpc_method_handler(self.upload)
        self.server = grpc.server(futures.ThreadPoolExecutor(parties + 2))
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("vfl.Round", {"Upload": handler}),))
        port = self.server.add_secure_port("127.0.0.1:0", credentials)
        self.server.start()
        tell_port(port)

    def upload(self, request, _context):
        number = struct.unpack_from("<I", request)[0]
        q = np.frombuffer(request, np.uint16, offset=4).reshape(-1, EMBEDDING)
        with self.change:
            self.total = q if self.answers == 0 else self.total + q
            self.answers += 1
            if self.answers < self.parties:
                self.change.wait_for(lambda: self.done > number)
                return self.answer
            self.change.wait_for(lambda: self.allowed > number)
            fused = estimate(self.total, self.parties)
            self.answer = self.head.train(fused, self.schedule.next()).numpy().tobytes()
            self.answers = 0
            self.done = number + 1
            self.change.notify_all()
            return self.answer

    def run(self, rounds):
        with self.change:
            self.allowed += rounds
            self.change.notify_all()
            self.change.wait_for(lambda: self.done == self.allowed)


def fork_parties(party, parties, cert):
    """Forks them now, before any thread; the returned function lets them dial."""
    pipes = [os.pipe() for _ in range(parties)]
    for index in range(parties):
        pid = os.fork()
        if pid == 0:
            torch.manual_seed(index + 1)
            try:
                party(index, parties, struct.unpack("<I", os.read(pipes[index][0], 4))[0], cert)
            except Exception as e:  # the server has gone
                print(f"party {index + 1}: {type(e).__name__} {e}", file=sys.stderr)
            os._exit(1)
        STARTED.append(pid)
    return lambda port: [os.write(w, struct.pack("<I", port)) for _r, w in pipes]


def main():
    kind, parties, cert, key = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if kind == "one":
        job = OneProcess(parties)
    elif kind == "ssl":
        job = ServerSsl(parties, cert, key, fork_parties(party_ssl, parties, cert))
    else:
        job = ServerGrpc(parties, cert, key, fork_parties(party_grpc, parties, cert))
    for line in sys.stdin:
        start = time.perf_counter()
        job.run(int(line))
        print(f"{(time.perf_counter() - start) * 1e6:.0f}", flush=True)
    for pid in STARTED:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    os._exit(0)


main()
