"""columns.py -- a small transformer over the columns of a table, each number a token, as a bottom.

    model: {program: [python3, columns.py]}

SPDX-License-Identifier: Apache-2.0
"""

import torch
from colonnade import TorchBottom, serve
from torch import nn


class Columns(nn.Module):
    def __init__(self, job, width=16):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(job.inputs, width) / width ** 0.5)
        self.shift = nn.Parameter(torch.zeros(job.inputs, width))
        layer = nn.TransformerEncoderLayer(width, nhead=4, dim_feedforward=32, dropout=0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2)
        self.out = nn.Linear(width, job.outputs)

    def forward(self, x):  # rows x columns
        return self.out(self.encoder(x.unsqueeze(2) * self.scale + self.shift).mean(1))


serve(TorchBottom(Columns))
