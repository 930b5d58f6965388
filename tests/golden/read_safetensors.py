#!/usr/bin/env python3
"""read_safetensors.py FILE -- reads the format by its public description and prints what is in it.

One line per tensor: name, dtype, shape, then each value as the hexadecimal of its float32.  Nothing but the
standard library, and nothing of ours: the second opinion on common/nn/safetensors.c.

SPDX-License-Identifier: Apache-2.0
"""
import json
import struct
import sys

with open(sys.argv[1], "rb") as f:
    data = f.read()
(n,) = struct.unpack("<Q", data[:8])
assert n % 8 == 0, "the data should start at a multiple of 8"
header, body = json.loads(data[8 : 8 + n]), data[8 + n :]
end = 0
for name, tensor in header.items():
    first, last = tensor["data_offsets"]
    assert first == end, "a gap or an overlap before " + name
    end = last
    count = (last - first) // 4
    words = struct.unpack("<%dI" % count, body[first:last])
    assert tensor["dtype"] == "F32"
    product = 1
    for size in tensor["shape"]:
        product *= size
    assert product == count, name
    print(name, "x".join(map(str, tensor["shape"])), *("%08x" % w for w in words))
assert end == len(body), "bytes after the last tensor"
