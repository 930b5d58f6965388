#!/usr/bin/python3
"""peer_layers.py -- the steps that bench_layers measures, as a user of PyTorch would write them.

usage: peer_layers.py CASE.  One thread.  A line with a number on standard input runs so many steps, and the answer is
their processor time in microseconds; the last line, at the end of file, is the most memory there was, in bytes.
SPDX-License-Identifier: Apache-2.0
"""
import resource
import sys
import time

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(5)
EMBEDDING = 16


class Last(nn.LSTM):
    def forward(self, x):
        return super().forward(x)[0][:, -1]


class Residual(nn.Module):
    def __init__(self, channels, out, norm):
        super().__init__()
        stride = 1 if channels == out else 2
        self.main = nn.Sequential(nn.Conv2d(channels, out, 3, stride, 1, bias=False), norm(out), nn.ReLU(),
                                  nn.Conv2d(out, out, 3, 1, 1, bias=False), norm(out))
        self.shortcut = nn.Sequential()
        if channels != out:
            self.shortcut = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), norm(out))

    def forward(self, x):
        return self.main(x) + self.shortcut(x)


def resnet18(norm):
    widths = [64, 64, 64, 128, 128, 256, 256, 512, 512]
    blocks = [module for a, b in zip(widths, widths[1:]) for module in (Residual(a, b, norm), nn.ReLU())]
    return nn.Sequential(nn.Conv2d(3, 64, 3, 1, 1, bias=False), norm(64), nn.ReLU(), *blocks,
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, EMBEDDING))


def conv(channels):
    return nn.Conv2d(channels, channels, 3, padding=1)


# What it is, what one row is, and whether anybody asks for the gradient of what comes in.
CASES = {
    "conv-64": (32, lambda: conv(64), (64, 32, 32), True),
    "conv-128": (32, lambda: conv(128), (128, 16, 16), True),
    "conv-256": (32, lambda: conv(256), (256, 8, 8), True),
    "conv-512": (32, lambda: conv(512), (512, 4, 4), True),
    "lstm": (64, lambda: nn.Sequential(Last(76, 128, batch_first=True)), (48, 76), True),
    "cnn": (32, lambda: nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 64, 64), nn.ReLU(), nn.Linear(64, EMBEDDING)),
            (3, 32, 32), False),
    "resnet18": (32, lambda: resnet18(lambda n: nn.GroupNorm(32, n)), (3, 32, 32), False),
    "resnet18-batchnorm": (32, lambda: resnet18(nn.BatchNorm2d), (3, 32, 32), False),
}


def main():
    rows, make, shape, asked = CASES[sys.argv[1]]
    net = make()
    x = torch.randn(rows, *shape, requires_grad=asked)
    step = torch.optim.SGD(net.parameters(), lr=0.001)
    dy = 0.01 * torch.randn_like(net(x))
    for line in sys.stdin:
        start = time.process_time()
        for _ in range(int(line)):
            step.zero_grad()
            x.grad = None
            net(x).backward(dy)
            step.step()
        print(1e6 * (time.process_time() - start), flush=True)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


if __name__ == "__main__":
    main()
