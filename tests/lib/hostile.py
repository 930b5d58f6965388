#!/usr/bin/env python3
"""hostile.py -- connections that want nothing good, to an open port, from many addresses of loopback.

usage: hostile.py ADDRESS CERT KEY FOLDER SEED
CERT and KEY are of somebody whom the server knows; FOLDER is for a stranger's.  Each line on standard input asks for
one wave: how many connections, and how many of them a second at most (0: as many as this process can make).  Two
lines answer it: `begun` when the last one has been begun, and `ended` with the counts so far, as JSON, when all have
come to their end, which the server has to make where this side does not.

What a connection does is one of five things: bytes that are no TLS; a handshake that breaks off, or stands still; one
whose bytes trickle; a whole handshake with a stranger's key; and a whole one with a good key, which then claims a
frame of up to 4 GiB or talks nonsense.
SPDX-License-Identifier: Apache-2.0
"""

import asyncio
import collections
import json
import os
import random
import socket
import ssl
import struct
import subprocess
import sys
import time

AT_ONCE = 192  # three times as many as the server lets in before they have said who they are
END_S = 300  # for the server to answer, or to close
PATIENT = 0.02  # of those that wait at all without a whole handshake: for the server to lose its patience
OUTCOMES = ('shaken_stranger', 'shaken_claim', 'closed_early', 'refused', 'not_ended')
KINDS = {'garbage': 45, 'half': 35, 'slow': 2, 'stranger': 8, 'claim': 10}  # how often, of 100
RESET = struct.pack('ii', 1, 0)


def stranger(folder):
    """A certificate of somebody else's: the paths of it and its key."""
    cert, key = os.path.join(folder, 'stranger.pem'), os.path.join(folder, 'stranger.key')
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ed25519', '-nodes', '-days', '2', '-subj', '/CN=party-1',
                    '-addext', 'subjectAltName=DNS:party-1', '-addext', 'extendedKeyUsage=clientAuth',
                    '-keyout', key, '-out', cert], check=True, capture_output=True)
    return cert, key


def context(cert, key):
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    c.check_hostname = False
    c.verify_mode = ssl.CERT_NONE
    c.set_alpn_protocols(['vfl/1'])
    c.load_cert_chain(cert, key)
    return c


def client_hello(c):
    """The first flight of a good client."""
    out = ssl.MemoryBIO()
    try:
        c.wrap_bio(ssl.MemoryBIO(), out).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


class Attacker:
    def __init__(self, address, cert, key, folder, seed):
        host, port = address.rsplit(':', 1)
        self.where = (host, int(port))
        self.chance = random.Random(seed)
        self.tls = {'stranger': context(*stranger(folder)), 'claim': context(cert, key)}
        self.hello = client_hello(self.tls['claim'])
        self.count = collections.Counter(dict.fromkeys([*KINDS, *OUTCOMES], 0))

    def socket(self):
        """Nearly always of an address of its own, as hosts of the world would have."""
        c, s = self.chance, socket.socket()
        s.setblocking(False)
        s.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
        many = c.random() < 0.95
        s.bind(('127.%d.%d.%d' % (c.randint(1, 250), c.randint(1, 250), c.randint(1, 250)) if many else '127.0.0.9', 0))
        return s

    async def connect(self):
        s = self.socket()
        try:
            await asyncio.get_running_loop().sock_connect(s, self.where)
        except OSError:
            s.close()
            raise
        return s

    async def until_closed(self, read):
        while await read(65536):
            pass

    def words(self, kind):
        """Of a handshake the whole first flight is the dearest: the server answers it with a signature."""
        c = self.chance
        if kind == 'half':
            return self.hello if c.random() < 0.7 else self.hello[:c.randint(0, len(self.hello))]
        record = struct.pack('>BHH', c.choice([20, 21, 22, 23, 255]), c.choice([0x0301, 0x0303, 0xffff]),
                             c.choice([1, 16384, 16385, 65535]))  # claims more than it brings
        start = c.choice([b'', record, b'\xff\xff\xff\xff'])  # the last: a frame as it would be behind TLS
        return start + c.randbytes(c.randint(1, 1400))

    def toss(self, kind):
        """Says it and is gone, at the least cost.  False: there is no connecting at once."""
        with self.socket() as s:
            s.setblocking(True)  # it takes as long as it takes here, unless the server's queue is full
            s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack('ll', 0, 20000))
            if s.connect_ex(self.where) != 0:
                return False
            s.send(self.words(kind))
            if self.chance.random() < 0.25:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.count[kind] += 1
        return True

    async def speak(self, kind):
        loop, words = asyncio.get_running_loop(), self.words(kind)
        with await self.connect() as s:
            await loop.sock_sendall(s, words)
            how = self.chance.random()
            if how < PATIENT:
                await self.until_closed(lambda n: loop.sock_recv(s, n))
            elif how < 0.6 and words == self.hello:
                await loop.sock_recv(s, 4096)  # what the server has to say to it

    async def trickle(self, kind):
        loop = asyncio.get_running_loop()
        with await self.connect() as s:
            if self.chance.random() < 0.02:  # until the server has had enough
                for byte in self.hello * 4:
                    await loop.sock_sendall(s, bytes([byte]))
                    await asyncio.sleep(0.1)
            for byte in self.hello[:40]:
                await loop.sock_sendall(s, bytes([byte]))
                await asyncio.sleep(self.chance.uniform(0, 0.02))

    async def shake(self, kind):
        c = self.chance
        s = await self.connect()
        try:
            reader, writer = await asyncio.open_connection(sock=s, ssl=self.tls[kind], server_hostname='server',
                                                           ssl_handshake_timeout=END_S)
        except BaseException:
            s.close()
            raise
        self.count['shaken_' + kind] += 1
        try:
            n = c.randint(1, 4096)
            writer.write(c.choice([struct.pack('>I', c.choice([0xffffffff, 0x80000000, 0x7fffffff, 4097])),
                                   struct.pack('>I', n) + c.randbytes(n)]))
            await writer.drain()
            await self.until_closed(reader.read)
        finally:
            writer.transport.abort()

    async def one(self, kind):
        work = {'garbage': self.speak, 'half': self.speak, 'slow': self.trickle}.get(kind, self.shake)
        try:
            await asyncio.wait_for(work(kind), END_S)
        except ConnectionRefusedError:
            self.count['refused'] += 1  # there is no server
        except (asyncio.TimeoutError, TimeoutError):
            self.count['not_ended'] += 1
        except (OSError, ssl.SSLError, asyncio.IncompleteReadError):
            self.count['closed_early'] += 1  # in our face
        self.count[kind] += 1

    async def wave(self, connections, per_s):
        tasks, begin = set(), time.monotonic()
        for i, kind in enumerate(self.chance.choices(list(KINDS), KINDS.values(), k=connections)):
            if per_s > 0:
                await asyncio.sleep(max(0, begin + i / per_s - time.monotonic()))
            if kind in ('garbage', 'half') and self.chance.random() < 0.9 and self.toss(kind):
                if i % 4 == 0:
                    await asyncio.sleep(0)
                continue
            if len(tasks) >= AT_ONCE:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            tasks.add(task := asyncio.create_task(self.one(kind)))
            task.add_done_callback(tasks.discard)
        print('begun', flush=True)
        if tasks:
            await asyncio.wait(tasks)
        print('ended', json.dumps(self.count), flush=True)


def main():
    attacker = Attacker(*sys.argv[1:])
    for line in sys.stdin:
        connections, per_s = line.split()
        asyncio.run(attacker.wave(int(connections), float(per_s)))


main()
