#!/usr/bin/env python3
"""flood.py -- hostile connections to the open port of a training run, from many addresses, all the while.

usage: flood.py BASE FOLDER CONNECTIONS SEED
BASE is a finished cluster run (trial.py) that shows an evaluation after every few rounds.  The same run again, and
so many connections that want nothing good: bytes that are no TLS, records and handshakes that end half way, writers
that trickle, a stranger's certificate, and one that is good followed by claims of 4 GiB or by nonsense.  Each is
followed to its end, which the server has to make where its peer does not.  If training comes near its end before
they do, one party is held still for so long.

Prints what happened, the server's memory and the median time between evaluations, and ends with 1 unless the run
ends as BASE did and the server's memory grew by less than 64 MiB.
SPDX-License-Identifier: Apache-2.0
"""

import asyncio
import os
import random
import re
import signal
import socket
import ssl
import statistics
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import trial as t  # noqa: E402

AT_ONCE = 48  # connections; the server lets 64 wait that have not said who they are
SLOW_AT_ONCE = 12  # of these, writers that trickle
END_S = 300  # for the server to close a connection, and for a run to end after the last
GROWTH_MAX_KB = 64 * 1024
HELD_AT = 0.8  # of all evaluations
# How often each kind comes, of 100.
KINDS = {'garbage': 34, 'nothing': 8, 'record': 10, 'half': 18, 'plaintext': 6, 'one address': 6, 'slow': 2,
         'stranger': 7, 'claim': 4, 'nonsense': 5}


def memory_kb(pid, what):
    with open('/proc/%d/status' % pid, encoding='ascii') as file:
        return int(re.search(r'^%s:\s*(\d+) kB' % what, file.read(), re.M).group(1))


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
    def __init__(self, address, chance, folder, identity):
        host, port = address.rsplit(':', 1)
        self.where = (host, int(port))
        self.chance = chance
        self.stranger, self.known = context(*stranger(folder)), context(*identity)
        self.hello = client_hello(self.known)
        self.made = dict.fromkeys(KINDS, 0)
        self.shaken = self.refused = self.untold = 0  # untold: that the server has not ended
        self.room, self.slow = asyncio.Semaphore(AT_ONCE), asyncio.Semaphore(SLOW_AT_ONCE)

    async def connect(self, many):
        """From an address of its own, as hosts of the world would have, or all from one."""
        s = socket.socket()
        s.setblocking(False)
        s.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
        source = '127.%d.%d.%d' % tuple(self.chance.randint(1, 250) for _ in range(3)) if many else '127.0.0.9'
        s.bind((source, 0))
        try:
            await asyncio.wait_for(asyncio.get_running_loop().sock_connect(s, self.where), END_S)
        except (OSError, asyncio.TimeoutError):
            s.close()
            raise
        return s

    async def until_closed(self, s):
        """Reads what is said, until the server closes."""
        loop = asyncio.get_running_loop()
        try:
            while await asyncio.wait_for(loop.sock_recv(s, 65536), END_S):
                pass
        except (asyncio.TimeoutError, TimeoutError):
            self.untold += 1

    # --- without a key ---

    def bytes_of(self, kind):
        c = self.chance
        if kind in ('garbage', 'one address'):
            return c.randbytes(c.randint(1, 1500))
        if kind == 'nothing':
            return b''
        if kind == 'record':  # claims more than it brings
            return struct.pack('>BHH', c.choice([20, 21, 22, 23, 255]), c.choice([0x0301, 0x0303, 0xffff]),
                               c.choice([1, 16384, 16385, 65535])) + c.randbytes(c.randint(0, 200))
        if kind == 'plaintext':  # a frame as it would be behind TLS
            return b'\xff\xff\xff\xff' + c.randbytes(64)
        return self.hello[:c.randint(1, len(self.hello))]  # half

    async def speak(self, kind):
        loop = asyncio.get_running_loop()
        s = await self.connect(kind != 'one address')
        with s:
            await loop.sock_sendall(s, self.bytes_of(kind))
            if self.chance.random() < 0.9:  # the others wait for the server to lose its patience
                s.shutdown(socket.SHUT_WR) if self.chance.random() < 0.5 else s.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            elif kind in ('half', 'nothing', 'record') and self.chance.random() < 0.9:
                return
            else:
                await self.until_closed(s)

    async def trickle(self):
        loop = asyncio.get_running_loop()
        async with self.slow:
            with await self.connect(True) as s:
                for byte in self.hello[:40]:
                    await loop.sock_sendall(s, bytes([byte]))
                    await asyncio.sleep(self.chance.uniform(0, 0.02))

    # --- behind TLS ---

    async def shake(self, kind):
        s = await self.connect(True)
        tls = self.stranger if kind == 'stranger' else self.known
        try:
            reader, writer = await asyncio.wait_for(asyncio.open_connection(
                sock=s, ssl=tls, server_hostname='server', ssl_handshake_timeout=END_S), END_S)
        except BaseException:
            s.close()
            raise
        self.shaken += 1
        try:
            if kind == 'claim':
                writer.write(struct.pack('>I', self.chance.choice([0xffffffff, 0x80000000, 0x7fffffff, 4097])))
            elif kind == 'nonsense':
                n = self.chance.randint(1, 4096)
                writer.write(struct.pack('>I', n) + self.chance.randbytes(n))
            await writer.drain()
            while await asyncio.wait_for(reader.read(65536), END_S):
                pass
        except asyncio.TimeoutError:
            self.untold += 1
        finally:
            writer.transport.abort()

    async def one(self, kind):
        async with self.room:
            try:
                if kind == 'slow':
                    await self.trickle()
                elif kind in ('stranger', 'claim', 'nonsense'):
                    await self.shake(kind)
                else:
                    await self.speak(kind)
            except (OSError, ssl.SSLError, asyncio.IncompleteReadError):
                self.refused += 1  # closed in our face
            self.made[kind] += 1


class Flood:
    def __init__(self, trial, folder, connections, seed):
        self.run, self.connections, self.chance = t.Run(trial, folder), connections, random.Random(seed)
        self.shown = []  # when the server showed an evaluation
        self.done = asyncio.Event()  # with the flood
        self.moved = asyncio.Event()
        self.held = 0.0
        self.attacker = None
        self.first_kb = self.last_kb = 0

    async def start(self):
        for daemon in self.run.daemons:
            if daemon.name == 'server':
                await daemon.start(arguments=('--progress',), stdout=asyncio.subprocess.PIPE)
            else:
                await daemon.start()

    async def watch(self, server, party, evaluations):
        """Each line is an evaluation.  Near the end of training one party stands still until the flood is over."""
        while await server.process.stdout.readline():
            self.shown.append(time.monotonic())
            self.last_kb = max(self.last_kb, memory_kb(server.process.pid, 'VmHWM'))
            self.moved.set()
            if len(self.shown) == int(HELD_AT * evaluations) and not self.done.is_set():
                begin = time.monotonic()
                party.process.send_signal(signal.SIGSTOP)
                await self.done.wait()
                party.process.send_signal(signal.SIGCONT)
                self.held = time.monotonic() - begin
        self.moved.set()

    async def rage(self):
        kinds = self.chance.choices(list(KINDS), KINDS.values(), k=self.connections)
        tasks = set()
        for kind in kinds:
            await self.attacker.room.acquire()
            self.attacker.room.release()
            tasks.add(task := asyncio.create_task(self.attacker.one(kind)))
            task.add_done_callback(tasks.discard)
            if len(tasks) >= 2 * AT_ONCE:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks:
            await asyncio.wait(tasks)
        self.done.set()

    async def play(self):
        """What is wrong, in words."""
        trial, server, party = self.run.trial, self.run['server'], self.run.daemons[1]
        folder = os.path.join(trial.base, trial.names[1])
        identity = [os.path.join(folder, name) for name in ('party.crt', 'party.key')]
        self.attacker = Attacker(self.run.port.address, self.chance, self.run.folder, identity)
        await self.start()
        watching = asyncio.create_task(self.watch(server, party, len(trial.metrics)))
        try:
            await asyncio.wait_for(self.moved.wait(), END_S)
            self.first_kb = memory_kb(server.process.pid, 'VmRSS')
            await self.rage()
            self.last_kb = max(self.last_kb, memory_kb(server.process.pid, 'VmHWM'))
            for daemon in self.run.daemons:
                await asyncio.wait_for(daemon.process.wait(), END_S + len(trial.metrics))
            await watching
        except (OSError, asyncio.TimeoutError) as why:
            return ['no end: %s' % (why or 'too long')]
        finally:
            await self.run.close()
        return self.faults()

    def faults(self):
        ended = [d for d in self.run.daemons if d.process.returncode != 0]
        found = ['%s: exit %d' % (d.name, d.process.returncode) for d in ended] or self.run.trial.faults(self.run)
        if self.last_kb - self.first_kb >= GROWTH_MAX_KB:
            found.append('the server grew by %d kB' % (self.last_kb - self.first_kb))
        if self.attacker.untold > 0:
            found.append('%d connections that the server did not end' % self.attacker.untold)
        return found

    def tell(self):
        a = self.attacker
        between = [b - a for a, b in zip(self.shown, self.shown[1:])]
        print('connections %d' % sum(a.made.values()))
        print('of them %s' % ', '.join('%s %d' % (k, n) for k, n in a.made.items()))
        print('handshakes %d, closed while we spoke %d' % (a.shaken, a.refused))
        print('server memory %d kB, then at most %d kB' % (self.first_kb, self.last_kb))
        if between:
            print('evaluations %d, median between two %.2f ms, a party held for %.1f s' % (
                len(self.shown), 1000 * statistics.median(between), self.held))


async def main(base, folder, connections, seed):
    begin = time.monotonic()
    flood = Flood(t.Trial(base), folder, int(connections), seed)
    faults = await flood.play()
    flood.tell()
    print('seconds %.1f' % (time.monotonic() - begin))
    for words in faults:
        print('FAULT %s' % words)
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(asyncio.run(main(*sys.argv[1:])))
