"""trial.py -- one prepared folder of `vfl cluster`, and daemons started from it one by one.

The cluster's run is the undisturbed one.  Its certificates, data and resolved configurations then serve any
number of runs beside it, each with state folders of its own and a port that stays its own when the server
is started again.  What such a run has left is compared here with what the undisturbed one left.
SPDX-License-Identifier: Apache-2.0
"""

import asyncio
import hashlib
import json
import os
import re
import signal
import socket

from ledger_file import releases

KILLED = -signal.SIGKILL
PURPOSES = {'train': 'train', 'evaluate test': 'evaluate', 'evaluate train': 'evaluate'}
LEAVES = re.compile(r'debug: generation (\d+), round (\d+): (\d+) rows leave \(([a-z ]+)\)')
GENERATION = re.compile(r'server info: generation (\d+): ')
GOING_ON = re.compile(r'server info: going on after (\d+) training steps')


class Port:
    """Ours for as long as this object lives, though only the server listens on it."""

    def __init__(self):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(('127.0.0.1', 0))
        self.address = '127.0.0.1:%d' % self.socket.getsockname()[1]

    def close(self):
        self.socket.close()


class Daemon:
    """One side of a run: its folder, and its processes one after the other."""

    def __init__(self, run, name):
        self.run, self.name = run, name
        self.folder = os.path.join(run.folder, name)
        self.state = os.path.join(self.folder, 'state')
        self.lives = 0
        self.process = None
        os.makedirs(self.state, mode=0o700)

    def log(self, life):
        return os.path.join(self.folder, 'log-%d.txt' % life)

    def words(self, life=None):
        """What its process has logged; of all its processes without a number."""
        text = ''
        for i in range(1, self.lives + 1) if life is None else [life]:
            with open(self.log(i), encoding='utf-8', errors='replace') as file:
                text += file.read()
        return text

    async def start(self, environment=None, arguments=(), stdout=asyncio.subprocess.DEVNULL):
        trial = self.run.trial
        self.lives += 1
        if self.name == 'server':
            program, where = 'vfl-server', 'listen=' + self.run.port.address
        else:
            program, where = 'vfl-party', 'server=' + self.run.port.address
        with open(self.log(self.lives), 'wb') as log:
            self.process = await asyncio.create_subprocess_exec(
                os.path.join(trial.programs, program), '-v', '-c', trial.config(self.name),
                '--set', where, '--set', 'state=' + self.state, '--insecure-seed', trial.seed, *arguments,
                stdin=asyncio.subprocess.DEVNULL, stdout=stdout, stderr=log,
                env={**os.environ, **(environment or {})})

    def kill(self):
        """True when it ran until now."""
        if self.process is None or self.process.returncode is not None:
            return False
        self.process.kill()
        return True

    def summary(self):
        try:
            with open(os.path.join(self.state, 'summary.json'), encoding='utf-8') as file:
                return json.load(file)
        except OSError:
            return {}

    def over(self):
        """Everything is written and nothing is left to go on with: another start is another run."""
        return (self.summary().get('status') == 'completed' and
                not any(name.endswith('.sealed') for name in os.listdir(self.state)))


class Run:
    def __init__(self, trial, folder):
        self.trial, self.folder = trial, folder
        self.port = Port()
        self.put_back = False  # some side may have ended without all that it knew: numbers may come again
        self.daemons = [Daemon(self, name) for name in trial.names]

    def __getitem__(self, name):
        return self.daemons[self.trial.names.index(name)]

    async def close(self):
        for daemon in self.daemons:
            if daemon.kill():
                await daemon.process.wait()
        self.port.close()


def digest(path):
    with open(path, 'rb') as file:
        return hashlib.sha256(file.read()).hexdigest()


def metrics(state):
    """{epoch: scores}, and whether every line was whole."""
    lines, whole = {}, True
    try:
        with open(os.path.join(state, 'metrics.jsonl'), encoding='utf-8') as file:
            text = file.read()
    except OSError:
        return {}, True
    for line in text.splitlines(keepends=True):
        try:
            e = json.loads(line)
            lines[e['epoch']] = (e['train'], e['test'])
        except ValueError:
            whole = False
        whole = whole and line.endswith('\n')
    return lines, whole


class Trial:
    """BASE: the folder of a cluster run that was started with --seed SEED."""

    def __init__(self, base):
        with open(os.path.join(base, 'plan.txt'), encoding='utf-8') as file:
            self.seed = re.search(r'^seed (\d+)$', file.read(), re.M).group(1)
        self.base = os.path.abspath(base)
        self.programs = os.environ['VFL_BIN']
        self.names = ['server'] + sorted(name for name in os.listdir(base) if re.fullmatch(r'party-\d+', name))
        self.model = {name: digest(os.path.join(base, name, 'model.safetensors')) for name in self.names}
        self.spent = {name: self.spent_in(os.path.join(base, name), name) for name in self.names[1:]}
        self.metrics, _ = metrics(os.path.join(base, 'server'))
        self.scores = self.scores_of(os.path.join(base, 'server', 'summary.json'))

    @staticmethod
    def scores_of(path):
        with open(path, encoding='utf-8') as file:
            summary = json.load(file)
        return {key: summary[key] for key in ('rounds', 'epochs', 'train', 'test')}

    def spent_in(self, folder, name):
        """Of a party's ledger: {purpose: releases}, {slot: releases}; all have the same data, so the same slots."""
        total, spent, _ = releases(folder, os.path.join(self.base, name, 'state.key'))
        return total, dict(enumerate(spent))

    def config(self, name):
        return os.path.join(self.base, name, 'resolved.yaml')

    # --- what a run has left ---

    def faults(self, run):
        """What is wrong with a run that all its daemons have ended well: a list of words."""
        found = []
        for daemon in run.daemons:
            found += ['%s: %s' % (daemon.name, words) for words in self.faults_of(daemon)]
        return found

    def faults_of(self, daemon):
        name, summary = daemon.name, daemon.summary()
        if summary.get('status') != 'completed':
            return ['its summary says %s' % summary.get('status')]
        files = {'lock', 'model.safetensors', 'summary.json'}
        files |= {'address', 'metrics.jsonl'} if name == 'server' else {'ledger.db', 'ledger.begun'}
        there = set(os.listdir(daemon.state))
        there -= {'ledger.db-wal'}  # a part of the ledger, when it could not be closed in order
        there -= {'guesses'}  # kept for all runs of a folder
        there -= {'models'}  # a package for each run that was complete
        if 'the server is gone, but' in daemon.words(daemon.lives):
            there -= {'checkpoint.sealed', 'checkpoint.before.sealed'}  # the server may come back and ask
        found = ['no file %s' % f for f in sorted(files - there - {'metrics.jsonl'})]
        found += ['a file %s is left' % f for f in sorted(there - files)]
        if found:
            return found
        model = digest(os.path.join(daemon.state, 'model.safetensors'))
        if model != self.model[name]:
            found.append('another model')
        if model not in json.dumps(summary['model_sha256']):
            found.append('its summary is of another model')
        return found + (self.server_faults(daemon) if name == 'server' else self.party_faults(daemon))

    def server_faults(self, daemon):
        found, (lines, whole), summary = [], metrics(daemon.state), daemon.summary()
        if self.scores_of(os.path.join(daemon.state, 'summary.json')) != self.scores:
            found.append('other scores')
        before = GOING_ON.findall(daemon.words(daemon.lives))
        closed, time = summary['rounds'] - int(before[0] if before else 0), summary['time']
        if abs(time.get('rounds_per_s', 0) * time['train_s'] - closed) > 0.01 * closed:
            found.append('rounds_per_s is not of the %d rounds of this process' % closed)
        if not whole:
            found.append('metrics.jsonl has half a line')
        if any(self.metrics.get(epoch) != scores for epoch, scores in lines.items()):
            found.append('metrics.jsonl has other scores')
        if len(lines) < len(self.metrics) and 'metrics.jsonl' not in daemon.words():
            found.append('metrics.jsonl has %d evaluations of %d, without a word' % (len(lines), len(self.metrics)))
        for life in range(1, daemon.lives + 1):
            generations = [int(g) for g in GENERATION.findall(daemon.words(life))]
            if sorted(set(generations)) != generations:
                found.append('generations do not grow: %s' % generations)
        return found

    def party_faults(self, daemon):
        found = []
        total, spent = self.spent_in(daemon.state, daemon.name)
        want_total, want_spent = self.spent[daemon.name]
        left = {}
        for text in self.texts(daemon):
            rounds = []
            for generation, number, rows, purpose in LEAVES.findall(text):
                left[PURPOSES[purpose]] = left.get(PURPOSES[purpose], 0) + int(rows)
                rounds.append((int(generation), int(number)))
            if sorted(set(rounds)) != rounds:
                found.append('rounds do not grow: an answer was given twice')
        for purpose in {*left, *want_total}:
            counts = [c.get(purpose, 0) for c in (total, left, want_total)]
            if counts[0] < max(counts):
                found.append('%d releases in the ledger, %d left, %d without a disturbance' % tuple(counts))
        short = [i for i, want in want_spent.items() if spent.get(i, 0) < want]
        if short:
            found.append('records with too few releases: %s' % short[:3])
        return found

    @staticmethod
    def texts(daemon):
        """Logs within which numbers grow.  Keys are fresh in every process, so a number that comes again after a
        start is no answer given again."""
        if not daemon.run.put_back:
            return [daemon.words()]
        return [daemon.words(life) for life in range(1, daemon.lives + 1)]
