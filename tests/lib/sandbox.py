#!/usr/bin/env python3
"""sandbox.py -- runs a command under the limits and system call filters of a systemd unit, without systemd.

usage: sandbox.py UNIT COMMAND...  Of the unit: SystemCallFilter, RestrictAddressFamilies,
MemoryDenyWriteExecute, RestrictNamespaces, LimitCORE, LimitMEMLOCK, UMask.  Exit code 77 when libseccomp or
systemd-analyze (which knows the sets of system calls) is missing.
SPDX-License-Identifier: Apache-2.0
"""

import ctypes
import errno
import os
import resource
import shutil
import socket
import subprocess
import sys

SKIPPED = 77
ALLOW, ERRNO = 0x7fff0000, 0x00050000
EQUAL, GREATER, MASKED_EQUAL = 4, 6, 7
FAMILIES = 64  # more than there are
WRITE_EXEC, EXEC = 6, 4
LIMITS = {'LimitCORE': resource.RLIMIT_CORE, 'LimitMEMLOCK': resource.RLIMIT_MEMLOCK}


class Compare(ctypes.Structure):
    _fields_ = [('arg', ctypes.c_uint), ('op', ctypes.c_int), ('a', ctypes.c_uint64), ('b', ctypes.c_uint64)]


def settings(unit):
    """Key -> its values, in order."""
    found = {}
    with open(unit, encoding='utf-8') as file:
        for line in file:
            key, equals, value = line.strip().partition('=')
            if equals and not key.startswith('#'):
                found.setdefault(key, []).append(value)
    return found


def members(name):
    """A set of system calls, with the sets in it."""
    if not name.startswith('@'):
        return {name}
    said = subprocess.run(['systemd-analyze', 'syscall-filter', name], check=True, capture_output=True, text=True)
    words = [line.strip() for line in said.stdout.splitlines()[1:]]
    return set().union(*(members(w) for w in words if w and not w.startswith('#')))


def allowed(lines):
    calls = set()
    for line in lines:
        these = set().union(*(members(w) for w in line.lstrip('~').split()))
        calls = calls - these if line.startswith('~') else calls | these
    return calls


class Filter:
    def __init__(self, library, default):
        self.lib = library
        self.lib.seccomp_init.restype = ctypes.c_void_p
        self.ctx = ctypes.c_void_p(self.lib.seccomp_init(ctypes.c_uint32(default)))

    def add(self, action, call, *compare):
        number = self.lib.seccomp_syscall_resolve_name(call.encode())
        if number >= 0:  # others do not exist on this machine
            array = (Compare * max(1, len(compare)))(*compare)
            assert self.lib.seccomp_rule_add_array(self.ctx, ctypes.c_uint32(action), number, len(compare), array) == 0

    def load(self):
        assert self.lib.seccomp_load(self.ctx) == 0


def confine(unit, library):
    denials = Filter(library, ALLOW)
    if unit.get('MemoryDenyWriteExecute') == ['yes']:
        denials.add(ERRNO | errno.EPERM, 'mmap', Compare(2, MASKED_EQUAL, WRITE_EXEC, WRITE_EXEC))
        for call in ('mprotect', 'pkey_mprotect'):
            denials.add(ERRNO | errno.EPERM, call, Compare(2, MASKED_EQUAL, EXEC, EXEC))
    if unit.get('RestrictNamespaces') == ['yes']:
        denials.add(ERRNO | errno.ENOSYS, 'clone3')
        for call in ('unshare', 'setns'):
            denials.add(ERRNO | errno.EPERM, call)
    families = [getattr(socket, name) for name in ' '.join(unit['RestrictAddressFamilies']).split()]
    for other in set(range(FAMILIES)) - {int(f) for f in families}:
        denials.add(ERRNO | errno.EAFNOSUPPORT, 'socket', Compare(0, EQUAL, other, 0))
    denials.add(ERRNO | errno.EAFNOSUPPORT, 'socket', Compare(0, GREATER, FAMILIES - 1, 0))
    denials.load()
    calls = Filter(library, ERRNO | errno.EPERM)
    for call in allowed(unit['SystemCallFilter']):
        calls.add(ALLOW, call)
    calls.load()


def main():
    unit = settings(sys.argv[1])
    try:
        library = ctypes.CDLL('libseccomp.so.2')
    except OSError:
        return SKIPPED
    if shutil.which('systemd-analyze') is None:
        return SKIPPED
    for key, limit in LIMITS.items():
        text = unit[key][0]
        value = int(text[:-1]) << 20 if text.endswith('M') else int(text)
        hard = resource.getrlimit(limit)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limit, (value, value))
    os.umask(int(unit['UMask'][0], 8))
    confine(unit, library)
    os.execv(sys.argv[2], sys.argv[2:])


if __name__ == '__main__':
    sys.exit(main())
