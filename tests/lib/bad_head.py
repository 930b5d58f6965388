"""bad_head.py DEED QUESTION NTH [WIDTH...] -- a head of layers of units, of which the NTH call of QUESTION (forward,
evaluate or back) goes wrong.

SPDX-License-Identifier: Apache-2.0
"""

import os
import signal
import sys

import numpy
from colonnade import DenseHead, serve


class Bad(DenseHead):
    def __init__(self, deed, at, nth, widths):
        super().__init__(widths)
        self.deed, self.at, self.left = deed, at, nth

    def spoil(self, at, values):
        self.left -= at == self.at
        if at != self.at or self.left != 0:
            return values
        if self.deed == 'crash':
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.deed == 'hang':
            signal.pause()
        elif self.deed == 'shape':
            return values[:, 1:]
        elif self.deed == 'nan':
            return numpy.full_like(values, numpy.nan)
        return values

    def forward(self, x):
        return self.spoil('forward', super().forward(x))

    def evaluate(self, x):
        return self.spoil('evaluate', super().forward(x))

    def back(self, gradient):
        return self.spoil('back', super().back(gradient))


deed, at, nth, *widths = sys.argv[1:]
serve(Bad(deed, at, int(nth), [int(width) for width in widths] or [8]))
