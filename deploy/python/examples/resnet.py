"""resnet.py -- a residual network over a party's part of an image, as a bottom.

    model: {program: [python3, resnet.py]}     # of a party whose data.shape is [C, H, W]

SPDX-License-Identifier: Apache-2.0
"""

import torch
from colonnade import TorchBottom, serve
from torch import nn


class Block(nn.Module):
    """Two convolutions and a way around them."""

    def __init__(self, channels, out, stride):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(channels, out, 3, stride, 1, bias=False), nn.GroupNorm(8, out), nn.ReLU(),
                                  nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.GroupNorm(8, out))
        self.around = nn.Identity()
        if channels != out or stride != 1:
            self.around = nn.Conv2d(channels, out, 1, stride, bias=False)

    def forward(self, x):
        return torch.relu(self.body(x) + self.around(x))


def make(job):
    # Group normalisation, not batch normalisation: that would tie the rows of a batch together.
    return nn.Sequential(nn.Conv2d(job.shape[0], 16, 3, 1, 1), Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, job.outputs))


serve(TorchBottom(make))
