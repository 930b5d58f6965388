"""ledger_file.py -- what a party's ledger.db says, read by another program than the one that wrote it.

It works from common/privacy/ledger_records.h, ledger_store.h and ledger_law.h alone: proves every MAC, and counts
release by release.
SPDX-License-Identifier: Apache-2.0
"""

import hashlib
import hmac
import os
import sqlite3
import struct
import subprocess


def derived(key, salt, label):
    """HKDF-SHA-256 (RFC 5869), 32 bytes."""
    extracted = hmac.digest(salt or bytes(32), key, 'sha256')
    return hmac.digest(extracted, label + b'\x01', 'sha256')


def records(path, key):
    """[(text, bytes)], each and the head proven."""
    with sqlite3.connect('file:%s?mode=ro' % path, uri=True) as ledger:
        log = list(ledger.execute('SELECT serial, text, bytes, mac FROM log ORDER BY serial'))
        heads = list(ledger.execute('SELECT serial, number, mac FROM head'))
    ledger.close()
    chain, last = derived(key, b'', b'vfl/ledger/1 chain'), bytes(32)
    for serial, text, blob, mac in log:
        said = hashlib.sha256(text.encode()).digest() + hashlib.sha256(blob).digest()
        last = hmac.digest(chain, last + struct.pack('<Q', serial) + said, 'sha256')
        assert last == mac, 'record %d of %s' % (serial, path)
    (serial, number, mac), = heads
    assert serial == log[-1][0]
    assert mac == hmac.digest(chain, b'head' + struct.pack('<QQ', serial, number) + last, 'sha256')
    return [(text, blob) for _, text, blob, _ in log]


def unpacked(blob):
    """Runs of slots."""
    return [first + i for first, n in struct.iter_unpack('<II', blob) for i in range(n)]


def counted(blob):
    """7-bit groups."""
    value = shift = 0
    for byte in blob:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def permuted(seed, epoch, n):
    """The order of an epoch (common/data/schedule.h)."""
    key = hashlib.sha256(b'vfl/schedule/1' + struct.pack('<QQ', seed, epoch)).hexdigest()
    stream = subprocess.run(['openssl', 'enc', '-aes-256-ctr', '-K', key, '-iv', '00' * 16],
                            input=bytes(8 * (2 * n + 64)), stdout=subprocess.PIPE, check=True).stdout
    drawn = (v for v, in struct.iter_unpack('<Q', stream))
    order = list(range(n))
    for i in range(n - 1, 0, -1):
        j = next(v for v in drawn if v < 2**64 - 2**64 % (i + 1)) % (i + 1)
        order[i], order[j] = order[j], order[i]
    return order


class Law:
    def __init__(self, words):
        self.kind = words[0]
        self.of = {name: int(value) for name, value in (word.split('=') for word in words[1:])}
        self.orders = {}

    def rows(self, place, count):
        k, n = self.of['segments'], self.of['rows']
        length = -(-n // k)
        if self.kind == 'places/1':
            return self.whole(range(place, place + count), length)
        batch = self.of['batch'] // k
        per_epoch, rows = -(-length // batch), []
        for step in range(place, place + count):
            epoch, at = divmod(step // self.of['turns'], per_epoch)
            if epoch not in self.orders:
                self.orders[epoch] = permuted(self.of['seed'], epoch, length)
            rows += self.whole(self.orders[epoch][at * batch:(at + 1) * batch], length)
        return rows

    def whole(self, coded, length):
        """The rows that coded rows stand for (common/data/segments.h)."""
        return [base + r for base in range(0, self.of['rows'], length) for r in coded
                if base + r < self.of['rows']]


def releases(folder, key_file):
    """Of the ledger in a folder: {purpose: releases}, {slot: releases}, {digest of an id: slot}."""
    with open(key_file, encoding='ascii') as file:
        key = bytes.fromhex(file.read().strip())
    total, spent, slots, sets, laws = {}, [], {}, {}, []
    for text, blob in records(os.path.join(folder, 'ledger.db'), key):
        word, *words = text.split(' ')
        if word == 'ids':
            for digest, in struct.iter_unpack('16s', blob):
                slots[digest] = len(spent)
                spent.append(0)
        elif word == 'set':
            sets[int(words[0])] = unpacked(blob)
        elif word == 'law':
            assert int(words[0]) == len(laws)
            laws.append(Law(words[1:]))
        elif word == 'count':
            for slot, count in enumerate(counted(blob), int(words[2])):
                spent[slot] += count
            total[words[1]] = total.get(words[1], 0) + int(words[3])
        elif word in ('pay', 'back'):
            sign, purpose, place = 1 if word == 'pay' else -1, words[4], int(words[7])
            if words[8] == 'law':
                law, of, count = (int(w) for w in words[9:])
                charged = [sets[of][row] for row in laws[law].rows(place, count)]
            else:
                charged = unpacked(blob)
            assert len(charged) == int(words[6])
            for slot in charged:
                spent[slot] += sign
            total[purpose] = total.get(purpose, 0) + sign * len(charged)
    return total, spent, slots


def digests(folder, key_file, ids):
    """The digests of ids in the ledger of a folder, in their order."""
    with open(key_file, encoding='ascii') as file:
        key = bytes.fromhex(file.read().strip())
    salt = bytes.fromhex(records(os.path.join(folder, 'ledger.db'), key)[0][0].split(' ')[1])
    own = derived(key, salt, b'vfl/ledger/1 ids')
    return [hmac.digest(own, i.encode(), 'sha256')[:16] for i in ids]
