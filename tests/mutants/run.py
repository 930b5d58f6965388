#!/usr/bin/env python3
"""run.py -- plants the bugs of this folder one after another and sees each caught (README.md).

The tree is copied once and built once; each worker has a copy of that, where a mutant changes a file
or two, is built and tested, and what changed is put back, times included.
SPDX-License-Identifier: Apache-2.0
"""

import argparse
import concurrent.futures
import os
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True  # the tree stays as it is

from mutant import Mutant  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / 'tests' / 'mutants'
SOURCES = ('common', 'server', 'party', 'proto', 'tests', 'deploy', 'docs', 'Makefile')
BUILD_LIMIT_S, TEST_LIMIT_S, LOOK_S = 1800, 600, 0.1
FAILURE = re.compile(rb'^(\[  FAILED  \]|FAIL  )', re.M)  # of cmocka, and of tests/lib/e2e.sh
UNDER_VALGRIND = ['valgrind', '-q', '--child-silent-after-fork=yes']


class Broken(Exception):
    """A mutant that says nothing about the tests: it has to be mended itself."""


def read(tree, file):
    path = tree / file
    return path.read_text() if path.is_file() else None


def apply(mutant, tree):
    for line, reason in mutant.faults(lambda file: read(tree, file)):
        raise Broken(f'line {line}: {reason}')
    for _, file, was, now in mutant.changes:
        text = read(tree, file)
        (tree / file).unlink()
        (tree / file).write_text(text.replace(was, now))


def run(command, cwd, limit, log, enough=None):
    """The exit code; None when the time ran out, or the log has words that are enough to know."""
    environment = {k: v for k, v in os.environ.items()
                   if k not in ('CI', 'MAKEFLAGS', 'MAKELEVEL', 'VFL_BIN')}
    end = time.monotonic() + limit
    with open(log, 'wb') as out, \
            subprocess.Popen(command, cwd=cwd, stdout=out, stderr=subprocess.STDOUT,
                             stdin=subprocess.DEVNULL, env=environment, start_new_session=True) as p:
        while True:
            try:
                return p.wait(LOOK_S)
            except subprocess.TimeoutExpired:
                if time.monotonic() > end or enough and enough.search(log.read_bytes()):
                    os.killpg(p.pid, 9)
                    return None


def is_script(test):
    return test.endswith('.sh')


def is_watched(test):
    """Where valgrind watches secrets: a build of its own, as `make valgrind` has it."""
    return test.startswith('tests/valgrind/')


def program(test):
    return test if is_script(test) else f'build/watched/{test}' if is_watched(test) else f'build/{test}'


def make(tree, tests, jobs, log):
    goals = [program(t) for t in tests if not is_script(t)]
    watched = [g for g in goals if g.startswith('build/watched/')]
    plain = [g for g in goals if g not in watched]
    if any(map(is_script, tests)):
        plain.append('all')
    for wanted, settings in ((plain, ['BUILD=build']),
                             (watched, ['BUILD=build/watched', 'EXTRA_CFLAGS=-DSECRETS_WATCHED'])):
        command = ['make', '-j', str(jobs), *settings, 'OPT=-O1', *wanted]
        if wanted and run(command, tree, BUILD_LIMIT_S, log) != 0:
            raise Broken('does not build:\n' + tail(log))


def tail(log):
    lines = pathlib.Path(log).read_text(errors='replace').splitlines()
    return '\n'.join('      ' + line for line in lines[-20:])


def passes(tree, test, log, limit=TEST_LIMIT_S):
    command = [str(tree / program(test))]
    if is_watched(test):
        command = [*UNDER_VALGRIND, *command]
    return run(command, tree, limit, log, FAILURE) == 0


def bring_up(base):
    """The sources as they are now; what has not changed keeps its time, and so its object."""
    there = set()
    for source in SOURCES:
        files = [ROOT / source] if (ROOT / source).is_file() else (ROOT / source).rglob('*')
        for file in files:
            if not file.is_file() or '__pycache__' in file.parts:
                continue
            to = base / file.relative_to(ROOT)
            there.add(to)
            if not to.exists() or to.read_bytes() != file.read_bytes():
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, to)
                shutil.copymode(file, to)
    for source in SOURCES:
        for file in (base / source).rglob('*') if (base / source).is_dir() else ():
            if file.is_file() and file not in there:
                file.unlink()


def put_back(tree, base):
    """Everything that is newer than in base, or is not there."""
    for folder, _, names in os.walk(tree):
        for name in names:
            file = pathlib.Path(folder) / name
            was = base / file.relative_to(tree)
            if not was.exists():
                file.unlink()
            elif file.stat().st_mtime_ns != was.stat().st_mtime_ns:
                shutil.copy2(was, file)


def judge(mutant, tree, limits, log):
    """Who caught it; None: nobody.  A test may take five times as long as without the bug."""
    red = [t for t in mutant.tests if limits[t] is None]
    if red:
        raise Broken(f'fails without it: {" ".join(red)}')
    apply(mutant, tree)
    for test in mutant.tests:
        make(tree, [test], 1, log)
        if not passes(tree, test, log, limits[test]):
            return test
    return None


class Verdicts:
    def __init__(self):
        self.lock, self.caught, self.failed = threading.Lock(), 0, 0

    def add(self, mutant, who, words, seconds):
        with self.lock:
            self.caught += who is not None
            self.failed += who is None
            if who is not None:
                print(f'caught  {mutant.name}: {who} ({seconds:.0f} s)', flush=True)
            else:
                print(f'FAIL    {mutant.name}: {words}\n        {mutant.rule}', flush=True)


def judge_none(base, tests, jobs):
    """{test: how long it may take with a bug}; None: it fails without one."""
    def limit(test):
        start = time.monotonic()
        good = passes(base, test, base.parent / (test.replace('/', '-') + '.log'))
        return 60 + 5 * (time.monotonic() - start) if good else None

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return dict(zip(tests, pool.map(limit, tests)))


def work(number, base, limits, todo, verdicts):
    tree, log = base.parent / f'worker{number}', base.parent / f'worker{number}.log'
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(base, tree, symlinks=True, copy_function=shutil.copy2)
    while True:
        try:
            mutant = todo.get_nowait()
        except queue.Empty:
            break
        start, who, words = time.monotonic(), None, 'nobody noticed'
        try:
            who = judge(mutant, tree, limits, log)
        except Broken as why:
            words = str(why)
        verdicts.add(mutant, who, words, time.monotonic() - start)
        put_back(tree, base)
    shutil.rmtree(tree, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('names', nargs='*', help='mutants; none: all')
    parser.add_argument('--jobs', type=int, default=os.cpu_count() or 1)
    parser.add_argument('--list', action='store_true', help='names and rules, and nothing else')
    parser.add_argument('--build', default=os.environ.get('BUILD', 'build'))
    args = parser.parse_args()
    files = sorted(HERE.glob('*.mutant'))
    unknown = set(args.names) - {f.stem for f in files}
    if unknown:
        sys.exit(f'no such mutant: {" ".join(sorted(unknown))}')
    mutants = [Mutant(f.stem, f.read_text()) for f in files if not args.names or f.stem in args.names]
    if args.list:
        for m in mutants:
            print(f'{m.name}: {m.rule} [{" ".join(m.tests)}]')
        return 0

    start = time.monotonic()
    base = (ROOT / args.build).resolve() / 'mutants' / 'base'
    base.mkdir(parents=True, exist_ok=True)
    bring_up(base)
    tests, log = sorted({t for m in mutants for t in m.tests}), base.parent / 'base.log'
    try:
        make(base, tests, args.jobs, log)
    except Broken as why:
        sys.exit(f'without any mutant: {why}')
    limits = judge_none(base, tests, args.jobs)

    todo, verdicts = queue.Queue(), Verdicts()
    for m in mutants:
        todo.put(m)
    threads = [threading.Thread(target=work, args=(n, base, limits, todo, verdicts))
               for n in range(args.jobs)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print(f'caught {verdicts.caught} of {len(mutants)} planted bugs in '
          f'{(time.monotonic() - start) / 60:.0f} min')
    print(f'{verdicts.caught} passed, {verdicts.failed} failed')
    return 0 if verdicts.failed == 0 and verdicts.caught == len(mutants) else 1


if __name__ == '__main__':
    sys.exit(main())
