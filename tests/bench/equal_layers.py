#!/usr/bin/python3
"""equal_layers.py -- ten steps of whole nets from PyTorch's weights, on the same rows, by SGD, here and there.

usage: equal_layers.py [--rate R] [CASE ...]: rate 0.0001; by default cnn, lstm and both resnet18; python3-torch.
Prints, of what is here and of PyTorch in float32, each beside PyTorch in float64: the largest relative difference
of the ten losses, and the largest difference of a weight afterwards. Deep nets amplify how sums round: the second
figure is the yardstick.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import copy
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

STEPS = 10


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


def compare(case, rate, folder):
    rows, make, shape, _ = CASES[case]
    torch.manual_seed(7)
    net = make()
    x, target = torch.randn(rows, *shape), None
    with torch.no_grad():
        target = torch.randn_like(net.eval()(x))
    names = ["first", "rows", "targets", "ours", "theirs"]
    first, at_rows, at_targets, ours, at_theirs = (os.path.join(folder, name) for name in names)
    for path, data in ((first, pack(state(net))), (at_rows, x.numpy().tobytes()),
                       (at_targets, target.numpy().tobytes())):
        with open(path, "wb") as file:
            file.write(data)
    said = subprocess.run([bench_layers.OURS, case, first, at_rows, at_targets, ours, str(STEPS), str(rate)],
                          env=bench_layers.OWN, check=True, stdout=subprocess.PIPE, text=True).stdout
    exact = train(copy.deepcopy(net).double(), x.double(), target.double(), rate)
    theirs = train(net, x, target, rate)
    with open(at_theirs, "wb") as file:
        file.write(pack({name: values.astype(numpy.float32) for name, values in exact[1].items()}))
    # Through the program that reads PyTorch's names, so that both files are of one form.
    subprocess.run([bench_layers.OURS, case, at_theirs, at_rows, at_targets, at_theirs, "0", "0"], env=bench_layers.OWN,
                   check=True, stdout=subprocess.PIPE)
    ours_apart = numpy.abs(body(ours) - body(at_theirs)).max()
    theirs_apart = max(numpy.abs(theirs[1][name] - exact[1][name]).max() for name in exact[1])
    print(f"{case:18} {sum(v.size for v in exact[1].values())} weights; from float64: losses "
          f"{apart(map(float, said.split()), exact[0]):.1e} (PyTorch {apart(theirs[0], exact[0]):.1e}), weights "
          f"{ours_apart:.1e} (PyTorch {theirs_apart:.1e})", flush=True)


def apart(losses, exact):
    return max(abs(a - b) / b for a, b in zip(losses, exact))


def train(net, x, target, rate):
    net.train()
    sgd, losses = torch.optim.SGD(net.parameters(), lr=rate), []
    for _ in range(STEPS):
        sgd.zero_grad()
        loss = 0.5 * ((net(x) - target) ** 2).sum()
        loss.backward()
        sgd.step()
        losses.append(loss.item())
    return losses, state(net)


def body(path):
    with open(path, "rb") as file:
        raw = file.read()
    return numpy.frombuffer(raw, numpy.float32, offset=8 + struct.unpack_from("<Q", raw)[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=0.0001)
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        for case in options.cases or ["cnn", "lstm", "resnet18", "resnet18-batchnorm"]:
            compare(case, options.rate, folder)


if __name__ == "__main__":
    main()
