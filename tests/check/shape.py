#!/usr/bin/env python3
"""shape.py [--best]: how tangled server/ and party/ are, in figures.

Files of a folder stand in an order from the outside in (tests/check/order.txt): a file may use what
stands below it.  check_source.py refuses a folder with more than a few arrows back up; --best finds
an order with few.  An arrow is a pair of files, one of which includes the other's header or calls one
of its functions; an arrow that runs back up is named.  Also: fields of the shared headers that more
than WRITERS_MAX files write, and those that more than FILES_MAX touch, and how many files ask for a
mode by its name.  A struct is crowded when it has more than FIELDS_MAX fields and more than FILES_MAX
files touch some of them; check_source.py refuses one.  What a table of functions is made of are no
such fields: nobody writes them.

Files are told by their stem, so x.c and x.h are one.  Fields are told by struct and name (typed.py),
and the struct with the most wide ones is named; by their names alone, as it once was counted, a name
that two structs share counts for both.
SPDX-License-Identifier: Apache-2.0
"""

import os
import random
import re
import sys

from typed import FUNCTION, STRUCT, fields_of, returned, shapes, touched

FILES_MAX = 4  # that may touch a field which is nobody's own
FIELDS_MAX = 15  # of a struct that more files touch
WRITERS_MAX = 2
SIDES = ('server', 'party')
ORDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'order.txt')
NAMES = ('AGGREGATION_', 'PURPOSE_', 'ENCODING_')
# A function that tells which mode a run is in, or a comparison with a mode's name.
PREDICATE = re.compile(r'\b(?:server_(?:waits|deals|stores)|party_deals|secagg_shares)\(|'
                       r'[!=]= (?:AGGREGATION|STRAGGLER|RELEASES)_\w+')
SAID = re.compile(r'[Ww]ritten by\b(.*?)(?:\.(?=\s|$)|$)', re.S)
DEFINED = re.compile(r'^(?!static\b|typedef\b)[a-z][\w \*]*?\**(\w+)\([^;{]*\)\n\{', re.M)
DECLARED = re.compile(r'^[a-z][^\n;{=]*\([^;{]*\)[ A-Z_]*;', re.M)  # not yet a call
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)


def read(*folders):
    """{path: text} of all sources below."""
    found = {}
    for folder in folders:
        for at, _, names in os.walk(folder):
            for name in names:
                if name.endswith(('.c', '.h')):
                    with open(os.path.join(at, name), encoding='utf-8') as f:
                        found[os.path.join(at, name)] = f.read()
    return found


def sources(tree, side, endings=('.c', '.h')):
    """{stem: text of its files} of a side, stems with the folder below it."""
    found = {}
    for path in sorted(tree):
        stem, ext = os.path.splitext(path)
        if path.startswith(side + '/') and ext in endings:
            stem = stem[len(side) + 1:]
            found[stem] = found.get(stem, '') + tree[path]
    return found


def bare(text):
    return COMMENT.sub(' ', text)


def arrows(tree, side):
    """{(from, to): why}"""
    texts, calls, defines = sources(tree, side), sources(tree, side, ('.c',)), {}
    for stem, text in texts.items():
        for name in DEFINED.findall(COMMENT.sub(' ', text)):
            defines[name] = stem
    found = {}
    for stem, text in texts.items():
        for path in re.findall(r'^#include "([^"]+)"', text, re.M):
            to = os.path.splitext(path)[0]
            if to.startswith(side + '/') and to[len(side) + 1:] != stem:
                found.setdefault((stem, to[len(side) + 1:]), 'includes it')
        for word in set(re.findall(r'\b\w+(?=\()|\b\w+(?=[,;})])',
                                   DECLARED.sub('', bare(calls.get(stem, ''))))):
            to = defines.get(word)
            if to is not None and to != stem:
                found[(stem, to)] = word
    return found


def stated(text):
    """{side: stems from the outside in}"""
    order, side = {}, None
    for line in text.split('\n'):
        line = line.split('#')[0].strip()
        if line.endswith(':'):
            side = order.setdefault(line[:-1], [])
        elif line:
            side += line.split()
    return order


def up(found, order):
    """Arrows that run back up, in order."""
    place = {s: i for i, s in enumerate(order)}
    return sorted((f, t) for f, t in found
                  if f in place and t in place and place[f] > place[t])


def fields(tree, side):
    """{(struct, field): {file that touches it: does it write it?}} of the structs in the side's
    headers."""
    plain = {path: bare(text) for path, text in tree.items()}
    known, returns, found = shapes(plain.values()), returned(plain.values()), {}
    own = {s for text in sources(plain, side, ('.h',)).values() for s, _ in STRUCT.findall(text)}
    for stem, text in sources(plain, side).items():
        for (struct, field), writes in touched(text, known, returns).items():
            if struct in own:
                found.setdefault((struct, field), {})[stem] = writes
    return found


def crowded(tree, side):
    """[(header, struct, its fields, files that touch them)] of what is open to too many."""
    users = {}
    for (struct, _), files in fields(tree, side).items():
        users.setdefault(struct, set()).update(files)
    found = []
    for path in sorted(p for p in tree if p.startswith(side + '/') and p.endswith('.h')):
        for struct, body in STRUCT.findall(bare(tree[path])):
            n = len(fields_of(body)) - len(FUNCTION.findall(body))
            if n > FIELDS_MAX and len(users.get(struct, ())) > FILES_MAX:
                found.append((path, struct, n, sorted(users[struct])))
    return found


def unsaid(tree, side):
    """[(header, struct, stems)]: files that write to a struct and are not named by it, but for the
    header's own.  Names stand above the struct, or else at the top of its header, in a sentence with
    `written by`; what is open to more than FILES_MAX files and not written by one alone has one."""
    users, writers, found = {}, {}, []
    for (struct, _), files in fields(tree, side).items():
        users.setdefault(struct, set()).update(files)
        writers.setdefault(struct, set()).update(s for s, writes in files.items() if writes)
    for path in sorted(p for p in tree if p.startswith(side + '/') and p.endswith('.h')):
        top = SAID.findall(tree[path].partition('*/')[0])
        for struct in re.findall(r'^struct (\w+) \{', tree[path], re.M):
            above = re.search(r'/\*((?:(?!\*/).)*)\*/\s*struct %s \{' % struct, tree[path], re.S)
            said = SAID.findall(above.group(1)) if above else []
            names = set(re.findall(r'(\w+)\.c\b', ' '.join(said or top)))
            names.add(os.path.basename(path)[:-2])
            silent = {s for s in writers.get(struct, ()) if os.path.basename(s) not in names}
            must = len(users.get(struct, ())) > FILES_MAX and len(writers[struct]) > 1
            if silent and (said or top or must):
                found.append((path, struct, sorted(silent)))
    return found


def widest(wide):
    """The struct with the most of these fields, and how many it has."""
    structs = [s for s, _ in wide]
    return max(((s, structs.count(s)) for s in sorted(set(structs))), key=lambda x: x[1],
               default=('none', 0))


def names(tree, side):
    """{field: files that touch it}, without types."""
    texts, known = sources(tree, side), set()
    for text in sources(tree, side, ('.h',)).values():
        for body in re.findall(r'^struct \w+ \{\n(.*?)^\};', COMMENT.sub(' ', text), re.M | re.S):
            known |= set(fields_of(body))
    plain = {stem: bare(text) for stem, text in texts.items()}
    return {n: [s for s, t in plain.items() if re.search(r'(?:->|\.)%s\b' % n, t)] for n in known}


def best(stems, found):
    """An order with few arrows back up: what a folder is at least, as far as sixty tries tell."""
    least = None
    for seed in range(60):
        order = sorted(stems)
        random.Random(seed).shuffle(order)
        moved = True
        while moved:
            moved = False
            for s in list(order):
                # Arrows that run back up because of s alone, with s at each place.
                rest = [x for x in order if x != s]
                costs = [sum((t, s) in found for t in rest[i:]) + sum((s, t) in found for t in rest[:i])
                         for i in range(len(order))]
                i, now = min(range(len(costs)), key=costs.__getitem__), order.index(s)
                if costs[i] < costs[now]:
                    order, moved = rest[:i] + [s] + rest[i:], True
        place = {s: i for i, s in enumerate(order)}
        ups = sum(place[f] > place[t] for f, t in found)
        if least is None or ups < least[0]:
            least = (ups, order)
    return least[1]


def main():
    tree = read('common', *SIDES)
    with open(ORDER, encoding='utf-8') as f:
        order = stated(f.read())
    for side in SIDES:
        found = arrows(tree, side)
        texts = sources(tree, side)
        if '--best' in sys.argv:
            order[side] = best(texts, found)
            print('%s:\n%s' % (side, '\n'.join(order[side])))
        back = up(found, order[side])
        for f, t in back:
            print('%s: %s -> %s (%s)' % (side, f, t, found[(f, t)]))
        all_fields = fields(tree, side)
        wide = [f for f, s in all_fields.items() if len(s) > FILES_MAX]
        written = sum(sum(s.values()) > WRITERS_MAX for s in all_fields.values())
        same = sum(len(s) > FILES_MAX for s in names(tree, side).values())
        asks = sum(len(PREDICATE.findall(bare(t))) for t in texts.values())
        print('%s: %d of %d arrows run back up, %d questions for a mode, %d lines'
              % (side, len(back), len(found), asks, sum(t.count('\n') for t in texts.values())))
        print('%s: %d fields written by more than %d files; %d in more than %d, at most %d of one '
              'struct (%s); by name alone %d'
              % (side, written, WRITERS_MAX, len(wide), FILES_MAX, widest(wide)[1],
                 widest(wide)[0], same))
        crowds = crowded(tree, side)
        print('%s: %d structs of more than %d fields that more than %d files touch'
              % (side, len(crowds), FIELDS_MAX, FILES_MAX))
        for path, struct, n, files in crowds:
            print('%s: %s has %d, and these touch them: %s' % (path, struct, n, ' '.join(files)))
    for name in NAMES:
        print('%s*: %d files' % (name, sum(
            name in bare(t) for side in ('common', *SIDES) for t in sources(tree, side).values())))


if __name__ == '__main__':
    main()
