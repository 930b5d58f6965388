#!/usr/bin/env python3
"""onnx_run.py -- runs exported models with numpy, and none of our code but the reader of tables.

    onnx_run.py show FILE                       opset, operators, inputs, outputs, metadata
    onnx_run.py scores HEAD.onnx OUT.csv BOTTOM.onnx BOTTOM.safetensors COLUMNS.csv [...]
                                                of rows that predict.py's reader has prepared
    onnx_run.py check FILE...                   by python3-onnx where it is installed, else a line that says so

The file is read by the wire format of protobuf and ONNX's field numbers; operators are those of opset 13 that
common/onnx/onnx.h lists.  Anything else is an error.

SPDX-License-Identifier: Apache-2.0
"""
import os
import struct
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden"))
import predict


def varint(data, at):
    value, shift = 0, 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


# {field number: its values in order}; packed integers are bytes until somebody knows better.
def fields(data):
    found, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            n, at = varint(data, at)
            assert at + n <= len(data), "a field is longer than what it stands in"
            value, at = data[at : at + n], at + n
        elif tag & 7 == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        else:
            raise AssertionError("wire type %d" % (tag & 7))
        found.setdefault(tag >> 3, []).append(value)
    return found


def integers(values):
    out = []
    for value in values:
        at = 0
        while isinstance(value, bytes) and at < len(value):
            one, at = varint(value, at)
            out.append(one)
        if isinstance(value, int):
            out.append(value)
    return out


# Attributes of one number, whole or not, and lists of whole ones (which may be negative).
def attribute(data):
    f = fields(data)
    kind = f[20][0]
    assert kind in (1, 2, 7), "an attribute that is neither a number nor whole numbers"
    value = {1: lambda: f[2][0], 2: lambda: f[3][0], 7: lambda: integers(f[8])}[kind]()
    return f[1][0].decode(), value


def texts(values):
    return [v.decode() for v in values]


def tensor(data):
    f = fields(data)
    assert f[2] in ([1], [7]), "neither float32 nor int64"
    shape = integers(f.get(1, []))
    return f[8][0].decode(), np.frombuffer(f[9][0], "<f4" if f[2] == [1] else "<i8").reshape(shape)


def value_info(data):
    f = fields(data)
    inner = fields(fields(f[2][0])[1][0])
    assert inner[1] == [1], "not float32"
    dims = [fields(d) for d in fields(inner[2][0])[1]]
    return f[1][0].decode(), [d[1][0] if 1 in d else d[2][0].decode() for d in dims]


def read(path):
    with open(path, "rb") as f:
        model = fields(f.read())
    graph = fields(model[7][0])
    opset = fields(model[8][0])
    nodes = []
    for node in map(fields, graph[1]):
        attributes = dict(map(attribute, node.get(5, [])))
        nodes.append((node[4][0].decode(), texts(node[1]), texts(node[2]), attributes))
    return {
        "ir": model[1][0],
        "opset": opset[2][0],
        "nodes": nodes,
        "weights": dict(tensor(t) for t in graph.get(5, [])),
        "inputs": [value_info(v) for v in graph[11]],
        "outputs": [value_info(v) for v in graph[12]],
        "notes": {e[1][0].decode(): e[2][0].decode() for e in map(fields, model.get(14, []))},
    }


# Rows x channels x height x width to the same x the values of each place's window.
def windows(x, kernel_shape, strides, pads, outside):
    (kh, kw), (sh, sw), (top, left, bottom, right) = kernel_shape, strides, pads
    p = np.full(x.shape[:2] + (x.shape[2] + top + bottom, x.shape[3] + left + right), outside, np.float64)
    p[:, :, top : top + x.shape[2], left : left + x.shape[3]] = x
    down, across = (p.shape[2] - kh) // sh + 1, (p.shape[3] - kw) // sw + 1
    return np.stack([np.stack([p[:, :, i * sh : i * sh + kh, j * sw : j * sw + kw] for j in range(across)], 2)
                     for i in range(down)], 2)


def conv(x, w, b=0.0, *, group, **window):
    v = windows(x, outside=0.0, **window)
    each, out = x.shape[1] // group, w.shape[0] // group
    y = [np.einsum("ncijab,ocab->noij", v[:, g * each : (g + 1) * each], w[g * out : (g + 1) * out])
         for g in range(group)]
    return np.concatenate(y, 1) + np.reshape(b, (1, -1, 1, 1) if np.ndim(b) else ())


def average(x, *, count_include_pad, **window):
    assert count_include_pad == 1
    return windows(x, outside=0.0, **window).mean((4, 5))


def instance_norm(x, scale, bias, *, epsilon):
    axes, each = tuple(range(2, x.ndim)), (1, -1) + (1,) * (x.ndim - 2)
    z = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)
    return z * scale.reshape(each) + bias.reshape(each)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# Steps x rows x values to steps x 1 x rows x units, from zeros; gates are i, o, f, c or z, r, h.
def memory(x, w, r, b, step):
    h = c = np.zeros((x.shape[1], r.shape[2]))
    out = []
    for at in x:
        given, kept = at @ w[0].T + b[0, : w.shape[1]], h @ r[0].T + b[0, w.shape[1] :]
        h, c = step(given, kept, h, c)
        out.append(h[None])
    return np.array(out)


def lstm_step(given, kept, h, c):
    i, o, f, g = np.split(given + kept, 4, 1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru_step(given, kept, h, c):
    z, r, n = np.split(given, 3, 1)
    kz, kr, kn = np.split(kept, 3, 1)
    z = sigmoid(z + kz)
    return (1 - z) * np.tanh(n + sigmoid(r + kr) * kn) + z * h, c


def gru(*inputs, hidden_size, linear_before_reset):
    assert linear_before_reset == 1
    return memory(*inputs, gru_step)


def reshape(x, shape):
    return x.reshape([x.shape[i] if n == 0 else n for i, n in enumerate(shape)])


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


OPERATORS = {
    "Add": lambda x, y: x + y,
    "AveragePool": average,
    "Cast": lambda x, to: {7: x.astype(np.int64)}[to],
    "Clip": lambda x, least, most: np.minimum(np.maximum(x, least), most),
    "Concat": lambda *x, axis: np.concatenate(x, axis=axis),
    "Conv": conv,
    "GRU": gru,
    "Gather": lambda x, places, axis=0: np.take(x, places, axis=axis),
    "Gemm": lambda x, w, b: x @ w + b,
    "InstanceNormalization": instance_norm,
    "LSTM": lambda *inputs, hidden_size: memory(*inputs, lstm_step),
    "MatMul": lambda x, w: x @ w,
    "MaxPool": lambda x, **window: windows(x, outside=-np.inf, **window).max((4, 5)),
    "Mul": lambda x, y: x * y,
    "Relu": lambda x: np.maximum(x, 0),
    "Reshape": reshape,
    "Sigmoid": sigmoid,
    "Softmax": softmax,
    "Sub": lambda x, y: x - y,
    "Max": lambda *x: np.maximum.reduce(x),
    "Sum": lambda *x: sum(x),
    "Tanh": np.tanh,
    "Transpose": lambda x, perm: x.transpose(perm),
}


def run(model, *given):
    assert (model["ir"], model["opset"]) == (7, 13)
    values = {name: w.astype(np.float64) if w.dtype == np.float32 else w for name, w in model["weights"].items()}
    assert len(given) == len(model["inputs"])
    for (name, (rows, columns)), x in zip(model["inputs"], given):
        assert rows == "rows" and x.shape[1] == columns, "another shape than the input has"
        values[name] = x
    for op, inputs, outputs, attributes in model["nodes"]:
        assert outputs[0] not in values, "a value that is made twice"
        values[outputs[0]] = OPERATORS[op](*(values[i] for i in inputs), **attributes)
    (name, (rows, columns)), = model["outputs"]
    assert rows == "rows" and values[name].shape[1] == columns, "another shape than the output has"
    return values[name]


def scores(head_path, out_path, *parts):
    head, embeddings, ids = read(head_path), [], None
    for bottom_path, package, table in zip(parts[::3], parts[1::3], parts[2::3]):
        bottom = read(bottom_path)
        assert bottom["notes"]["trail"] == head["notes"]["trail"]
        about, _ = predict.read_package(package)
        assert bottom["notes"].get("columns", "").split() == about["columns"].split()
        own, x = predict.read_rows(table, about)
        assert ids in (None, own)
        ids = own
        embeddings.append(run(bottom, predict.prepare(about, x)))
    out = run(head, *embeddings)
    with open(out_path, "w") as f:
        regression = out.shape[1] == 1
        f.write(",".join(["id"] + (["score"] if regression else ["score_%d" % k for k in range(out.shape[1])])) + "\n")
        for i, row in zip(ids, out):
            f.write(i + "," + ",".join("%.9g" % v for v in row) + "\n")


def show(path):
    model = read(path)
    print("opset", model["opset"])
    print("operators", " ".join(op for op, _, _, _ in model["nodes"]))
    for what in ("inputs", "outputs"):
        for name, shape in model[what]:
            print(what[:-1], name, *shape)
    for key, value in model["notes"].items():
        print(key, value.replace("\n", ","))


def check(*paths):
    try:
        import onnx
    except ImportError:
        print("python3-onnx is not installed: its checker is skipped")
        return
    for path in paths:
        onnx.checker.check_model(path, full_check=True)
        inferred = onnx.shape_inference.infer_shapes(onnx.load(path), strict_mode=True, check_type=True)
        assert inferred.graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    print("python3-onnx %s finds nothing wrong with %d files" % (onnx.__version__, len(paths)))


if __name__ == "__main__":
    {"show": show, "scores": scores, "check": check}[sys.argv[1]](*sys.argv[2:])
