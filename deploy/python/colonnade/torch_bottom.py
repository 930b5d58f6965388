"""torch_bottom.py -- any module of PyTorch as a bottom, or as a head.

SPDX-License-Identifier: Apache-2.0
"""

import io

import numpy
import torch

from .bottom import Bottom, Head
from .tensors import HEADER_EACH, bytes_max, pack, unpack


class TorchBottom(Bottom):
    """A module that make(job) gives: rows, shaped as data.shape says, to job.outputs values.

    optimizer(parameters) makes its optimiser; left out: the plan's, as the native bottoms have it.  The rate
    is the plan's in each step, whatever the optimiser was made with."""

    def __init__(self, make, optimizer=None):
        self.make = make
        self.make_optimizer = optimizer

    def begin(self, job):
        torch.manual_seed(job.seed % 2 ** 63)
        self.job = job
        self.module = self.make(job)
        parameters = [p for p in self.module.parameters() if p.requires_grad]
        self.optimizer = (self.make_optimizer or self.plans)(parameters)
        self.embedded = self.came = None

    def plans(self, parameters):
        decay = self.job.weight_decay
        return {'sgd': lambda: torch.optim.SGD(parameters, lr=1, weight_decay=decay),
                'momentum': lambda: torch.optim.SGD(parameters, lr=1, momentum=0.9, weight_decay=decay),
                'adam': lambda: torch.optim.Adam(parameters, lr=1, weight_decay=decay),
                'adamw': lambda: torch.optim.AdamW(parameters, lr=1, weight_decay=decay)}[self.job.optimizer]()

    def rows(self, x):
        # A copy: the party writes the next rows over these, and a graph keeps its inputs.
        return torch.tensor(x).reshape(len(x), *(self.job.shape or (self.job.inputs,)))

    def forward(self, x):
        self.module.train(len(x) > 1)  # one row has no statistics of a batch: those that are kept
        self.came = self.rows(x).requires_grad_(self.job.head)
        self.embedded = self.module(self.came)
        return self.embedded.detach().numpy()

    def evaluate(self, x):
        self.module.eval()
        with torch.no_grad():
            return self.module(self.rows(x)).numpy()

    def slopes(self, gradient):
        """Of the parameters, and of what came in where that is asked for."""
        self.optimizer.zero_grad()
        self.embedded.backward(torch.tensor(gradient))
        self.embedded = None

    def step(self, gradient, rate):
        if self.embedded is not None:  # else a head's, whose slopes are there already
            self.slopes(gradient)
        for group in self.optimizer.param_groups:
            group['lr'] = rate
        self.optimizer.step()

    # Tensors alone, module.NAME and optimizer.NUMBER.NAME: nothing that is loaded can run.

    def arrays(self):
        found = {f'module.{name}': tensor.cpu().numpy() for name, tensor in self.module.state_dict().items()}
        for i, kept in self.optimizer.state_dict()['state'].items():
            for name, value in kept.items():
                if value is not None:
                    found[f'optimizer.{i}.{name}'] = numpy.asarray(value.cpu() if torch.is_tensor(value) else value)
        return found

    def save(self):
        return pack(self.arrays())

    def load(self, state):
        if state[:2] == b'PK':  # what torch.save has made of module.state_dict(), for model.load
            self.module.load_state_dict(torch.load(io.BytesIO(state), weights_only=True))
            return
        module, optimizer = {}, {}
        for name, values in unpack(state).items():
            where, name = name.split('.', 1)
            if where == 'module':
                module[name] = torch.tensor(values)
            else:
                i, name = name.split('.', 1)
                optimizer.setdefault(int(i), {})[name] = torch.tensor(values)
        self.module.load_state_dict(module)
        self.optimizer.load_state_dict({'state': optimizer,
                                        'param_groups': self.optimizer.state_dict()['param_groups']})

    def state_bytes(self):
        """What the optimiser has after a step it need not have now: twice the weights, and some numbers."""
        weights = {name: tensor.cpu().numpy() for name, tensor in self.module.state_dict().items()}
        return 3 * bytes_max(weights) + 2 * HEADER_EACH * len(weights)


class TorchHead(TorchBottom, Head):
    """The same of fused embeddings, rows x job.inputs, to job.outputs values: what the loss takes, without softmax
    or sigmoid."""

    def back(self, gradient):
        self.slopes(gradient)
        came = self.came.grad  # None, where outputs hang on nothing that came in
        return torch.zeros_like(self.came).numpy() if came is None else came.numpy()
