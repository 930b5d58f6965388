#!/usr/bin/env python3
"""host.py -- the first process of a test's host: ends with the test, and all of the host with it.

Lives until its standard input ends.  Writes 'up', then 'PID CODE' for each process of the host that
ended without a parent of its own, as daemons do that a shell left behind.
SPDX-License-Identifier: Apache-2.0
"""

import os
import signal
import sys


def reap(*_):
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        os.write(1, b'%d %d\n' % (pid, os.waitstatus_to_exitcode(status)))


signal.signal(signal.SIGCHLD, reap)
os.write(1, b'up\n')
while os.read(0, 1):
    pass
sys.exit(0)
