#!/usr/bin/python3
"""equal_layers.py -- ten steps of whole nets from PyTorch's weights, on the same rows, by SGD, here and there.

usage: equal_layers.py [CASE ...]: by default cnn, lstm and both resnet18; python3-torch.  Prints the largest relative
difference of the ten losses and the largest difference of a weight afterwards.
SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

import numpy
import torch

import bench_layers
from peer_layers import CASES

RATE, STEPS = 0.001, 10


def pack(tensors):
    header, body = {}, b""
    for name, values in tensors.items():
        data = values.astype(numpy.float32).tobytes()
        header[name] = {"dtype": "F32", "shape": list(values.shape),
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


def state(net):
    return {name: t.detach().numpy() for name, t in net.state_dict().items() if "num_batches" not in name}


def compare(case, folder):
    rows, make, shape, _ = CASES[case]
    torch.manual_seed(7)
    net = make()
    x, target = torch.randn(rows, *shape), None
    with torch.no_grad():
        target = torch.randn_like(net.eval()(x))
    names = ["first", "rows", "targets", "ours", "theirs"]
    first, at_rows, at_targets, ours, theirs = (os.path.join(folder, name) for name in names)
    for path, data in ((first, pack(state(net))), (at_rows, x.numpy().tobytes()),
                       (at_targets, target.numpy().tobytes())):
        with open(path, "wb") as file:
            file.write(data)
    said = subprocess.run([bench_layers.OURS, case, first, at_rows, at_targets, ours, str(STEPS)],
                          env=bench_layers.OWN, check=True, stdout=subprocess.PIPE, text=True).stdout
    net.train()
    sgd, losses = torch.optim.SGD(net.parameters(), lr=RATE), []
    for _ in range(STEPS):
        sgd.zero_grad()
        loss = 0.5 * ((net(x) - target) ** 2).sum()
        loss.backward()
        sgd.step()
        losses.append(loss.item())
    with open(theirs, "wb") as file:
        file.write(pack(state(net)))
    apart = max(abs(float(a) - b) / b for a, b in zip(said.split(), losses))
    print(f"{case:18} losses {losses[0]:.1f} to {losses[-1]:.1f}, at most {apart:.1e} apart;", end=" ", flush=True)
    # Back through the program that reads PyTorch's names, so that both files are of one form.
    again = os.path.join(folder, "again")
    subprocess.run([bench_layers.OURS, case, theirs, at_rows, at_targets, again, "0"], env=bench_layers.OWN, check=True,
                   stdout=subprocess.PIPE)
    a, b = (numpy.frombuffer(body(path), numpy.float32) for path in (ours, again))
    print(f"{a.size} weights, at most {numpy.abs(a - b).max():.1e} apart")


def body(path):
    with open(path, "rb") as file:
        raw = file.read()
    return raw[8 + struct.unpack_from("<Q", raw)[0]:]


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        for case in sys.argv[1:] or ["cnn", "lstm", "resnet18", "resnet18-batchnorm"]:
            compare(case, folder)


if __name__ == "__main__":
    main()
