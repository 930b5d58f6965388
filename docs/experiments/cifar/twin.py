#!/usr/bin/python3
"""twin.py -- the split model of docs/experiments/cifar in one process of PyTorch, and the first weights of both.

    twin.py start --parties M --seed S --out FOLDER        the weights to begin with: party-I.safetensors,
                                                           head.safetensors
    twin.py train --parties M --seed S --train BATCH --test BATCH --rate R --epochs E
                  [--optimizer adam|sgd|momentum]          one line: parties, seed, optimizer, rate, epochs, accuracy
                                                           and loss of the test rows, seconds of training

M ResNet-18 (--norm batch or group), each on its part of the picture (2: left and right; 4: quarters), a linear layer
to 32 values and a tanh; the sum goes through one linear layer.  Batches are those of the plan with training.seed S,
drawn as common/data/schedule.h says by what tests/golden has.  One thread; python3-torch, openssl.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import os
import sys
import time

import numpy as np
import torch
from torch import nn

sys.dont_write_bytecode = True
TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tests")
sys.path[:0] = [os.path.join(TESTS, "golden"), os.path.join(TESTS, "bench")]

import equal_layers  # noqa: E402
import gen_schedule  # noqa: E402
import peer_layers  # noqa: E402

EMBEDDING, CLASSES, BATCH = 32, 10, 32


def images(path, parties):
    """Each party's part of every picture, and the labels."""
    records = np.fromfile(path, np.uint8).reshape(-1, 3073)
    x = torch.from_numpy(records[:, 1:].reshape(-1, 3, 32, 32).astype(np.float32) / 255)
    parts = [x[..., :16], x[..., 16:]]
    if parties == 4:
        parts = [x[..., r:r + 16, c:c + 16] for r in (0, 16) for c in (0, 16)]
    return parts, torch.from_numpy(records[:, 0].astype(np.int64))


def modules(parties, seed, norm):
    torch.manual_seed(seed)
    peer_layers.EMBEDDING = EMBEDDING
    make = nn.BatchNorm2d if norm == "batch" else lambda n: nn.GroupNorm(32, n)
    return [peer_layers.resnet18(make) for _ in range(parties)], nn.Sequential(nn.Linear(EMBEDDING, CLASSES))


def scores(bottoms, head, parts, at):
    return head(sum(torch.tanh(b(p[at])) for b, p in zip(bottoms, parts)))


def start(options):
    bottoms, head = modules(options.parties, options.seed, options.norm)
    os.makedirs(options.out, exist_ok=True)
    for name, net in [*((f"party-{i + 1}", b) for i, b in enumerate(bottoms)), ("head", head)]:
        with open(os.path.join(options.out, name + ".safetensors"), "wb") as f:
            f.write(equal_layers.pack(equal_layers.state(net)))


def train(options):
    parts, label = images(options.train, options.parties)
    shift = [(p.mean(0), p.std(0, unbiased=False)) for p in parts]
    parts = [(p - mean) / sd for p, (mean, sd) in zip(parts, shift)]
    bottoms, head = modules(options.parties, options.seed, options.norm)
    weights = [w for net in (*bottoms, head) for w in net.parameters()]
    rule = torch.optim.Adam(weights, lr=options.rate) if options.optimizer == "adam" else \
        torch.optim.SGD(weights, lr=options.rate, momentum=0.9 if options.optimizer == "momentum" else 0)
    began = time.monotonic()
    for epoch in range(options.epochs):
        for _, rows in gen_schedule.steps(options.seed, epoch, len(label), BATCH, 1):
            rule.zero_grad(set_to_none=True)
            loss = nn.functional.cross_entropy(scores(bottoms, head, parts, rows), label[rows])
            loss.backward()
            rule.step()
    took = time.monotonic() - began
    parts, label = images(options.test, options.parties)
    parts = [(p - mean) / sd for p, (mean, sd) in zip(parts, shift)]
    for bottom in bottoms:
        bottom.eval()
    with torch.no_grad():
        given = torch.cat([scores(bottoms, head, parts, at) for at in torch.arange(len(label)).split(100)])
    accuracy, loss = (given.argmax(1) == label).float().mean(), nn.functional.cross_entropy(given, label)
    print(f"{options.parties},{options.seed},{options.optimizer},{options.rate},{options.epochs},"
          f"{accuracy:.4f},{loss:.5f},{took:.0f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["start", "train"])
    parser.add_argument("--parties", type=int, choices=[2, 4], required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--norm", choices=["batch", "group"], default="group")
    parser.add_argument("--optimizer", choices=["adam", "sgd", "momentum"], default="adam")
    parser.add_argument("--rate", type=float)
    parser.add_argument("--epochs", type=int)
    for name in ("out", "train", "test"):
        parser.add_argument("--" + name)
    options = parser.parse_args()
    torch.set_num_threads(1)
    {"start": start, "train": train}[options.what](options)


if __name__ == "__main__":
    main()
