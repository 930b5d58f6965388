#!/usr/bin/env python3
# opened.py FILE COMMAND... -- how often FILE is opened while the command works; its exit code is the command's.
# SPDX-License-Identifier: Apache-2.0
import ctypes
import os
import select
import struct
import subprocess
import sys
import threading

IN_ACCESS, IN_OPEN = 0x01, 0x20
libc = ctypes.CDLL(None, use_errno=True)
watch = libc.inotify_init1(os.O_CLOEXEC)
# With what is read, so that two openings, of which the first reads something, are not told as one event.
if watch < 0 or libc.inotify_add_watch(watch, sys.argv[1].encode(), IN_OPEN | IN_ACCESS) < 0:
    sys.exit(f"opened.py: {sys.argv[1]}: {os.strerror(ctypes.get_errno())}")
times, done = 0, os.pipe2(os.O_CLOEXEC)


def count(data):
    global times
    while data:
        _, mask, _, name = struct.unpack("iIII", data[:16])
        times += bool(mask & IN_OPEN)
        data = data[16 + name:]


def listen():
    while True:
        ready, _, _ = select.select([watch, done[0]], [], [])
        if watch in ready:
            count(os.read(watch, 65536))
        elif ready:
            return


thread = threading.Thread(target=listen)
thread.start()
code = subprocess.run(sys.argv[2:], stdout=sys.stderr).returncode
os.write(done[1], b"x")
thread.join()
print(times)
sys.exit(code)
