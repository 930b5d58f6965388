"""idle_bottom.py -- a bottom that computes nothing: what is left of a round is the way to a program and back.

SPDX-License-Identifier: Apache-2.0
"""

import numpy
from colonnade import Bottom, serve


class Idle(Bottom):
    def begin(self, job):
        self.y = numpy.zeros((job.rows_max, job.outputs), numpy.float32)

    def forward(self, x):
        return self.y[:len(x)]

    def step(self, gradient, rate):
        pass

    def save(self):
        return b''

    def load(self, state):
        pass


serve(Idle())
