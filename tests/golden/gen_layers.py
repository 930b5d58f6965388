#!/usr/bin/env python3
"""gen_layers.py -- what PyTorch makes of the layers that look at images and series, in float64.

    /usr/bin/python3 tests/golden/gen_layers.py > tests/golden/layers.json

Wants Debian's python3-torch.  Weights, by PyTorch's names and in its layout, and inputs are rounded
to float32 first, so both sides start from the same numbers.

SPDX-License-Identifier: Apache-2.0
"""
import json

import torch
from torch import nn

ROWS = 3


def single(t):
    return t.detach().to(torch.float32).to(torch.float64)


def flat(t):
    return [float("%.9g" % v) for v in t.detach().reshape(-1)]


class Last(nn.Module):
    def forward(self, x):
        return x[0][:, -1]


class Whole(nn.Module):
    def forward(self, x):
        return x[0].transpose(1, 2)


class Steps(nn.Module):
    def forward(self, x):
        return x.transpose(1, 2)


# An LSTM takes [T, C] and gives a pair: what makes a Sequential of it has no number of its own.
class Memory(nn.Sequential):
    def __init__(self, first, second, last):
        super().__init__(first, second, last)
        self.before, self.between, self.behind = Steps(), Whole(), Last()

    def forward(self, x):
        x = self.between(self[0](self.before(x)))
        return self[2](self.behind(self[1](x.transpose(1, 2))))


NETS = {
    "memory": (
        Memory(nn.LSTM(3, 4, batch_first=True), nn.LSTM(4, 5, batch_first=True), nn.Linear(5, 2)),
        (3, 6)),
    "image": (
        nn.Sequential(
            nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2), nn.GroupNorm(3, 6), nn.Tanh(),
            nn.AvgPool2d(2, stride=1, padding=1), nn.Flatten(), nn.Linear(6 * 3 * 3, 3), nn.Tanh()),
        (2, 8, 7)),
    "series": (
        nn.Sequential(
            nn.Conv1d(3, 4, 5, stride=2, padding=2), nn.Sigmoid(), nn.GroupNorm(1, 4),
            nn.MaxPool1d(3, stride=2, padding=1), nn.Flatten(), nn.Linear(4 * 3, 2), nn.Tanh()),
        (3, 10)),
}


def case(net, shape):
    net = net.to(torch.float64)
    for p in net.parameters():
        p.data = single(p + 0.3 * torch.randn_like(p))
    x = single(torch.randn(ROWS, *shape, dtype=torch.float64)).requires_grad_()
    y = net(x)
    dy = single(torch.randn_like(y))
    (y * dy).sum().backward()
    # A series is [T, C] here: PyTorch has [C, T].
    turned = (lambda t: t.transpose(1, 2)) if len(shape) == 2 else (lambda t: t)
    return {
        "x": flat(turned(x)), "dx": flat(turned(x.grad)), "y": flat(y), "dy": flat(dy),
        "tensors": [
            {"name": n, "shape": list(p.shape), "values": flat(p), "gradient": flat(p.grad)}
            for n, p in net.named_parameters()
        ],
    }


torch.manual_seed(20240611)
print(json.dumps({name: case(*NETS[name]) for name in NETS}, separators=(",", ":")))
