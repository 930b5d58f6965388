"""bottom.py -- what a bottom, and a head, are asked for.

SPDX-License-Identifier: Apache-2.0
"""

import dataclasses

OPTIMIZERS = ('sgd', 'momentum', 'adam', 'adamw')


@dataclasses.dataclass(frozen=True)
class Job:
    """What a bottom is made for, or a head.  The party puts C tanh behind a bottom's outputs, as behind native
    layers; a head's go into the server's loss as they are."""
    inputs: int  # values of a row
    outputs: int  # values of an embedding: model.embedding; of a head what the loss takes
    rows_max: int  # rows that come at a time, at most
    shape: tuple  # of a row, as data.shape says it: (C, H, W), (T, C) or ()
    seed: int  # what it draws should follow from it; random, but for --insecure-seed
    clip: float  # C
    optimizer: str  # the plan's, out of OPTIMIZERS, by which native bottoms take their steps
    weight_decay: float  # the plan's
    local_iterations: int  # Q: steps with one gradient; a head makes Q passes, each with its own step
    head: bool = False


class Bottom:
    """Rows to embeddings, gradients to steps.  Arrays are float32, rows x values, and a row's values
    lie as its columns do; what is handed in may be kept until the next call, and not longer."""

    def begin(self, job):
        """The first thing that is asked."""
        raise NotImplementedError

    def forward(self, x):
        """Embeddings of the rows of a step, finite.  The step's gradient comes, unless there is none."""
        raise NotImplementedError

    def evaluate(self, x):
        """The same of rows that nothing is learnt from; no step of the last forward follows."""
        return self.forward(x)

    def step(self, gradient, rate):
        """One step with the gradient for what the last forward gave (of the batch's mean loss)."""
        raise NotImplementedError

    def save(self):
        """All that it would go on from, as bytes: weights, and what an optimiser has."""
        raise NotImplementedError

    def load(self, state):
        """Goes on from there: the bytes of a save, or of the file of model.load."""
        raise NotImplementedError

    def state_bytes(self):
        """How many bytes save gives at most, in this process and in any other for the same job."""
        return len(self.save())


class Head(Bottom):
    """Fused embeddings (model.fusion, with their noise) to outputs, for model.head_program of a server.  The same,
    and what the parties need."""

    def back(self, gradient):
        """The gradient for what came into the last forward, of that for what it gave, finite; the step with
        the same gradient comes after it, or none does."""
        raise NotImplementedError
