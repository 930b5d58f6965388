#!/usr/bin/env python3
"""leaks.py -- where do private keys lie?  Files of PLACES that hold any of the KEYS, in whatever form.

usage: leaks.py KEYS... -- PLACES...  A key is a PEM file or a line of hex.  Prints each file that has
one: as it is written there, as raw bytes, in hex or base64.  Exit code 1 when there is none.
SPDX-License-Identifier: Apache-2.0
"""

import base64
import os
import sys


def forms(path):
    """What must not be found anywhere else: the text of a key file, and the 32 bytes in its end."""
    with open(path, 'rb') as file:
        lines = [line.strip() for line in file if not line.startswith(b'-----')]
    pem = len(lines) > 0 and len(lines[0]) % 4 == 0 and lines[0][:1] == b'M'
    raw = (base64.b64decode(b''.join(lines)) if pem else bytes.fromhex(lines[0].decode()))[-32:]
    assert len(raw) == 32, path
    return {*lines, raw, raw.hex().encode(), raw.hex().upper().encode(), base64.b64encode(raw)}


def files(places):
    for place in places:
        if os.path.isfile(place):
            yield place
        for folder, _, names in os.walk(place):
            yield from (os.path.join(folder, name) for name in names)


def main():
    split = sys.argv.index('--')
    secrets = set().union(*map(forms, sys.argv[1:split]))
    found = []
    for path in files(sys.argv[split + 1:]):
        if os.path.isfile(path):
            with open(path, 'rb') as file:
                data = file.read()
            found += [path] if any(s in data for s in secrets) else []
    print(*found, sep='\n')
    return 0 if found else 1


if __name__ == '__main__':
    sys.exit(main())
