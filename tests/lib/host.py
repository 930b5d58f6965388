#!/usr/bin/env python3
"""host.py -- the first process of a test's host: ends with the test, and all of the host with it.

Lives until its standard input ends.  Writes 'up', then 'PID CODE' for each process of the host that
ended without a parent of its own, as daemons do that a shell left behind.
SPDX-License-Identifier: Apache-2.0
"""

import os
import select
import signal
import sys


def reap():
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        os.write(1, b'%d %d\n' % (pid, os.waitstatus_to_exitcode(status)))


# The signal writes to a pipe: one that comes just before a call that waits is seen by that call.
told, tell = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
signal.set_wakeup_fd(tell)
signal.signal(signal.SIGCHLD, lambda *_: None)
os.write(1, b'up\n')
while True:
    ready, _, _ = select.select([0, told], [], [])
    if told in ready:
        os.read(told, 4096)
        reap()
    if 0 in ready and not os.read(0, 1):
        sys.exit(0)
