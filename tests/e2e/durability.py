#!/usr/bin/env python3
"""durability.py -- one run after the other, and in each one process with a fault in its K-th durable call.

usage: durability.py BASE SHIM FOLDER [EVERY [MODES [VICTIMS]]]
BASE is a finished cluster run (trial.py), SHIM the shared object of disk_faults.c.  Every EVERY-th call of a victim is
tried in every mode.  A victim is a daemon, or with a '+' its second process, the first one having been killed on the
way.  A daemon that ends badly is started again as systemd would, with a healthy disk; what is asked of it stands in
`Case`.  One line 'ok' or 'FAIL' for each victim and mode; the folders of failures are kept in FOLDER.
SPDX-License-Identifier: Apache-2.0
"""

import asyncio
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import trial as t  # noqa: E402

MODES = {
    'kill': 'kill -9 before the call', 'kill-after': 'kill -9 after it', 'kill-half': 'kill -9 in its middle',
    'short': 'half is written', 'half': 'half is written, then the disk is full', 'enospc': 'no space, once',
    'eio': 'an I/O error, once', 'full': 'no space from there on', 'dead': 'an I/O error from there on',
}
WRITES = ('kill-half', 'short', 'half')  # modes that only a write can meet
CREATES = ('full',)  # ... or whatever needs space
NEEDS_SPACE = ('open', 'mkdir', 'write', 'pwrite', 'writev')
REASON = re.compile('No space left|Input/output|disk is full|disk I/O|only .* written|unable to open|SQLite')
DEADLINE_S = 600  # of one case
STARTS_MAX = 5  # of one daemon


class Case:
    """One run with one fault.

    Killed: the victim alone is started again, nobody else ends, and the run ends as if nothing had been.
    A failing disk: the victim goes on all the same, or it ends in order with exit code 6 and says why; the others end
    with 4 at most.  Whoever did not end well is started again, and then the run ends as if nothing had been.
    """

    def __init__(self, trial, folder, shim, victim, faults):
        """faults: (mode, k) of the victim's processes, one after the other; the last one is what is tried."""
        self.trial, self.folder, self.shim = trial, folder, shim
        self.victim, self.plan = victim, faults
        self.mode, self.k = faults[-1]
        self.trace = os.path.join(folder, 'trace.txt')
        self.faults = []
        self.went_on = True

    def name(self):
        return '%s %s' % (self.victim, ' '.join('%s:%d' % fault for fault in self.plan))

    def environment(self, daemon):
        if daemon.name != self.victim or daemon.lives >= len(self.plan):
            return {}
        # A sanitizer wants to be the first library, and is content to be the second.
        sane = os.environ.get('ASAN_OPTIONS', '') + ':verify_asan_link_order=0'
        trace = {'DISK_FAULTS_TRACE': self.trace} if daemon.lives + 1 == len(self.plan) else {}
        fault = '%s:%d' % self.plan[daemon.lives]
        return {'LD_PRELOAD': self.shim, 'DISK_FAULTS': fault, 'ASAN_OPTIONS': sane, **trace}

    def calls(self):
        """[[number, name, file, perhaps 'hit'], ...]"""
        with open(self.trace, encoding='utf-8') as file:
            return [line.split() for line in file]

    def hit(self):
        calls = [c for c in self.calls() if len(c) > 3] if os.path.exists(self.trace) else []
        return ' '.join(calls[0][1:3]) if calls else None

    # --- one life of a daemon ---

    def may_end(self, daemon, code):
        """Was this end one of those that the fault allows?"""
        mode = self.mode
        if daemon.name == self.victim and daemon.lives <= len(self.plan):
            mode = self.plan[daemon.lives - 1][0]
            if not mode.startswith('kill'):
                return code == 6 and REASON.search(''.join(re.findall(' error: .*', daemon.words(daemon.lives))))
            return code == t.KILLED
        return code == 4 and not mode.startswith('kill')

    async def live(self, daemon):
        while True:
            await daemon.start(self.environment(daemon))
            code = await daemon.process.wait()
            if code == 0:
                return
            if code != t.KILLED:
                self.went_on = False
                daemon.run.put_back = True
            if not self.may_end(daemon, code):
                self.faults.append('%s, start %d: exit %d' % (daemon.name, daemon.lives, code))
                return
            if daemon.over():
                return
            if daemon.lives == STARTS_MAX:
                self.faults.append('%s: %d starts and no end' % (daemon.name, daemon.lives))
                return

    async def play(self):
        os.makedirs(self.folder)
        run = t.Run(self.trial, self.folder)
        lives = [asyncio.create_task(self.live(d)) for d in run.daemons]
        _, late = await asyncio.wait(lives, timeout=DEADLINE_S)
        names = [d.name for d in run.daemons if d.process is None or d.process.returncode is None]
        for task in late:
            task.cancel()
        await run.close()
        if late:
            self.faults.append('no end after %d s: %s' % (DEADLINE_S, ', '.join(names)))
        for task in lives:
            if not task.cancelled() and task.done() and task.exception() is not None:
                raise task.exception()
        self.faults = self.faults or self.trial.faults(run)
        if self.mode != 'count' and not self.faults:
            shutil.rmtree(self.folder)


class Sweep:
    def __init__(self, trial, folder, shim, jobs):
        self.trial, self.folder, self.shim = trial, folder, shim
        self.turn = asyncio.Semaphore(jobs)
        self.middle = {}  # daemon: a call on the way

    async def case(self, victim, mode, k):
        name = victim.rstrip('+')
        before = [('kill', self.middle[name])] if victim != name else []
        async with self.turn:
            case = Case(self.trial, os.path.join(self.folder, '%s-%s-%d' % (victim, mode, k)), self.shim, name,
                        [*before, (mode, k)])
            await case.play()
            hit = case.hit() if case.faults else None
            for words in case.faults:
                print('      %s (%s): %s' % (case.name(), hit, words), flush=True)
            return case

    async def count(self, victim):
        """Durable calls of an undisturbed run: their names, in order."""
        case = await self.case(victim, 'count', 0)
        if case.faults:
            raise SystemExit(1)
        names = [c[1] for c in case.calls()]
        self.middle.setdefault(victim, len(names) // 3)
        return names

    @staticmethod
    def places(names, mode):
        if mode in WRITES:
            names = [n for n in names if 'write' in n]
        elif mode in CREATES:
            names = [n for n in names if n in NEEDS_SPACE]
        return len(names)

    async def judge(self, victim, mode, names, every):
        n = self.places(names, mode)
        # Another first place for each mode, so that a sample of all modes meets all kinds of calls.
        first = 1 + list(MODES).index(mode) * every // len(MODES) % max(n, 1)
        cases = await asyncio.gather(*(self.case(victim, mode, k) for k in range(first, n + 1, every)))
        good = [c for c in cases if not c.faults]
        went_on = sum(c.went_on for c in good)
        print('%s %s: %s: %d of %d, at %d of %d calls; %d went on, %d were started again in order' % (
            'ok   ' if good and len(good) == len(cases) else 'FAIL ', victim, MODES[mode], len(good), len(cases),
            len(cases), n, went_on, len(good) - went_on), flush=True)
        return len(good) == len(cases)


async def main(base, shim, folder, every='1', modes=','.join(MODES), victims='server,party-1,server+,party-1+'):
    sweep = Sweep(t.Trial(base), folder, os.path.abspath(shim), 4 * (os.cpu_count() or 1))
    victims = victims.split(',')
    names = [await sweep.count(v) for v in victims]
    for victim, calls in zip(victims, names):
        kinds = sorted({(calls.count(n), n) for n in calls}, reverse=True)
        print('      %s: %d durable calls: %s' % (victim, len(calls), ', '.join('%d %s' % k for k in kinds)))
    results = await asyncio.gather(*(sweep.judge(v, m, n, int(every)) for v, n in zip(victims, names)
                                     for m in modes.split(',')))
    return 0 if all(results) else 1


if __name__ == '__main__':
    sys.exit(asyncio.run(main(*sys.argv[1:])))
