#!/usr/bin/python3
"""bench_mapped.py -- features in a mapped file beside features in memory: a round's time, and anonymous memory.

    tests/bench/bench_mapped.py [--pairs N] [--rows N] [--columns N] [--folder DIR] [--within MIB]

Runs of two parties in turns, one way and the other; the first party has nine tenths of the columns.  DIR is on the
disk that files lie on.  --within: instead one run with both parties' features in files, all daemons in a control group
(version 1, as root) of so much memory, page cache included.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import glob
import hashlib
import json
import os
import statistics
import subprocess
import tempfile
import threading

import numpy

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GROUP = '/sys/fs/cgroup/memory/colonnade-bench-%d' % os.getpid()


def status(out):
    """What /proc says of the first party of this run; {}: it is not there."""
    for name in glob.glob('/proc/[0-9]*/cmdline'):
        try:
            words = open(name, 'rb').read().split(b'\0')
            if words[0].endswith(b'vfl-party') and out.encode() + b'/party-1/config.yaml' in words:
                lines = open(os.path.dirname(name) + '/status').read().splitlines()
                return {k: int(v.split()[0]) for k, v in (x.split(':\t', 1) for x in lines) if v.endswith('kB')}
        except (OSError, ValueError):
            pass
    return {}


def run(folder, out, mapped, before=None):
    """Of a run in which the parties `mapped` have their features in files: milliseconds a round, the largest anonymous
    and file-backed resident MiB of the first party, and its model's digest."""
    command = [ROOT + '/deploy/vfl', 'cluster', '--npy-train', 'x.npy,y.csv', '--columns', COLUMNS, '--seed', '1',
               '--set', 'training.epochs=1', '--set', 'training.batch=512',
               '--set', 'protocol.patience_ms=300000', '--quiet', '--out', out]
    command += ['--party', f'{mapped}:data.mapped={folder}'] if mapped else []
    seen = {'RssAnon': 0, 'RssFile': 0}
    over = threading.Event()

    def watch():
        while not over.wait(0.1):
            now = status(out)
            for key in seen:
                seen[key] = max(seen[key], now.get(key, 0))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        subprocess.run(command, check=True, preexec_fn=before)
    finally:
        over.set()
        watcher.join()
    summary = json.load(open(out + '/summary.json'))
    model = hashlib.sha256(open(out + '/party-1/model.safetensors', 'rb').read()).hexdigest()
    rounds = summary['rounds']['done'] if isinstance(summary['rounds'], dict) else summary['rounds']
    return 1e3 * summary['time']['train_s'] / rounds, seen['RssAnon'] / 1024, seen['RssFile'] / 1024, model


def enter():
    open(GROUP + '/cgroup.procs', 'w').write(str(os.getpid()))


def show(name, runs):
    for what, k in (('ms a round', 0), ('MiB anonymous', 1), ('MiB of files', 2)):
        values = [r[k] for r in runs]
        print(f'{name:8} {what:14} median {statistics.median(values):8.2f}  ({min(values):.2f} to {max(values):.2f})')


args = argparse.ArgumentParser()
for option, default in (('pairs', 7), ('rows', 200000), ('columns', 100), ('within', 0)):
    args.add_argument('--' + option, type=int, default=default)
args.add_argument('--folder', default='/var/tmp')
args = args.parse_args()
COLUMNS = f'1-{args.columns * 9 // 10},{args.columns * 9 // 10 + 1}-{args.columns}'
with tempfile.TemporaryDirectory(dir=args.folder) as here:
    os.chdir(here)
    draw = numpy.random.default_rng(1)
    x = draw.standard_normal((args.rows, args.columns), dtype=numpy.float32)
    numpy.save('x.npy', x)
    with open('y.csv', 'w') as f:
        f.write('label\n' + ''.join(f'{int(v > 0)}\n' for v in x[:, 0]))
    print(f'{args.rows} rows, {x.nbytes * 9 / 10 / 2**20:.0f} MiB of values at the first party, {args.folder}')
    del x
    if args.within > 0:
        os.mkdir(GROUP)
        try:
            open(GROUP + '/memory.limit_in_bytes', 'w').write(str(args.within << 20))
            show('within', [run(here, here + '/run', '*', enter)])
        finally:
            os.rmdir(GROUP)
    else:
        pairs = [(run(here, f'{here}/m{i}', ''), run(here, f'{here}/f{i}', '1')) for i in range(args.pairs)]
        show('memory', [p[0] for p in pairs])
        show('file', [p[1] for p in pairs])
        ratios = [p[1][0] / p[0][0] for p in pairs]
        print(f'ratio of times {statistics.median(ratios):.3f} ({min(ratios):.2f} to {max(ratios):.2f}); '
              f'models {"equal" if len({r[3] for p in pairs for r in p}) == 1 else "DIFFER"}')
