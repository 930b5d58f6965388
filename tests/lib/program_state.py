#!/usr/bin/env python3
"""program_state.py -- what the bottoms of programs have learnt, out of the files that parties write.

    program_state.py draw OUT INPUTS WIDTH... SEED     first weights of layers of units, as model.load takes them
    program_state.py apart NATIVE FILE                 the largest difference of a weight, in units of 1e-9: FILE
                                                       is of a program (colonnade.dense)
    program_state.py lost FILE                         yes where it says that the program has failed

Nothing but the standard library and nothing of ours: the second opinion on common/nn/outside.c.
SPDX-License-Identifier: Apache-2.0
"""

import json
import random
import struct
import sys


def tensors(raw):
    n, = struct.unpack_from('<Q', raw)
    header, data = json.loads(raw[8:8 + n]), raw[8 + n:]
    return {name: struct.unpack('<%df' % ((e['data_offsets'][1] - e['data_offsets'][0]) // 4),
                                data[slice(*e['data_offsets'])])
            for name, e in header.items() if name != '__metadata__' and e['dtype'] == 'F32'}


def read(path):
    with open(path, 'rb') as file:
        return tensors(file.read())


def state(path):
    """(lost, the bytes that the program saved)."""
    words = read(path)['layer.0.state']
    n = int(words[1]) | int(words[2]) << 24
    return words[0] == 1, b''.join(int(w).to_bytes(3, 'little') for w in words[4:])[:n]


def draw(out, *numbers):
    *widths, seed = map(int, numbers)
    random.seed(seed)
    header, body = {}, b''
    for i, (before, behind) in enumerate(zip(widths, widths[1:])):
        for what, shape in (('weight', [before, behind]), ('bias', [behind])):
            count = before * behind if what == 'weight' else behind
            values = [random.uniform(-0.3, 0.3) for _ in range(count)]
            header[f'layer.{i}.{what}'] = {'dtype': 'F32', 'shape': shape,
                                           'data_offsets': [len(body), len(body) + 4 * count]}
            body += struct.pack('<%df' % count, *values)
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    with open(out, 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text + body)


def apart(native, path):
    lost, saved = state(path)
    if lost:
        return 'lost'
    ours, theirs = read(native), tensors(saved)
    if not set(ours) <= set(theirs):
        return 'other tensors'
    return max(int(1e9 * abs(a - b)) for name in ours for a, b in zip(ours[name], theirs[name]))


if sys.argv[1] == 'draw':
    draw(*sys.argv[2:])
elif sys.argv[1] == 'apart':
    print(apart(*sys.argv[2:]))
else:
    print('yes' if state(sys.argv[2])[0] else 'no')
