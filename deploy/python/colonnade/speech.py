"""speech.py -- the program's side of the messages between a daemon and the program of its bottom or head.

docs/programs.md has the table; common errors end the program, and the party says so in its log.
SPDX-License-Identifier: Apache-2.0
"""

import mmap
import os
import socket
import struct
import sys
import traceback

import numpy

from .bottom import OPTIMIZERS, Head, Job

VERSION, BYTES, FD = 1, 128, 3
HEAD = struct.Struct('<4sHHQQ')
VALUES = 13
ASKS, ANSWERS, FAILS = range(3)
HELLO, INIT, ROOM, FORWARD, EVALUATE, STEP, SAVE, LOAD, END, BACK = range(1, 11)
# Of each kind that has some: its values in a question, 'd' where one is a real number.
ASKED = {INIT: 'QQQQQQQdQdQQQ', ROOM: 'Q', FORWARD: 'Q', EVALUATE: 'Q', STEP: 'Qd', LOAD: 'Q', BACK: 'Q'}
ALIGNMENT = 64


def aligned(n):
    return (n + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


class Program:
    """One bottom, or head, for one job."""

    def __init__(self, bottom, party):
        self.bottom = bottom
        self.party = party
        self.job = None
        self.x = self.y = self.gradient = self.back_to = self.state = None
        self.answers = {HELLO: self.hello, INIT: self.init, ROOM: self.room, FORWARD: self.forward,
                        EVALUATE: self.evaluate, STEP: self.step, SAVE: self.save, LOAD: self.load, BACK: self.back}

    # Each takes the question's values and the descriptor that came with it, and gives the answer's one.

    def hello(self, fd):
        return 0

    def init(self, fd, inputs, outputs, rows, *more):
        shape, (seed, clip, optimizer, decay, iterations, most, head) = more[:3], more[3:]
        if bool(head) != isinstance(self.bottom, Head):
            raise TypeError('model.program takes a Bottom, model.head_program a Head: this is ' +
                            type(self.bottom).__name__)
        self.job = Job(inputs, outputs, rows, tuple(n for n in shape if n > 0), seed, clip,
                       OPTIMIZERS[optimizer], decay, iterations, bool(head))
        x, y = aligned(4 * rows * inputs), aligned(4 * rows * outputs)
        places = [(inputs, 0), (outputs, x), (outputs, x + y)] + [(inputs, x + 2 * y)] * bool(head)
        memory = mmap.mmap(fd, x + 2 * y + x * bool(head))
        self.x, self.y, self.gradient, *back_to = (
            numpy.frombuffer(memory, numpy.float32, rows * n, at).reshape(rows, -1) for n, at in places)
        self.back_to = back_to[0] if head else None
        self.bottom.begin(self.job)
        size = self.bottom.state_bytes()
        if size > most:
            raise ValueError(f'a state of {size} bytes, and {most} are the most')
        return size

    def room(self, fd, size):
        self.state = mmap.mmap(fd, size)
        return 0

    def embed(self, embed, rows):
        h = numpy.asarray(embed(self.x[:rows]))
        if h.shape != (rows, self.job.outputs):
            raise ValueError(f'embeddings of shape {h.shape}, not {(rows, self.job.outputs)}')
        self.y[:rows] = h
        return 0

    def forward(self, fd, rows):
        return self.embed(self.bottom.forward, rows)

    def evaluate(self, fd, rows):
        return self.embed(self.bottom.evaluate, rows)

    def step(self, fd, rows, rate):
        self.bottom.step(self.gradient[:rows], rate)
        return 0

    def back(self, fd, rows):
        g = numpy.asarray(self.bottom.back(self.gradient[:rows]))
        if g.shape != (rows, self.job.inputs):
            raise ValueError(f'gradients of shape {g.shape}, not {(rows, self.job.inputs)}')
        self.back_to[:rows] = g
        return 0

    def save(self, fd):
        state = self.bottom.save()
        if len(state) > len(self.state):
            raise ValueError(f'a state of {len(state)} bytes, and {len(self.state)} were said to be the most')
        self.state[:len(state)] = state
        return len(state)

    def load(self, fd, size):
        self.bottom.load(bytes(self.state[:size]))
        return 0

    def answer_next(self):
        """False: the job is over."""
        message, fds, _, _ = socket.recv_fds(self.party, BYTES, 1)
        if not message:
            return False
        magic, version, kind, number, part = HEAD.unpack_from(message)
        if len(message) != BYTES or magic != b'CLND' or version != VERSION or part != ASKS:
            raise ValueError('what the party asks is of another version of docs/programs.md')
        if kind == END:
            return False
        try:
            asked = struct.unpack_from('<' + ASKED.get(kind, ''), message, HEAD.size)
            value = self.answers[kind](fds[0] if fds else -1, *asked)
        except Exception:
            traceback.print_exc()
            self.party.send(HEAD.pack(b'CLND', VERSION, kind, number, FAILS) + bytes(8 * VALUES))
            return False
        finally:
            for fd in fds:
                os.close(fd)
        self.party.send(HEAD.pack(b'CLND', VERSION, kind, number, ANSWERS) +
                        struct.pack('<Q', value) + bytes(8 * (VALUES - 1)))
        return True


def serve(bottom):
    """Answers the daemon that has started this program, until the job is over."""
    try:
        party = socket.socket(fileno=FD)
    except OSError:
        sys.exit('this is for model.program of a party, or model.head_program of a server, which starts it')
    program = Program(bottom, party)
    while program.answer_next():
        continue
