#!/usr/bin/env python3
# pack.py FILE -- FILE.zst beside it, as zstd packs it, in two frames.  By the library that the daemons need anyway.
# SPDX-License-Identifier: Apache-2.0
import ctypes
import sys

zstd = ctypes.CDLL("libzstd.so.1")
zstd.ZSTD_compress.restype = zstd.ZSTD_compressBound.restype = ctypes.c_size_t
zstd.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
zstd.ZSTD_compress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]


def frame(data):
    out = ctypes.create_string_buffer(zstd.ZSTD_compressBound(len(data)))
    n = zstd.ZSTD_compress(out, len(out), data, len(data), 3)
    return out.raw[:n]


data = open(sys.argv[1], "rb").read()
half = len(data) // 2
open(sys.argv[1] + ".zst", "wb").write(frame(data[:half]) + frame(data[half:]))
