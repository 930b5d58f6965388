"""bad_bottom.py DEED QUESTION NTH [WIDTH...] -- layers of units, of which the NTH call of QUESTION goes wrong.

SPDX-License-Identifier: Apache-2.0
"""

import ctypes
import os
import resource
import signal
import socket
import sys
import time

import numpy
from colonnade import serve
from colonnade.dense import Dense


class Bad(Dense):
    def __init__(self, deed, at, nth, widths):
        super().__init__(widths)
        self.deed, self.at, self.left = deed, at, nth
        self.seconds = 0  # for each question

    def spoil(self, at, values):
        time.sleep(self.seconds)
        self.left -= at == self.at
        if at != self.at or self.left != 0:
            return values
        if self.deed == 'crash':
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.deed == 'hang':
            signal.pause()
        elif self.deed == 'raise':
            raise RuntimeError('this bottom does not want to')
        elif self.deed == 'nan':
            values = numpy.array(values)
            values[-1, -1] = numpy.nan
        elif self.deed == 'shape':
            values = values[:, 1:]
        elif self.deed == 'memory':
            self.much = numpy.ones(1 << 30)
        elif self.deed == 'slow':
            self.seconds = 6
        elif self.deed == 'flood':
            for line in range(1 << 15):
                print('a line of a flood, number', line)
        elif self.deed == 'look':
            self.look()
        return values

    def look(self):
        """What a program is not to have, printed where it has it."""
        try:
            socket.create_connection(('127.0.0.1', 9), 1)
        except PermissionError:
            print('no socket', file=sys.stderr)
        a, b = socket.socketpair()
        a.send(b'x')
        print('a pair', b.recv(1), file=sys.stderr)
        print('secret', os.environ.get('PGPASSWORD'), file=sys.stderr)
        print('open', sorted(int(fd) for fd in os.listdir('/proc/self/fd'))[:5], file=sys.stderr)
        with open('/proc/self/status', encoding='ascii') as file:
            print('privileges', *(line.split()[1].strip('0') or 'none' for line in file
                                  if line.startswith(('CapInh', 'CapPrm', 'CapEff', 'CapAmb'))), file=sys.stderr)
        with open('/proc/self/oom_score_adj', encoding='ascii') as file:
            print('goes first', file.read().strip(), file=sys.stderr)
        keeper = os.getppid()
        with open(f'/proc/{keeper}/stat', encoding='ascii') as file:
            daemon = int(file.read().rpartition(')')[2].split()[1])
        # Signal 0 asks only whether another one could be sent.
        for what, deed in {
                'a raw pair': lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW),
                'a pair of datagrams': lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM),
                'signals to the daemon': lambda: os.kill(daemon, 0),
                'signals to the keeper': lambda: os.kill(keeper, 0),
                'signals to all': lambda: os.kill(-1, 0),
                'signals to a group': lambda: os.kill(0, 0),
                'limits of the daemon': lambda: resource.prlimit(daemon, resource.RLIMIT_NOFILE),
                'memory of the daemon': lambda: os.close(os.open(f'/proc/{daemon}/mem', os.O_RDONLY)),
                'a new namespace': self.new_namespace}.items():
            try:
                deed()
                print('it has:', what, file=sys.stderr)
            except PermissionError:
                print('denied:', what, file=sys.stderr)

    def new_namespace(self):
        clone, user = {'x86_64': 56, 'aarch64': 220}[os.uname().machine], 0x10000000
        pid = ctypes.CDLL(None, use_errno=True).syscall(clone, user | signal.SIGCHLD, 0, 0, 0, 0)
        if pid == 0:
            os._exit(0)
        if pid < 0:
            raise OSError(ctypes.get_errno(), 'clone')

    def forward(self, x):
        return self.spoil('forward', super().forward(x))

    def evaluate(self, x):
        return self.spoil('evaluate', super().forward(x))

    def step(self, gradient, rate):
        super().step(gradient, rate)
        self.spoil('step', None)

    def save(self):
        return self.spoil('save', super().save())


serve(Bad(sys.argv[1], sys.argv[2], int(sys.argv[3]), [int(width) for width in sys.argv[4:] or [8]]))
