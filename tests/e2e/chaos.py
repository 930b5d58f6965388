#!/usr/bin/env python3
"""chaos.py -- one training run in which a random process is killed again and again, at random moments.

usage: chaos.py BASE FOLDER KILLS SEED
BASE is a finished cluster run (trial.py) that is shown as evaluations at the server, one after every round.  About one
kill in four hits the server; whoever was killed is started again with the same command.  A party that is lost three
times without a whole round between ends the run (protocol.md), so between kills of the same process there are rounds,
which the server's progress lines tell.  Prints what happened and ends with 1 unless the run ends as BASE did.
SPDX-License-Identifier: Apache-2.0
"""

import asyncio
import os
import random
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import trial as t  # noqa: E402

PROGRESS_S = 300  # no round for so long is a hang
END_S = 600  # from the last kill to the end
SLOW = ('--set', 'inject.delay=exp:0.002')  # parties: so that messages meet in many orders, and the run is long enough


class Chaos:
    def __init__(self, trial, folder, kills, seed):
        self.run = t.Run(trial, folder)
        self.kills, self.chance = kills, random.Random(seed)
        self.rounds = 0  # evaluations that the server has shown
        self.moved = asyncio.Event()
        self.ended = {}  # daemon: exit code of its last process
        self.hits = []
        self.readers = []

    async def start(self, daemon):
        if daemon.name == 'server':
            await daemon.start(arguments=('--progress',), stdout=asyncio.subprocess.PIPE)
            self.readers.append(asyncio.create_task(self.read(daemon.process.stdout)))
        else:
            await daemon.start(arguments=SLOW)

    async def read(self, pipe):
        while await pipe.readline():
            self.rounds += 1
            self.moved.set()

    async def progress(self, rounds):
        """Waits until the server has shown so many more; False when the run ends before."""
        until = self.rounds + rounds
        while self.rounds < until:
            self.moved.clear()
            ends = [asyncio.create_task(d.process.wait()) for d in self.run.daemons]
            moved = asyncio.create_task(self.moved.wait())
            done, _ = await asyncio.wait([moved, *ends], timeout=PROGRESS_S, return_when=asyncio.FIRST_COMPLETED)
            for task in (moved, *ends):
                task.cancel()
            if not done:
                raise TimeoutError('no round for %d s' % PROGRESS_S)
            if moved not in done and any(d.process.returncode is not None for d in self.run.daemons):
                return False
        return True

    async def hit(self, daemon):
        """Kills it, and starts it again after a while; counts only if it was this kill that ended it."""
        ran = daemon.kill()
        if await daemon.process.wait() == t.KILLED and ran:
            self.hits.append(daemon.name)
        await asyncio.sleep(self.chance.uniform(0, 0.05))
        await self.start(daemon)

    def victim(self, other_than=None):
        server, *parties = self.run.daemons
        if other_than is not server and self.chance.random() < 0.25:
            return server
        return self.chance.choice([d for d in parties if d is not other_than])

    async def rage(self):
        while len(self.hits) < self.kills:
            # Two at least: what is read first may have been shown before the last kill.
            if not await self.progress(self.chance.randint(2, 4)):
                return False
            first = self.victim()
            await asyncio.sleep(self.chance.uniform(0, 0.03))
            await self.hit(first)
            if len(self.hits) < self.kills and self.chance.random() < 0.3:
                # Another one, while the first is on its way back.
                await asyncio.sleep(self.chance.uniform(0, 0.15))
                await self.hit(self.victim(first))
        return True

    async def play(self):
        """What is wrong, in words."""
        for daemon in self.run.daemons:
            await self.start(daemon)
        try:
            if not await self.rage():
                return ['a daemon ended after %d kills: %s' % (len(self.hits), ', '.join(
                    '%s: %s' % (d.name, d.process.returncode) for d in self.run.daemons))]
            for daemon in self.run.daemons:
                await asyncio.wait_for(daemon.process.wait(), END_S)
        except (TimeoutError, asyncio.TimeoutError) as why:
            return [str(why) or 'no end %d s after the last kill' % END_S]
        finally:
            await self.run.close()
        ended = [d for d in self.run.daemons if d.process.returncode != 0]
        return (['%s: exit %d' % (d.name, d.process.returncode) for d in ended] or self.run.trial.faults(self.run))

    def tell(self):
        server = self.run['server']
        words, summary = server.words(), server.summary()
        print('kills %d' % len(self.hits))
        print('of the server %d, of a party %d, processes in all %d' % (
            self.hits.count('server'), len(self.hits) - self.hits.count('server'),
            sum(d.lives for d in self.run.daemons)))
        print('generations %d, void rounds %s, steps taken again from the journal %d' % (
            len(t.GENERATION.findall(words)), summary.get('void_rounds'),
            sum(map(int, re.findall(r'(\d+) of them from the journal', words)))))
        print('rounds %s of %s, lost in phases: %s' % (
            summary.get('rounds'), self.run.trial.scores['rounds'],
            ', '.join('%s %d' % (p, n) for p, n in sorted(self.phases(words).items()))))

    @staticmethod
    def phases(words):
        counts = {}
        for phase in re.findall(r'lost in phase (\w+)', words):
            counts[phase] = counts.get(phase, 0) + 1
        return counts


async def main(base, folder, kills, seed):
    begin = time.monotonic()
    chaos = Chaos(t.Trial(base), folder, int(kills), seed)
    faults = await chaos.play()
    chaos.tell()
    print('seconds %.1f' % (time.monotonic() - begin))
    for words in faults:
        print('FAULT %s' % words)
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(asyncio.run(main(*sys.argv[1:])))
