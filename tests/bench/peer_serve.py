#!/usr/bin/python3
"""peer_serve.py -- the service that bench_serve.py measures, as a user of PyTorch and gRPC would write it.

usage: peer_serve.py M ROWS CERT KEY.  This process answers POST /predict {"ids": [...]} over HTTP and forks M parties,
each a gRPC server over TLS on loopback with its columns and its bottom; for each request it calls them all at once,
adds what they answer (torch's binomial sampler, numpy's pairwise masks) and puts the sum through its head.  No ledger.
The port is printed; end of file on standard input ends it.
SPDX-License-Identifier: Apache-2.0
"""
import http.server
import json
import os
import signal
import struct
import sys
import threading

import numpy as np
import torch
from torch import nn

EMBEDDING, HIDDEN, COLUMNS, TRIALS, BETA = 16, 64, 30, 16, 0.25
STARTED = []


def party(index, parties, rows, cert, key, tell):
    import grpc  # after the fork: its threads do not survive one
    from concurrent import futures
    torch.manual_seed(index + 1)
    own = COLUMNS // parties + (1 if index < COLUMNS % parties else 0)
    data = torch.randn(rows, own)
    net = nn.Sequential(nn.Linear(own, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(),
                        nn.Linear(HIDDEN, EMBEDDING), nn.Tanh())

    def embed(request, _context):
        number = struct.unpack_from("<I", request)[0]
        ids = torch.from_numpy(np.frombuffer(request, np.int32, offset=4).copy()).long()
        with torch.no_grad():
            q = torch.distributions.Binomial(TRIALS, 0.5 + BETA * net(data[ids])).sample().numpy().astype(np.uint16)
        for other in range(parties):
            if other != index:
                pair = [min(index, other), max(index, other), number]
                mask = np.random.Generator(np.random.PCG64(pair)).integers(0, 1 << 16, q.shape, dtype=np.uint16)
                q = q + mask if index < other else q - mask
        return q.tobytes()

    with open(key, "rb") as k, open(cert, "rb") as c:
        credentials = grpc.ssl_server_credentials([(k.read(), c.read())])
    server = grpc.server(futures.ThreadPoolExecutor(2))
    handler = grpc.unary_unary_rpc_method_handler(embed)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("vfl.Party", {"Embed": handler}),))
    port = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()
    os.write(tell, struct.pack("<I", port))
    server.wait_for_termination()


def serve(ports, cert):
    import grpc
    with open(cert, "rb") as f:
        credentials = grpc.ssl_channel_credentials(f.read())
    calls = [grpc.secure_channel(f"localhost:{p}", credentials).unary_unary("/vfl.Party/Embed") for p in ports]
    head, lock, number = nn.Linear(EMBEDDING, 2), threading.Lock(), [0]

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1  # one write for head and body

        def do_POST(self):
            ids = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["ids"]
            with lock:
                number[0] += 1
                request = struct.pack("<I", number[0]) + np.array(ids, np.int32).tobytes()
            total = np.zeros((len(ids), EMBEDDING), np.uint16)
            for answer in [call.future(request) for call in calls]:
                total = total + np.frombuffer(answer.result(), np.uint16).reshape(total.shape)
            fused = (torch.from_numpy(total.astype(np.float32)) - len(calls) * TRIALS / 2) / (TRIALS * BETA)
            with torch.no_grad():
                scores = torch.softmax(head(fused), 1).tolist()
            body = json.dumps({"scores": scores}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def main():
    parties, rows, cert, key = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    torch.set_num_threads(1)
    ports = []
    for index in range(parties):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            party(index, parties, rows, cert, key, write)
            os._exit(0)
        STARTED.append(pid)
        ports.append(struct.unpack("<I", os.read(read, 4))[0])
    print(serve(ports, cert), flush=True)
    sys.stdin.read()
    for pid in STARTED:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    os._exit(0)


main()
