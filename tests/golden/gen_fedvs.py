#!/usr/bin/python3
"""Writes tests/golden/fedvs.h: two small generations of fedvs, computed as the headers of
common/secagg and common/lcc say, by other means.

    /usr/bin/python3 tests/golden/gen_fedvs.py > tests/golden/fedvs.h

Everything is looked at from the last member, who deals no keys: what the others sealed for it, what
it deals, what it adds.  Needs the cryptography module (AES); the fields are Python's integers and
fixed point is exact fractions.  Shares no code with the product.

SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import hmac
import itertools
import struct
from fractions import Fraction

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM


class Case:
    """bits of the prime; K; T; P; x_bits; w_bits; features and degree of each member; rows."""

    def __init__(self, number, bits, segments, privacy, width, x_bits, w_bits, features, degree,
                 rows, coded):
        self.number, self.bits, self.p = number, bits, 2**bits - 1
        self.segments, self.privacy, self.width = segments, privacy, width
        self.x_bits, self.w_bits = x_bits, w_bits
        self.features, self.degree, self.rows, self.coded = features, degree, rows, coded
        self.parties = len(features)
        self.me = self.parties - 1
        self.len = -(-rows // segments)
        self.inputs = [d * e for d, e in zip(features, degree)]


CASES = [
    Case(0, 61, 2, 1, 2, 3, 6, [1, 2, 1, 1, 2], [1, 2, 3, 1, 2], 5, [0, 2]),
    Case(1, 31, 1, 2, 3, 5, 4, [2, 1, 1, 1, 1, 3], [1, 1, 2, 1, 1, 3], 4, [1, 2, 3]),
]
X_MAX = Fraction(1)
ROUNDS = {"keys": 3, "data": 4, "round": 300}  # the last one is after a ratchet
PURPOSES = {"keys": 3, "data": 4, "round": 0}


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


# --- fields and points ---


def beta(u):
    return u + 1


def alpha(case, j):
    return case.segments + case.privacy + 1 + j


def value_at(case, rows, point):
    """Of the polynomial that is rows[u] at beta(u), column by column."""
    p, factors = case.p, []
    for u in range(len(rows)):
        top, below = 1, 1
        for k in range(len(rows)):
            if k != u:
                top = top * (point - beta(k)) % p
                below = below * (beta(u) - beta(k)) % p
        factors.append(top * pow(below, -1, p) % p)
    return [sum(f * row[i] for f, row in zip(factors, rows)) % p for i in range(len(rows[0]))]


# --- streams ---


class Stream:
    def __init__(self, key, iv=bytes(12)):
        self.cipher = Cipher(algorithms.AES(key), modes.CTR(iv + bytes(4))).encryptor()

    def read(self, n):
        return self.cipher.update(bytes(n))

    def elements(self, case, n):
        out, size = [], 4 if case.bits == 31 else 8
        while len(out) < n:
            v = int.from_bytes(self.read(size), "little") & case.p
            if v != case.p:
                out.append(v)
        return out


def ratcheted(key, number):
    for _ in range(number // 256):
        key = hmac.new(key, b"vfl/ratchet/1" + b"\x01", hashlib.sha256).digest()
    return key


def sid(case):
    return sha(b"fedvs sid %d" % case.number)


def view(case):
    return sha(b"fedvs view %d" % case.number)


def seal(case, kind, sender, receiver, text):
    number, purpose = ROUNDS[kind], PURPOSES[kind]
    key = ratcheted(sha(b"fedvs key", bytes([case.number, sender, receiver])), number)
    nonce = struct.pack("<Q", number) + bytes([purpose]) + bytes(3)
    aad = (b"vfl/share/1" + sid(case) + bytes([purpose]) + struct.pack("<Q", number) +
           struct.pack("<HH", sender, receiver) + view(case))
    sealed = AESGCM(key).encrypt(nonce, text, aad)
    return sealed[:-16], sealed[-16:]


def pack(case, values):
    total = 0
    for i, v in enumerate(values):
        total |= v << (i * case.bits)
    return total.to_bytes((len(values) * case.bits + 7) // 8, "little")


# --- data and weights ---


def x_of(m, row, feature):
    """Quarters from -5/4 to 5/4, some beyond X_MAX; their powers have ties to round."""
    return Fraction((row * 7 + feature * 3 + m * 5) % 11 - 5, 4)


def nearest(v):
    """Ties to even."""
    below = v.numerator // v.denominator
    rest = v - below
    return below + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and below % 2 == 1))


def quantised(case, m, row):
    """A row's columns, power by power; zeros where there is no row."""
    out = []
    for power in range(1, case.degree[m] + 1):
        for feature in range(case.features[m]):
            x = max(-X_MAX, min(X_MAX, x_of(m, row, feature)))
            out.append(nearest(x**power * 2**case.x_bits) if row < case.rows else 0)
    return out


def weights(case, m):
    """In units of 2^-w_bits, row by row."""
    n, top = case.inputs[m] * case.width, 2**(case.w_bits + 1)
    return [(i * 37 + m * 11) % (2 * top + 1) - top for i in range(n)]


def data_shares(case, m):
    """shares[j]: len rows of inputs[m]."""
    n = case.len * case.inputs[m]
    segments = [sum((quantised(case, m, k * case.len + r) for r in range(case.len)), [])
                for k in range(case.segments)]
    masks = Stream(sha(b"fedvs masks", bytes([case.number, m]))).elements(case, case.privacy * n)
    rows = segments + [masks[t * n:(t + 1) * n] for t in range(case.privacy)]
    return [value_at(case, rows, alpha(case, j)) for j in range(case.parties)]


def weight_shares(case, m):
    n = case.inputs[m] * case.width
    masks = Stream(sha(b"fedvs weights", bytes([case.number, m]))).elements(case, case.privacy * n)
    rows = [weights(case, m)] * case.segments
    rows += [masks[t * n:(t + 1) * n] for t in range(case.privacy)]
    return [value_at(case, rows, alpha(case, j)) for j in range(case.parties)]


def product(case, j, data, w, members):
    """Member j's sum over these members, for the coded rows of the round."""
    out = []
    for r in case.coded:
        for c in range(case.width):
            total = 0
            for m in members:
                for i in range(case.inputs[m]):
                    total += data[m][j][r * case.inputs[m] + i] * w[m][j][i * case.width + c]
            out.append(total % case.p)
    return out


def sums(case):
    out = []
    for k in range(case.segments):
        for r in case.coded:
            for c in range(case.width):
                out.append(sum(q * weights(case, m)[i * case.width + c]
                               for m in range(case.parties)
                               for i, q in enumerate(quantised(case, m, k * case.len + r))))
    return out


# --- keys and zero shares ---


def missing_sets(case, dealer):
    """Those of the sets whose lowest member this is."""
    return [missing for missing in itertools.combinations(range(case.parties), case.privacy)
            if min(set(range(case.parties)) - set(missing)) == dealer]


def subset_keys(case):
    keys = {}
    for dealer in range(case.parties):
        stream = Stream(sha(b"fedvs dealer", bytes([case.number, dealer])))
        for missing in missing_sets(case, dealer):
            keys[missing] = stream.read(32)
    return keys


def keys_part(case, keys, dealer, to):
    return b"".join(bytes(32) if to in missing else keys[missing]
                    for missing in missing_sets(case, dealer))


def zero_shares(case, keys, n):
    """shares[j]: n elements, all members' from all the coefficients."""
    p, number = case.p, ROUNDS["round"]
    iv = sha(b"vfl/zero/1", bytes([PURPOSES["round"]]), struct.pack("<Q", number), sid(case),
             view(case))[:12]
    shares = [[0] * n for _ in range(case.parties)]
    for missing, key in keys.items():
        stream = Stream(ratcheted(key, number), iv)
        for power in range(case.segments + case.privacy - 1):
            coefficients = stream.elements(case, n)
            for j in range(case.parties):
                z = alpha(case, j)
                f = pow(z, power, p)
                for k in range(case.segments):
                    f = f * (z - beta(k)) % p
                for other in missing:
                    f = f * (z - alpha(case, other)) % p
                for i in range(n):
                    shares[j][i] = (shares[j][i] + f * coefficients[i]) % p
    return shares


# --- C ---


def c_bytes(name, data):
    print("static const uint8_t %s[] = {" % name)
    for i in range(0, len(data), 16):
        print("    " + " ".join("0x%02x," % v for v in data[i:i + 16]))
    print("};")


def c_numbers(name, values, kind, suffix):
    print("static const %s %s[] = {" % (kind, name))
    for i in range(0, len(values), 4):
        print("    " + " ".join("%s(%d)," % (suffix, v) for v in values[i:i + 4]))
    print("};")


def sealed_for_me(case, kind, text_of):
    parts = [seal(case, kind, m, case.me, text_of(m)) for m in range(case.me)]
    return b"".join(p[0] for p in parts), b"".join(p[1] for p in parts)


def write_case(case):
    everybody = range(case.parties)
    data = [data_shares(case, m) for m in everybody]
    w = [weight_shares(case, m) for m in everybody]
    keys = subset_keys(case)
    zero = zero_shares(case, keys, len(case.coded) * case.width)
    dealt = [seal(case, "data", case.me, j, pack(case, data[case.me][j])) for j in range(case.me)]
    taken = [data[m][case.me][r * case.inputs[m] + i] for r in range(case.len) for m in everybody
             for i in range(case.inputs[m])]
    uploads = b"".join(pack(case, [(a + b) % case.p for a, b in
                                   zip(product(case, j, data, w, everybody), zero[j])])
                       for j in everybody)
    pairs = {
        "keys": sealed_for_me(case, "keys", lambda m: keys_part(case, keys, m, case.me)),
        "data": sealed_for_me(case, "data", lambda m: pack(case, data[m][case.me])),
        "weights": sealed_for_me(case, "round", lambda m: pack(case, w[m][case.me])),
        "dealt": (b"".join(d[0] for d in dealt), b"".join(d[1] for d in dealt)),
    }
    n = case.number
    for name, (sealed, tags) in pairs.items():
        c_bytes("%s_%d" % (name, n), sealed)
        c_bytes("%s_tags_%d" % (name, n), tags)
    c_bytes("fedvs_uploads_%d" % n, uploads)
    c_numbers("taken_%d" % n, taken, "uint64_t", "UINT64_C")
    c_numbers("others_%d" % n, product(case, case.me, data, w, everybody[:-1]), "uint64_t",
              "UINT64_C")
    c_numbers("zero_%d" % n, sum(zero, []), "uint64_t", "UINT64_C")
    c_numbers("sums_%d" % n, sums(case), "int64_t", "INT64_C")
    c_numbers("mine_%d" % n, weights(case, case.me), "int64_t", "INT64_C")
    listed = ["{%s}" % ", ".join(map(str, v)) for v in (case.features, case.degree, case.coded)]
    arrays = ["%s_%d" % (a, n) for a in (
        "keys", "keys_tags", "data", "data_tags", "weights", "weights_tags", "dealt", "dealt_tags",
        "fedvs_uploads", "taken", "others", "zero", "sums", "mine")]
    return "    {%s, %s,\n     %s}," % (
        ", ".join(map(str, (case.bits, case.parties, case.segments, case.privacy, case.width,
                            case.x_bits, case.w_bits, case.rows, len(case.coded)))),
        ", ".join(listed), ", ".join(arrays))


def main():
    print("/* fedvs.h -- written by tests/golden/gen_fedvs.py; do not edit.\n *\n"
          " * SPDX-License-Identifier: Apache-2.0\n */")
    rows = [write_case(case) for case in CASES]
    print("\nenum { GOLDEN_FEDVS_KEYS = %d, GOLDEN_FEDVS_DATA = %d, GOLDEN_FEDVS_ROUND = %d };\n\n"
          "/* For the last member: sealed for it, dealt by it, taken by it (len x inputs_n); others: its\n"
          " * product without its own part.  zero: of all members; sums: of all segments; mine: its\n"
          " * weights in units of 2^-w_bits. */\n"
          "static const struct golden_fedvs {\n"
          "    uint32_t bits, parties, segments, privacy, width, x_bits, w_bits, rows, coded_n;\n"
          "    uint32_t features[6], degree[6], coded[3];\n"
          "    const uint8_t *keys, *keys_tags, *data, *data_tags, *weights, *weights_tags, *dealt,\n"
          "        *dealt_tags, *uploads;\n"
          "    const uint64_t *taken, *others, *zero;\n"
          "    const int64_t *sums, *mine;\n"
          "} GOLDEN_FEDVS[] = {\n%s\n};" % (ROUNDS["keys"], ROUNDS["data"], ROUNDS["round"],
                                            "\n".join(rows)))


main()
