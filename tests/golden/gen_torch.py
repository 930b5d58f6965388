#!/usr/bin/env python3
"""gen_torch.py -- nets of images and series trained by PyTorch itself, in float64.

    /usr/bin/python3 tests/golden/gen_torch.py > tests/golden/torch.json    # python3-torch

Of each net: its inputs, its first weights (rounded to float32, by PyTorch's names, running moments
among them), what comes out of them in evaluation, weights after one step and after ten of plain SGD
on half the squared distance from the targets, the ten losses, and what comes out then.
tests/unit/nn/test_layers_golden.c has the same nets.

SPDX-License-Identifier: Apache-2.0
"""
import json

import torch
from torch import nn

ROWS, STEPS, RATE = 3, 10, 0.05
SEED = 20240611
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


# Every step's h, or the last one's.
def memory(kind, channels, units, whole):
    class Memory(kind):
        def forward(self, x):
            h = super().forward(x)[0]
            return h if whole else h[:, -1]
    return Memory(channels, units, batch_first=True)


# What comes in goes both ways, and they are added.
class Residual(nn.Module):
    def __init__(self, main, shortcut):
        super().__init__()
        self.main, self.shortcut = nn.Sequential(*main), nn.Sequential(*shortcut)

    def forward(self, x):
        return self.main(x) + self.shortcut(x)


NETS = {
    "image": ((2, 8, 7), 3, lambda x: x, lambda: nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2), nn.GroupNorm(3, 6), nn.Tanh(),
        nn.AvgPool2d(2, stride=1, padding=1), nn.Flatten(), nn.Linear(54, 3), nn.Tanh())),
    "series": ((10, 3), 2, lambda x: x.transpose(1, 2), lambda: nn.Sequential(
        nn.Conv1d(3, 4, 5, stride=2, padding=2), nn.Sigmoid(), nn.GroupNorm(1, 4),
        nn.MaxPool1d(3, stride=2, padding=1), nn.Flatten(), nn.Linear(12, 2), nn.Tanh())),
    "batch": ((2, 4, 3), 2, lambda x: x, lambda: nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(),
        nn.Conv2d(4, 3, 3, stride=2, padding=1), nn.BatchNorm2d(3), nn.Tanh(),
        nn.Flatten(), nn.Linear(12, 2), nn.Tanh())),
    "memory": ((6, 3), 2, lambda x: x, lambda: nn.Sequential(
        memory(nn.LSTM, 3, 4, True), memory(nn.LSTM, 4, 5, False), nn.Linear(5, 2))),
    "gated": ((6, 3), 2, lambda x: x, lambda: nn.Sequential(
        memory(nn.GRU, 3, 4, True), memory(nn.GRU, 4, 5, False), nn.Linear(5, 2))),
    "blocks": ((1, 6, 4), 2, lambda x: x, lambda: nn.Sequential(
        nn.Conv2d(1, 2, 3, padding=1), nn.ReLU(),
        Residual([nn.Conv2d(2, 2, 3, padding=1, bias=False), nn.GroupNorm(1, 2)], []), nn.Tanh(),
        Residual([nn.Conv2d(2, 4, 3, stride=2, padding=1, bias=False), nn.GroupNorm(2, 4), nn.ReLU(),
                  nn.Conv2d(4, 4, 3, padding=1)],
                 [nn.Conv2d(2, 4, 1, stride=2, bias=False), nn.GroupNorm(4, 4)]),
        nn.Flatten(), nn.Linear(24, 2), nn.Tanh())),
}


def flat(t):
    return [float("%.9g" % v) for v in t.detach().flatten().tolist()]


def single(t):
    return t.to(torch.float32).to(torch.float64)


def case(shape, outputs, turn, make):
    torch.manual_seed(SEED)
    net = make()
    x, target = single(torch.randn(ROWS, *shape)), single(torch.randn(ROWS, outputs))
    state = {n: p for n, p in net.state_dict().items() if "num_batches" not in n}
    with torch.no_grad():
        for p in state.values():
            p.copy_(single(p + 0.1 * torch.randn_like(p)))
    tensors = [{"name": n, "shape": list(p.shape), "values": flat(p)} for n, p in state.items()]
    sgd, losses = torch.optim.SGD(net.parameters(), lr=RATE), []
    y = flat(net.eval()(turn(x)))
    net.train()
    for step in range(STEPS):
        sgd.zero_grad()
        loss = 0.5 * ((net(turn(x)) - target) ** 2).sum()
        loss.backward()
        sgd.step()
        losses.append(loss.item())
        if step == 0 or step == STEPS - 1:
            for t, p in zip(tensors, state.values()):
                t["one" if step == 0 else "ten"] = flat(p)
    return {"x": flat(x), "target": flat(target), "y": y, "losses": losses, "tensors": tensors,
            "shown": flat(net.eval()(turn(x)))}


print(json.dumps({name: case(*of) for name, of in NETS.items()}, separators=(",", ":")))
