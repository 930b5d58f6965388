#!/usr/bin/env python3
"""flood.py -- a training run in the midst of hostile connections (tests/lib/hostile.py), beside one without.

usage: flood.py BASE FOLDER CONNECTIONS SEED [--waves N] [--rate PER_S] [--quiet SECONDS] [--hold PART] [--apart]
BASE is a finished cluster run (trial.py) that evaluates every few rounds.  The same run again, and the connections in
waves, --quiet seconds before each.  If --hold of training (0.5) is over before the last wave is, one party is held
still for so long.  --apart: the attackers have a processor for themselves, and the daemons another.  --slow SECONDS:
what one party waits before each upload, so that there is training for all of the flood.

Prints what happened, the server's memory, and the median time of training rounds before waves and in them (from the
server's metrics.jsonl; a figure for each evaluation).  Ends with 1 unless the run ends as BASE did, every connection
has been ended, most handshakes were whole, few others were closed while they spoke, and the server's memory grew by
less than --growth MiB (64).
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import asyncio
import json
import os
import re
import signal
import statistics
import sys
import time

LIB = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib')
sys.path.insert(0, LIB)
import trial as t  # noqa: E402

END_S = 600  # for a run to end after the last wave


def memory_kb(pid, what):
    with open('/proc/%d/status' % pid, encoding='ascii') as file:
        return int(re.search(r'^%s:\s*(\d+) kB' % what, file.read(), re.M).group(1))


def processor_s(pid):
    with open('/proc/%d/stat' % pid, encoding='ascii') as file:
        field = file.read().rpartition(')')[2].split()
    return (int(field[11]) + int(field[12])) / os.sysconf('SC_CLK_TCK')


class Flood:
    def __init__(self, options):
        self.options = options
        self.run = t.Run(t.Trial(options.base), options.folder)
        self.server, self.party = self.run['server'], self.run.daemons[1]
        self.shown = 0  # evaluations
        self.began, self.over = asyncio.Event(), asyncio.Event()
        self.held_s = 0.0
        self.first_kb = self.most_kb = 0
        self.windows = {'quiet': [], 'flood': []}  # [(first evaluation, last evaluation)]
        self.flood_s = self.flood_cpu_s = 0.0
        self.counts = {}

    # --- the run ---

    async def start(self):
        for daemon in self.run.daemons:
            more = ['--set', 'inject.delay=%g' % self.options.slow] if daemon is self.party else []
            if daemon is self.server:
                await daemon.start(arguments=('--progress',), stdout=asyncio.subprocess.PIPE)
            else:
                await daemon.start(arguments=more)
            if self.options.apart:
                os.sched_setaffinity(daemon.process.pid, self.options.ours)

    async def watch(self):
        """Each line is an evaluation.  Half-way one party stands still until the flood is over."""
        while await self.server.process.stdout.readline():
            self.shown += 1
            self.began.set()
            if self.shown == int(self.options.hold * len(self.run.trial.metrics)) and not self.over.is_set():
                begin = time.monotonic()
                self.party.process.send_signal(signal.SIGSTOP)
                await self.over.wait()
                self.party.process.send_signal(signal.SIGCONT)
                self.held_s = time.monotonic() - begin
        self.began.set()

    # --- the flood ---

    async def attacker(self):
        identity = [os.path.join(self.run.trial.base, self.party.name, name) for name in ('party.crt', 'party.key')]
        process = await asyncio.create_subprocess_exec(
            sys.executable, os.path.join(LIB, 'hostile.py'), self.run.port.address, *identity, self.run.folder,
            self.options.seed, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        if self.options.apart:
            os.sched_setaffinity(process.pid, self.options.theirs)
        return process

    async def waves(self, attacker):
        left = self.options.connections
        for i in range(self.options.waves, 0, -1):
            first = self.shown
            await asyncio.sleep(self.options.quiet)
            self.windows['quiet'].append((first, self.shown))
            attacker.stdin.write(b'%d %f\n' % (left // i, self.options.rate))
            left -= left // i
            await self.wave(attacker)

    async def wave(self, attacker):
        first, begin, cpu = self.shown, time.monotonic(), processor_s(self.server.process.pid)
        if await attacker.stdout.readline() != b'begun\n':
            raise OSError('the attacker has died')
        self.windows['flood'].append((first, self.shown))
        self.flood_s += time.monotonic() - begin
        self.flood_cpu_s += processor_s(self.server.process.pid) - cpu
        words, _, counts = (await attacker.stdout.readline()).partition(b' ')
        if words != b'ended':
            raise OSError('the attacker has died')
        self.counts = json.loads(counts)
        self.most_kb = memory_kb(self.server.process.pid, 'VmHWM')

    async def play(self):
        """What is wrong, in words."""
        await self.start()
        watching, attacker = asyncio.create_task(self.watch()), await self.attacker()
        try:
            await self.began.wait()
            self.first_kb = memory_kb(self.server.process.pid, 'VmRSS')
            await self.waves(attacker)
            self.over.set()
            for daemon in self.run.daemons:
                await asyncio.wait_for(daemon.process.wait(), END_S)
            await watching
        except (OSError, asyncio.TimeoutError) as why:
            return ['no end: %s' % (why or 'too long')]
        finally:
            if attacker.returncode is None:
                attacker.kill()
                await attacker.wait()
            await self.run.close()
        return self.faults()

    # --- what came of it ---

    def faults(self):
        ended = [d for d in self.run.daemons if d.process.returncode != 0]
        found = ['%s: exit %d' % (d.name, d.process.returncode) for d in ended] or self.run.trial.faults(self.run)
        if self.most_kb - self.first_kb >= 1024 * self.options.growth:
            found.append('the server grew by %d kB' % (self.most_kb - self.first_kb))
        for what in ('refused', 'not_ended'):
            if self.counts[what] > 0:
                found.append('%d connections %s' % (self.counts[what], what))
        return found + self.faults_of_the_attacker()

    def faults_of_the_attacker(self):
        """A flood that the server does not let speak is none.  Strangers, and who trickles, it closes itself."""
        c, found = self.counts, []
        for kind in ('stranger', 'claim'):
            if 4 * c['shaken_' + kind] < 3 * c[kind]:
                found.append('%d of %d handshakes of a %s were whole' % (c['shaken_' + kind], c[kind], kind))
        most = c['stranger'] + c['slow'] + self.options.connections // 8
        if c['closed_early'] > most:
            found.append('%d connections closed while they spoke, at most %d expected' % (c['closed_early'], most))
        return found

    def round_ms(self):
        """{window: the time of a round, for each evaluation in it}"""
        with open(os.path.join(self.server.state, 'metrics.jsonl'), encoding='utf-8') as file:
            lines = [json.loads(line) for line in file]
        rounds = [1000 * (b['train_s'] - a['train_s']) / (b['round'] - a['round']) for a, b in zip(lines, lines[1:])]
        return {name: [ms for first, last in windows for ms in rounds[first:max(first, last - 1)]]
                for name, windows in self.windows.items()}

    def tell(self):
        c = self.counts
        kinds = [k for k in c if k not in ('shaken_stranger', 'shaken_claim', 'refused', 'closed_early', 'not_ended')]
        print('connections %d' % sum(c[k] for k in kinds))
        print('of them %s' % ', '.join('%s %d' % (k, c[k]) for k in kinds))
        print('whole handshakes %d, with a good key %d; closed while they spoke %d' % (
            c['shaken_stranger'] + c['shaken_claim'], c['shaken_claim'], c['closed_early']))
        print('in waves %.1f s, %.0f a second; server %.0f %% of a processor' % (
            self.flood_s, sum(c[k] for k in kinds) / self.flood_s, 100 * self.flood_cpu_s / self.flood_s))
        print('server memory %d kB, then at most %d kB: %d kB more' % (
            self.first_kb, self.most_kb, self.most_kb - self.first_kb))
        without = os.path.join(self.run.trial.base, 'server')
        for where, state in (('in the flood', self.server.state), ('without', without)):
            with open(os.path.join(state, 'summary.json'), encoding='utf-8') as file:
                print('model_sha256 %s: %s' % (where, json.load(file)['model_sha256']['head']))
        ms = self.round_ms()
        for name, values in ms.items():
            if len(values) > 1:
                print('%s: %d times of rounds, median %.3f ms, 99 %% below %.3f ms' % (
                    name, len(values), statistics.median(values), statistics.quantiles(values, n=100)[98]))
        if all(ms.values()):
            print('ratio of medians %.2f' % (statistics.median(ms['flood']) / statistics.median(ms['quiet'])))
        print('a party held still for %.1f s' % self.held_s)


def arguments():
    p = argparse.ArgumentParser(usage=__doc__.split('\n\n')[1].split('\n', maxsplit=1)[0].removeprefix('usage: '))
    p.add_argument('base')
    p.add_argument('folder')
    p.add_argument('connections', type=int)
    p.add_argument('seed')
    p.add_argument('--waves', type=int, default=1)
    p.add_argument('--rate', type=float, default=0)
    p.add_argument('--quiet', type=float, default=0)
    p.add_argument('--slow', type=float, default=0)
    p.add_argument('--hold', type=float, default=0.5)
    p.add_argument('--growth', type=float, default=64)
    p.add_argument('--apart', action='store_true')
    options = p.parse_args()
    processors = sorted(os.sched_getaffinity(0))
    options.theirs, options.ours = processors[:1], processors[1:2] or processors
    return options


async def main():
    begin = time.monotonic()
    flood = Flood(arguments())
    faults = await flood.play()
    if flood.counts:
        flood.tell()
    print('seconds %.1f' % (time.monotonic() - begin))
    for words in faults:
        print('FAULT %s' % words)
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(asyncio.run(main()))
