"""tensors.py -- named arrays to bytes and back: safetensors, as model.load and the packages of parties have them.

SPDX-License-Identifier: Apache-2.0
"""

import json
import struct

import numpy

KINDS = {'F16': numpy.float16, 'F32': numpy.float32, 'F64': numpy.float64, 'I8': numpy.int8, 'I16': numpy.int16,
         'I32': numpy.int32, 'I64': numpy.int64, 'U8': numpy.uint8, 'BOOL': numpy.bool_}
NAMES = {numpy.dtype(kind): name for name, kind in KINDS.items()}
HEADER_EACH = 256  # bytes of the header for one array, at most: names are shorter


def pack(arrays):
    header, body, at = {}, [], 0
    for name, values in arrays.items():
        values = numpy.asarray(values)
        header[name] = {'dtype': NAMES[values.dtype], 'shape': list(values.shape),
                        'data_offsets': [at, at + values.nbytes]}
        body.append(values.tobytes())
        at += values.nbytes
    text = json.dumps(header).encode()
    text += b' ' * (-len(text) % 8)
    return struct.pack('<Q', len(text)) + text + b''.join(body)


def unpack(state):
    size, = struct.unpack_from('<Q', state)
    header, body = json.loads(state[8:8 + size]), memoryview(state)[8 + size:]
    header.pop('__metadata__', None)
    return {name: numpy.frombuffer(body[slice(*entry['data_offsets'])], KINDS[entry['dtype']])
            .reshape(entry['shape']).copy() for name, entry in header.items()}


def bytes_max(arrays):
    """Of pack, for arrays of these shapes and types, whatever is in them."""
    return 16 + sum(numpy.asarray(values).nbytes + HEADER_EACH + len(name) for name, values in arrays.items())
