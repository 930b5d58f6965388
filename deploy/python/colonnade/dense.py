"""dense.py -- layers of units in numpy, as model.layers: [64, 64] has them: an example, and a yardstick.

As a program: python3 -m colonnade.dense 64 64, and of a head python3 -m colonnade.dense --head 64.  What it
saves is a safetensors file with the names of model.load, so a file of first weights serves both.
SPDX-License-Identifier: Apache-2.0
"""

import sys

import numpy

from .bottom import Bottom, Head
from .tensors import bytes_max, pack, unpack

MOMENTUM, BETA1, BETA2, EPSILON = 0.9, 0.9, 0.999, 1e-8


class Dense(Bottom):
    """relu behind each hidden width; the last layer is linear to the embedding."""

    def __init__(self, widths=(64,)):
        self.widths = tuple(widths)

    def begin(self, job):
        self.job = job
        draw = numpy.random.default_rng(job.seed)
        widths = (job.inputs, *self.widths, job.outputs)
        self.params = {}
        for i, (before, behind) in enumerate(zip(widths, widths[1:])):
            limit = (6 / (before + behind)) ** 0.5
            self.params[f'layer.{i}.weight'] = draw.uniform(-limit, limit, (before, behind)).astype(numpy.float32)
            self.params[f'layer.{i}.bias'] = numpy.zeros(behind, numpy.float32)
        kept = {'sgd': (), 'momentum': ('m1',), 'adam': ('m1', 'm2'), 'adamw': ('m1', 'm2')}[job.optimizer]
        self.kept = {f'{m}.{name}': numpy.zeros_like(p) for m in kept for name, p in self.params.items()}
        self.steps = 0

    def layer(self, i):
        return self.params[f'layer.{i}.weight'], self.params[f'layer.{i}.bias']

    def forward(self, x):
        self.into = [numpy.array(x)]  # the party writes the next rows over these
        for i in range(len(self.widths) + 1):
            w, b = self.layer(i)
            y = self.into[-1] @ w + b
            self.into.append(numpy.maximum(y, 0) if i < len(self.widths) else y)
        return self.into[-1]

    def step(self, gradient, rate):
        d, slopes = gradient, {}
        for i in reversed(range(len(self.widths) + 1)):
            slopes[f'layer.{i}.weight'] = self.into[i].T @ d
            slopes[f'layer.{i}.bias'] = d.sum(0)
            if i > 0:
                d = (d @ self.layer(i)[0].T) * (self.into[i] > 0)
        self.steps += 1
        for name, slope in slopes.items():
            self.move(name, slope, numpy.float32(rate))

    def move(self, name, slope, rate):
        p, decay, way = self.params[name], numpy.float32(self.job.weight_decay), self.job.optimizer
        if way == 'adamw':
            p *= 1 - rate * decay
        else:
            slope = slope + decay * p
        if way == 'momentum':
            v = self.kept['m1.' + name]
            v *= MOMENTUM
            v += slope
            slope = v
        elif way in ('adam', 'adamw'):
            m, v = self.kept['m1.' + name], self.kept['m2.' + name]
            m += (1 - BETA1) * (slope - m)
            v += (1 - BETA2) * (slope * slope - v)
            slope = (m / (1 - BETA1 ** self.steps)) / (numpy.sqrt(v / (1 - BETA2 ** self.steps)) + EPSILON)
        p -= rate * slope.astype(numpy.float32)

    # All of it: weights, and behind them what the optimiser has.

    def arrays(self):
        return self.params | self.kept | {'steps': numpy.array(self.steps, numpy.int64)}

    def save(self):
        return pack(self.arrays())

    def load(self, state):
        """Or weights alone, of which an optimiser knows nothing yet."""
        found, own = unpack(state), self.arrays()
        if not set(self.params) <= set(found) <= set(own):
            raise ValueError('not the weights of these layers')
        for name, values in found.items():
            if values.shape != own[name].shape or values.dtype != own[name].dtype:
                raise ValueError(f'{name} is {values.shape}, not {own[name].shape}')
        self.params = {name: found[name] for name in self.params}
        self.kept = {name: found.get(name, numpy.zeros_like(values)) for name, values in self.kept.items()}
        self.steps = int(found.get('steps', 0))

    def state_bytes(self):
        return bytes_max(self.arrays())


class DenseHead(Dense, Head):
    """The same of fused embeddings, as model.head: [64] has it with model.head_activation: relu."""

    def back(self, gradient):
        d = gradient
        for i in reversed(range(len(self.widths) + 1)):
            d = d @ self.layer(i)[0].T
            if i > 0:
                d = d * (self.into[i] > 0)
        return d


if __name__ == '__main__':
    from .speech import serve
    if sys.argv[1:2] == ['--head']:
        serve(DenseHead(int(width) for width in sys.argv[2:]))
    else:
        serve(Dense(int(width) for width in sys.argv[1:]))
