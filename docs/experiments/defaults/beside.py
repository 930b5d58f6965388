#!/usr/bin/env python3
# beside.py -- the sets behind the choice of defaults, and scikit-learn beside them.
#
#   beside.py make FOLDER OUT          each set's training and test rows, twice: OUT/choose (test rows left out, a part of the
#                                      training rows in their place: what defaults are chosen by) and OUT/report
#   beside.py sklearn OUT/WHICH SCORES.csv [SET...]    logistic regression and an MLP on pooled columns
#   beside.py table OUT/WHICH SCORES.csv RUNS          beside the runs of an experiment (its folder, with runs/ID/scores.csv)
#
# A row is tested when the first byte of SHA-256 of its id (parkinson: of its person), mod 5, is 0, where the set has no published
# split; choose takes the same rule of "choose" and the id. Scores are 100 times the AUC for two classes, the accuracy for more.
#
# The fixed protocol: columns standardised by the training rows; logistic regression (lbfgs, up to 300 steps) with C one of
# 0.001, 0.01, 0.1, 1 by cross-validation (3 folds, by the same score); an MLP of 100 hidden units, Adam 0.001, stopped early on a tenth.
# SPDX-License-Identifier: Apache-2.0
import csv
import glob
import gzip
import hashlib
import os
import struct
import sys
import warnings

import numpy as np

TABLES = ("phishing", "default-credit", "mfeat", "parkinson-speech", "har", "har-raw")
IMAGES = ("mnist", "fashion-mnist", "cifar10")
BINARY = ("phishing", "default-credit", "parkinson-speech")
ROWS = {"mnist": (6000, 5000), "fashion-mnist": (6000, 5000), "cifar10": (5000, 3000)}  # the first ones


def fifth(text):
    return hashlib.sha256(text.encode()).digest()[0] % 5 == 0


def lines(path):
    with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as f:
        return list(csv.reader(f))


def images(path):
    data = gzip.open(path).read()
    n = struct.unpack(">I", data[4:8])[0]
    return np.frombuffer(data, np.uint8, offset=4 * (1 + data[3])).reshape(n, -1)


def read_table(folder, name):
    """Header, training rows, test rows, whose they are: as lists of text."""
    if name == "har":
        whose = {r[0]: r[1] for r in lines(f"{folder}/har/groups.csv.gz")[1:]}
        head, *train = lines(f"{folder}/har/train.csv.gz")
        return head, train, lines(f"{folder}/har/test.csv.gz")[1:], whose
    if name == "har-raw":  # every second window of the training rows, which overlap by half
        whose = {r[0]: r[1] for r in lines(f"{folder}/har/groups.csv.gz")[1:]}
        out = []
        for part, step in (("train", 2), ("test", 1)):
            x = np.load(gzip.open(f"{folder}/har-raw/{part}.npy.gz")).transpose(0, 2, 1)[::step]
            rows = lines(f"{folder}/har-raw/{part}-labels.csv")[1::step]
            out.append([[r[0]] + ["%.4g" % v for v in x[i].ravel()] + [r[1]] for i, r in enumerate(rows)])
        head = ["id"] + ["s%d" % i for i in range(9 * 128)] + ["label"]
        return head, out[0], out[1], whose
    head, *rows = lines(f"{folder}/{name}/{name}.csv.gz")
    whose = dict(lines(f"{folder}/{name}/groups.csv.gz")[1:]) if name.startswith("park") else {}
    tested = [fifth(whose.get(r[0], r[0])) for r in rows]
    return head, [r for r, t in zip(rows, tested) if not t], [r for r, t in zip(rows, tested) if t], whose


def write_table(path, head, rows):
    with gzip.open(path, "wt", compresslevel=1) as f:
        csv.writer(f, lineterminator="\n").writerows([head] + rows)


def write_images(path, x, y):
    with gzip.open(path + "-images.gz", "wb", compresslevel=1) as f:
        side = (28, 28) if x.shape[1] == 784 else (32, 96)
        f.write(struct.pack(">IIII", 0x803, len(x), *side) + x.tobytes())
    with gzip.open(path + "-labels.gz", "wb") as f:
        f.write(struct.pack(">II", 0x801, len(y)) + y.tobytes())


def make(folder, out):
    for which in ("choose", "report"):
        os.makedirs(f"{out}/{which}", exist_ok=True)
    for name in TABLES:
        head, train, test, whose = read_table(folder, name)
        inner = [fifth("choose" + whose.get(r[0], r[0])) for r in train]
        write_table(f"{out}/report/{name}-train.csv.gz", head, train)
        write_table(f"{out}/report/{name}-test.csv.gz", head, test)
        write_table(f"{out}/choose/{name}-train.csv.gz", head, [r for r, t in zip(train, inner) if not t])
        write_table(f"{out}/choose/{name}-test.csv.gz", head, [r for r, t in zip(train, inner) if t])
    for name in IMAGES:
        train_n, test_n = ROWS[name]
        if name == "cifar10":  # 32 rows of three colours, side by side
            both = []
            for part in ("train", "test"):
                raw = np.frombuffer(gzip.open(f"{folder}/cifar10-subset/{part}.bin.gz").read(), np.uint8).reshape(-1, 3073)
                x = raw[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 1, 3).reshape(-1, 3072)
                both += [x, raw[:, 0]]
        else:
            both = []
            for part in ("train", "t10k"):
                both += [images(f"{folder}/{name}/{part}-images-idx3-ubyte.gz"),
                         images(f"{folder}/{name}/{part}-labels-idx1-ubyte.gz").ravel()]
        x, y, tx, ty = both
        write_images(f"{out}/report/{name}-train", x[:train_n], y[:train_n])
        write_images(f"{out}/report/{name}-test", tx[:test_n], ty[:test_n])
        write_images(f"{out}/choose/{name}-train", x[: train_n * 4 // 5], y[: train_n * 4 // 5])
        write_images(f"{out}/choose/{name}-test", x[train_n * 4 // 5 : train_n], y[train_n * 4 // 5 : train_n])


def load(folder, name):
    out = []
    for part in ("train", "test"):
        if name in IMAGES:
            out += [images(f"{folder}/{name}-{part}-images.gz").astype(np.float32),
                    images(f"{folder}/{name}-{part}-labels.gz").ravel().astype(int)]
        else:
            rows = np.array(lines(f"{folder}/{name}-{part}.csv.gz")[1:], dtype=np.float64)
            out += [rows[:, 1:-1], rows[:, -1].astype(int)]
    return out


def score(name, prob, y):
    if name in BINARY:
        from sklearn.metrics import roc_auc_score
        return 100 * roc_auc_score(y, prob[:, 1])
    return 100 * (prob.argmax(axis=1) == y).mean()


def error(name, prob, y):
    """The standard error of a score: what other test rows would change, by 200 draws."""
    rng = np.random.default_rng(1)
    draws = []
    for _ in range(200):
        i = rng.integers(0, len(y), len(y))
        draws.append(score(name, prob[i], y[i]))
    return float(np.std(draws))


def sklearn(folder, path, names):
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import StandardScaler
    warnings.filterwarnings("ignore")
    fresh = not os.path.exists(path)
    with open(path, "a") as f:
        if fresh:
            f.write("set,model,seed,score,error\n")
        for name in names or TABLES + IMAGES:
            x, y, tx, ty = load(folder, name)
            scale = StandardScaler().fit(x)
            x, tx = scale.transform(x), scale.transform(tx)
            search = GridSearchCV(LogisticRegression(max_iter=300), {"C": [0.001, 0.01, 0.1, 1]}, cv=3,
                                  scoring="roc_auc" if name in BINARY else "accuracy").fit(x, y)
            prob = search.predict_proba(tx)
            f.write(f"{name},logistic,,{score(name, prob, ty):.3f},{error(name, prob, ty):.3f}\n")
            f.flush()
            for seed in range(10 if name in TABLES else 3):
                mlp = MLPClassifier(early_stopping=True, random_state=seed).fit(x, y)
                prob = mlp.predict_proba(tx)
                f.write(f"{name},mlp,{seed},{score(name, prob, ty):.3f},{error(name, prob, ty):.3f}\n")
                f.flush()


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    if command == "make":
        make(*rest)
    elif command == "sklearn":
        sklearn(rest[0], rest[1], rest[2:])
