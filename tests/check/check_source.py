#!/usr/bin/env python3
"""check_source.py -- the laws of the source tree, proved without compiling anything.

usage: check_source.py [ROOT [RULE...]].  One line for each fault, `file:line: rule: reason`, one
for each rule without fault, and a closing count of rules.  The tables are in house.py, the layers
in the Makefile (LAYERS).
SPDX-License-Identifier: Apache-2.0
"""

import fnmatch
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # the tree stays as it is

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'mutants'))

import house  # noqa: E402
import shape  # noqa: E402
from mutant import Mutant  # noqa: E402

NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCE_ENDINGS = ('.c', '.h', '.py', '.sh', '.proto')


TABLES = 'tests/check/house.py'


def line_of(tree, word):
    """Where the tables say 'word'."""
    lines = tree.text.get(TABLES, '').split('\n')
    return next((n for n, line in enumerate(lines, 1) if f"'{word}'" in line), 1)


def matches(path, patterns):
    return any(fnmatch.fnmatchcase(path, p) for p in patterns)


def blank(match):
    """Spaces instead of a comment or a literal, so that lines and columns stay."""
    return re.sub(r'[^\n]', ' ', match.group())


class Code(dict):
    """The C files without comments and literals, each made when it is first looked at."""

    def __init__(self, tree):
        super().__init__((path, None) for path in tree.of('.c', '.h'))
        self.tree = tree

    def __getitem__(self, path):
        if super().__getitem__(path) is None:
            self[path] = NOT_CODE.sub(blank, self.tree.text[path])
        return super().__getitem__(path)


class Tree:
    """The files below a root: those that git knows or would add; all when git does not say."""

    def __init__(self, root):
        self.root = root
        self.text = {}
        for path in sorted(self.list()):
            try:
                with open(os.path.join(root, path), 'rb') as file:
                    data = file.read()
            except (FileNotFoundError, IsADirectoryError):
                continue
            self.text[path] = '' if b'\0' in data else data.decode('utf-8', 'replace')
        self.code = Code(self)

    def list(self):
        command = ['git', '-C', self.root, 'ls-files', '-z', '--cached', '--others',
                   '--exclude-standard']
        if os.path.exists(os.path.join(self.root, '.git')):
            try:
                out = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
                return {p for p in out.decode().split('\0') if p}
            except (OSError, subprocess.CalledProcessError):
                pass  # no git here, or a tree of somebody else that git will not read
        found = set()
        for folder, folders, files in os.walk(self.root):
            folders[:] = [f for f in folders if f not in ('build', 'runs', '.git', '__pycache__')]
            found |= {os.path.relpath(os.path.join(folder, f), self.root) for f in files}
        return found

    def of(self, *endings):
        return [p for p in self.text if p.endswith(endings)]

    def written(self):
        return [p for p in self.text if not matches(p, house.GENERATED)]

    def sources(self):
        """What somebody programmed, in whatever language."""
        return [p for p in self.written() if p.endswith(SOURCE_ENDINGS) or p == 'Makefile'
                or self.text[p].startswith('#!')]

    def lines(self, path):
        return enumerate(self.text[path].split('\n'), 1)

    def code_lines(self, path):
        return enumerate(self.code[path].split('\n'), 1)

    def includes(self, path):
        """(line, is_quoted, header) of each include that is not in a comment."""
        for n, line in self.lines(path):
            m = INCLUDE.match(line) if 'include' in line else None
            if m and '#' in self.code[path].split('\n')[n - 1]:
                yield n, m.group(1) == '"', m.group(2)


# --- who includes what ---


def layers_of(tree):
    """Room -> height, from the Makefile; 0 is the lowest."""
    makefile = tree.text.get('Makefile', '').replace('\\\n', ' ')
    m = re.search(r'^LAYERS\s*:=(.*)$', makefile, re.M)
    layers = [part.split() for part in reversed(m.group(1).split('|'))] if m else []
    return {room: height for height, rooms in enumerate(layers) for room in rooms}


def rule_rooms(tree):
    """every room of common has its layer, and no C file stands outside a room"""
    height = layers_of(tree)
    if not height:
        yield 'Makefile', 1, 'LAYERS is missing'
    for path in tree.code:
        parts = path.split('/')
        if parts[0] == 'common' and len(parts) != 3:
            yield path, 1, 'files of common stand in common/ROOM/'
        elif parts[0] == 'common' and parts[1] not in height:
            yield path, 1, f'room {parts[1]} has no place in LAYERS (Makefile)'


def allowed_rooms(path, height):
    """The prefixes that a file of common/ or tests/unit/ may include; None: other rules apply."""
    parts = path.split('/')
    unit = parts[:2] == ['tests', 'unit']
    if not unit and parts[0] != 'common':
        return None
    room = parts[2] if unit else parts[1]
    below = [f'common/{r}/' for r in height if height[r] < height.get(room, -1)]
    return (f'common/{room}/', *below, *((f'tests/unit/{room}/', *house.UNIT_MAY_INCLUDE)
                                         if unit else ()))


def rule_layers(tree):
    """a file includes only its own room and what stands lower"""
    height = layers_of(tree)
    for path in tree.code:
        allowed = allowed_rooms(path, height)
        if allowed is None:
            folder = [p for p in house.MAY_INCLUDE if matches(path, (p,))]
            own = os.path.dirname(path) + '/'
            allowed = (own, *(house.MAY_INCLUDE[folder[0]] if folder else ()))
        for n, quoted, header in tree.includes(path):
            if not quoted or header.endswith('.pb-c.h'):
                continue
            if header not in tree.text:
                yield path, n, f'"{header}" is no path from the root of the tree'
            elif not header.startswith(allowed):
                yield path, n, f'{os.path.dirname(path)} may not include {header}'


def rule_foreign(tree):
    """foreign headers stay where they are wrapped"""
    for path in tree.code:
        for n, _, header in tree.includes(path):
            for pattern, users in house.FOREIGN.items():
                if matches(header, (pattern,)) and not matches(path, users):
                    yield path, n, f'{header} is for {", ".join(users)} only'


def expected_header(tree, path):
    """The header that a .c file must include first; None: any."""
    own = path[:-2] + '.h'
    if own in tree.text:
        return own
    if path in house.HEADER_OF or matches(path, house.NO_HEADER):
        return house.HEADER_OF.get(path)
    for pattern, header in house.HEADER_OF_ALL.items():
        if matches(path, (pattern,)):
            return header
    folder = os.path.dirname(path) + '/'
    return house.PHASE_HEADER.get(folder, own)


def rule_own_header(tree):
    """a .c file has a header of its own name and includes it first"""
    for path in tree.of('.c'):
        want = expected_header(tree, path)
        first = next(tree.includes(path), (1, True, None))
        if want and first[2] != want:
            yield path, first[0], f'its first include is {want}'


# --- what is called ---


def calls(tree, names, allowed):
    call = re.compile(r'(?<![\w.>])(' + '|'.join(names) + r')\s*\(|[,(=]\s*(' + '|'.join(names)
                      + r')\s*[,;)]')
    for path in tree.code:
        if matches(path, allowed):
            continue
        for n, line in tree.code_lines(path):
            for m in call.finditer(line):
                yield path, n, m.group(1) or m.group(2)


def rule_heap(tree):
    """the heap is used through common/base/mem.h"""
    for path, n, name in calls(tree, house.HEAP, house.HEAP_ALLOWED):
        yield path, n, f'{name}: only common/base/mem.c calls the heap'


def rule_exit(tree):
    """only CHECK and main functions end a process"""
    for path, n, name in calls(tree, house.EXIT, house.EXIT_ALLOWED):
        yield path, n, f'{name}: a library returns; for mistakes of programmers there is CHECK'


def rule_fork(tree):
    """a daemon has no children"""
    for path, n, name in calls(tree, house.FORK, house.FORK_ALLOWED):
        yield path, n, f'{name}: a process with keys does not fork'


def rule_open(tree):
    """files are opened through common/base/file.h"""
    call = re.compile(r'(?<![\w.>])(' + '|'.join(house.OPEN) + r')\s*\(')
    for path in tree.code:
        if matches(path, house.OPEN_ALLOWED):
            continue
        for n, line in tree.code_lines(path):
            for m in call.finditer(line):
                yield path, n, f'{m.group(1)}: only common/base/file.c opens a name'


def rule_sleep(tree):
    """tests wait for events, not for time"""
    for path in tree.sources():
        if not path.startswith('tests/') or matches(path, house.SLEEP_ALLOWED):
            continue
        pattern = house.SLEEP_C if path in tree.code else house.SLEEP_SCRIPT
        lines = tree.code_lines(path) if path in tree.code else tree.lines(path)
        for n, line in lines:
            if re.search(pattern, line) and not line.lstrip().startswith('#'):
                yield path, n, 'sleeps'


# --- form ---


def rule_spdx(tree):
    """each source names its licence near its top"""
    for path in tree.sources():
        head = tree.text[path].split('\n')[:20]
        if not any('SPDX-License-Identifier: Apache-2.0' in line for line in head):
            yield path, 1, 'no line SPDX-License-Identifier: Apache-2.0 in the first 20'
        elif not any(re.fullmatch(r'[ */#;!]*SPDX-License-Identifier: Apache-2.0[ */]*', line)
                     for line in head):
            n = next(n for n, line in enumerate(head, 1) if 'SPDX-' in line)
            yield path, n, 'the SPDX line is not on its own'


def rule_file_length(tree):
    """files are short"""
    for path in tree.sources():
        n = tree.text[path].count('\n')
        if n > house.FILE_LINES_MAX:
            yield path, n, f'{n} lines, more than {house.FILE_LINES_MAX}'


def rule_line_length(tree):
    """lines are short, without tabs and without blanks at their ends"""
    for path in tree.sources():
        most = house.SCRIPT_COLUMNS_MAX if matches(path, house.SCRIPTS) else house.COLUMNS_MAX
        for n, line in tree.lines(path):
            if len(line) > most:
                yield path, n, f'{len(line)} columns, more than {most}'
            if '\t' in line.lstrip('\t' if path == 'Makefile' else ''):
                yield path, n, 'a tab'
            if line != line.rstrip():
                yield path, n, 'a blank at the end'


def functions(tree, path):
    """(first line, last line, name, parameters as text) of each function that has a body."""
    lines = tree.code[path].split('\n')
    for opening, line in enumerate(lines):
        if line.rstrip() != '{':
            continue
        first = opening
        while first > 0 and re.match(r'[^\s}#]|\s+\S', lines[first - 1]) \
                and not lines[first - 1].rstrip().endswith((';', '}', '\\')):
            first -= 1
        signature = ' '.join(lines[first:opening]).rstrip()
        last = next((n for n in range(opening, len(lines)) if lines[n].startswith('}')), None)
        if not signature.endswith(')') or last is None:
            continue
        depth, start = 0, len(signature)
        while start > 0 and (depth or start == len(signature)):
            start -= 1
            depth += {')': 1, '(': -1}.get(signature[start], 0)
        name = re.search(r'(\w+)\s*$', signature[:start])
        yield first + 1, last + 1, name.group(1) if name else '', signature[start + 1:-1]


def count_parameters(text):
    depth, n = 0, 1
    for c in text:
        depth += {'(': 1, ')': -1}.get(c, 0)
        n += c == ',' and depth == 0
    return 0 if text.strip() in ('', 'void') else n


def rule_function_length(tree):
    """functions are short"""
    for path in tree.code:
        for first, last, _, _ in functions(tree, path):
            if last - first + 1 > house.FUNCTION_LINES_MAX:
                yield path, first, (f'a function of {last - first + 1} lines, more than '
                                    f'{house.FUNCTION_LINES_MAX}')


def rule_parameters(tree):
    """functions have few parameters"""
    excepted = set()
    for path in tree.code:
        most = house.PARAMETERS_MAX
        if matches(path, house.KERNELS):
            most = house.KERNEL_PARAMETERS_MAX
        for first, _, name, parameters in functions(tree, path):
            n = count_parameters(parameters)
            if n > most and n == house.PARAMETERS_OF.get(name):
                excepted.add(name)
            elif n > most:
                yield path, first, f'{name}: {n} parameters, more than {most}'
    for name in sorted(set(house.PARAMETERS_OF) - excepted):
        yield TABLES, line_of(tree, name), f'PARAMETERS_OF names {name}, which needs no exception'


def rule_guards(tree):
    """each header has a guard of its own"""
    seen = {}
    for path in tree.of('.h'):
        if matches(path, house.GENERATED):
            continue
        m = re.search(r'^#ifndef (\w+)\n#define \1$.*^#endif\b[^\n]*\s*\Z', tree.text[path],
                      re.M | re.S)
        stem = re.sub(r'\W', '_', os.path.basename(path)).upper()
        if not m:
            yield path, 1, 'no include guard'
            continue
        line = tree.text[path][:m.start()].count('\n') + 1
        if not m.group(1).startswith('COLONNADE_') or not m.group(1).endswith('_' + stem):
            yield path, line, f'guard {m.group(1)}: COLONNADE_FOLDER_{stem} expected'
        elif m.group(1) in seen:
            yield path, line, f'guard {m.group(1)} is also that of {seen[m.group(1)]}'
        seen.setdefault(m.group(1), path)


# --- words ---


def rule_file_names(tree):
    """no file is called after nothing"""
    for path in tree.text:
        words = re.split(r'[_.\-]', os.path.basename(path).lower())
        for word in house.FILE_NAME_WORDS:
            if word in words:
                yield path, 1, f'"{word}" says nothing about what is in it'


def rule_words(tree):
    """nothing speaks of the machine, the tools or the people it was written with"""
    pattern = re.compile('|'.join(house.FORBIDDEN_WORDS), re.I)
    for path in tree.text:
        for n, line in tree.lines(path):
            m = pattern.search(line)
            if m:
                yield path, n, f'"{m.group()}" does not belong here'


def rule_unfinished(tree):
    """nothing is left for later in a comment"""
    for path in tree.written():
        for n, line in tree.lines(path):
            m = re.search(house.UNFINISHED, line)
            if m:
                yield path, n, m.group()


# --- what belongs together ---


def anchors(text):
    """The fragments that the headings of a page give."""
    found = set()
    for line in re.sub(r'^```.*?^```', '', text, flags=re.M | re.S).split('\n'):
        m = re.match(r'#+\s+(.*?)\s*#*$', line)
        if m:
            words = re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', m.group(1)).lower()
            found.add(re.sub(r'[^\w\- ]', '', words).replace(' ', '-'))
    return found


def rule_links(tree):
    """each link of the documents leads somewhere"""
    for path in tree.of('.md'):
        fenced = False
        for n, line in tree.lines(path):
            fenced ^= line.lstrip().startswith('```')
            if fenced:
                continue
            line = re.sub(r'`[^`]*`', '', line)
            for target in re.findall(r'\]\(([^)\s]+)[^)]*\)', line):
                if re.match(r'[a-z]+:', target):
                    continue
                file, _, fragment = target.partition('#')
                file = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
                if file.startswith('..') or not (
                        file in tree.text or any(p.startswith(file + '/') for p in tree.text)):
                    yield path, n, f'{target}: no such file'
                elif fragment and fragment not in anchors(tree.text.get(file, '')):
                    yield path, n, f'{target}: no such heading'


HOSTILE = 'docs/hostile.md'


def rule_grids(tree):
    """beside each grid lies the table of all its evaluations, or the tables say why it does not"""
    for path in tree.text:
        folder, name = os.path.split(path)
        if not fnmatch.fnmatchcase(path, 'docs/experiments/*/*.yaml'):
            continue
        stem = name.removesuffix('.yaml')
        table = f'{folder}/{"" if stem == "grid" else stem + "-"}results.csv.gz'
        if path in house.GRIDS_WITHOUT_RESULTS and table in tree.text:
            yield path, 1, f'{table} is there: out of GRIDS_WITHOUT_RESULTS with it'
        elif path not in house.GRIDS_WITHOUT_RESULTS and table not in tree.text:
            yield path, 1, f'{table} is missing'
    for path in house.GRIDS_WITHOUT_RESULTS:
        if path not in tree.text:
            yield TABLES, line_of(tree, path[len("docs/experiments/"):-len(".yaml")]), f"{path}: no such grid"


def rule_named(tree):
    """each function that docs/security.md and docs/hostile.md name stands in the file beside it"""
    for path in ('docs/security.md', HOSTILE):
        for n, line in tree.lines(path):
            for names, file in re.findall(r'((?:`[a-z0-9_]+`(?:, )?)+) \(([a-z0-9_/]+\.[ch])\)', line):
                for name in re.findall(r'`(.*?)`', names):
                    if not re.search(rf'\b{name}\b', tree.text.get(file, '')):
                        yield path, n, f'{file} has no {name}'


def rule_hostile(tree):
    """docs/hostile.md counts its cases, each has a test, and those of the table of lies are all there"""
    lies, player = 'tests/sim/test_align_hostile.c', 'test_whoever_deviates_is_found_or_spoils_what_is_said'
    cases = tree.text[lies].partition('hostile_case cases[] = {')[2].partition('\n};')[0]
    played = set(re.findall(r'^ *\{\s*"([^"]+)"', cases, re.M))
    for what in re.findall(r'^ *NO_POINT\("([^"]+)"', cases, re.M):
        played |= {what + place for place in re.findall(r'\bwhat "([^"]+)"', tree.text[lies])}
    shown, n_cases = set(), 0
    for n, line in tree.lines(HOSTILE):
        cells = [c.strip() for c in line.strip('|').split(' | ')]
        if not re.match(r'\| \d', line):
            continue
        n_cases += 1
        if cells[0] != str(n_cases):
            yield HOSTILE, n, f'case {cells[0]} stands where {n_cases} would'
        if len(cells) != 4 or not re.fullmatch(r'`test_[a-z0-9_]+` \(tests/[a-z0-9_/]+\.c\)', cells[3]):
            yield HOSTILE, n, 'a case is its number, what is tried, what comes of it, and `test` (file)'
        elif player in cells[3]:
            shown.add(cells[1])
            if cells[1] not in played:
                yield HOSTILE, n, f'{lies} plays no "{cells[1]}"'
    for what in sorted(played - shown):
        yield HOSTILE, 1, f'lacks "{what}", which {lies} plays'
    told = re.search(r'There are (\d+) cases', tree.text[HOSTILE])
    if told is None or int(told[1]) != n_cases:
        yield HOSTILE, 1, f'does not say that there are {n_cases} cases'


def rule_tests(tree):
    """each source of common has its tests"""
    for path in tree.of('.c'):
        if not path.startswith('common/'):
            continue
        _, room, name = path.split('/')
        own = f'tests/unit/{room}/test_{name}'
        test = house.TESTED_BY.get(path, own)
        if test not in tree.text:
            yield path, 1, f'no {test}'
        elif path in house.TESTED_BY and own in tree.text:
            yield own, 1, f'TESTED_BY in house.py still says {test}'
    for path in house.TESTED_BY:
        if path not in tree.text:
            yield TABLES, line_of(tree, path), f'TESTED_BY names {path}, which is gone'


def rule_mutants(tree):
    """each planted bug stands once where it is to be planted, its tests are there, and all are counted"""
    for path in tree.of('.mutant'):
        for line, reason in Mutant(path, tree.text[path]).faults(tree.text.get):
            yield path, line, reason
    readme = 'tests/mutants/README.md'
    n = len(list(tree.of('.mutant')))
    told = re.search(r'^There are (\d+)\b', tree.text.get(readme, ''), re.M)
    if told is None:
        yield readme, 1, 'does not say how many there are'
    elif int(told[1]) != n:
        yield readme, tree.text[readme][:told.start()].count('\n') + 1, f'says {told[1]}, there are {n}'


def rule_arrows(tree):
    """inside server/ and party/ every file has its place, and few uses run back up"""
    path = 'tests/check/order.txt'
    code = {p: tree.text[p] for p in tree.code if p.endswith(('.c', '.h'))}
    for side, order in shape.stated(tree.text.get(path, '')).items():
        for stem in sorted(set(order) ^ set(shape.sources(code, side))):
            yield path, 1, f'{side}/{stem} stands {"there alone" if stem in order else "nowhere"}'
        found = shape.arrows(code, side)
        back = shape.up(found, order)
        for f, t in back if len(back) > house.ARROWS_UP_MAX else ():
            yield path, 1, f'{side}: {f} uses {t} ({found[(f, t)]}); at most {house.ARROWS_UP_MAX} run back up'


def rule_crowded(tree):
    """inside server/ and party/ no struct of many fields is open to many files"""
    code = {p: tree.text[p] for p in tree.code if p.startswith(('common/', 'server/', 'party/'))}
    for side in shape.SIDES:
        for path, struct, n, files in shape.crowded(code, side):
            line = tree.text[path][:tree.text[path].index(f'struct {struct} {{')].count('\n') + 1
            yield path, line, (f'{struct} has {n} fields, more than {shape.FIELDS_MAX}, and more than '
                               f'{shape.FILES_MAX} files touch them: {" ".join(files)}')


def rule_writers(tree):
    """headers of server/ and party/ name the files that write to their structs"""
    code = {p: tree.text[p] for p in tree.code if p.startswith(('common/', 'server/', 'party/'))}
    for side in shape.SIDES:
        for path, struct, stems in shape.unsaid(code, side):
            line = tree.text[path][:tree.text[path].index(f'struct {struct} {{')].count('\n') + 1
            yield path, line, f'{struct} is written to in {" ".join(stems)}, and nobody says so'


def main(arguments):
    root = arguments[0] if arguments else '.'
    rules = {name[5:]: rule for name, rule in globals().items() if name.startswith('rule_')}
    unknown = [name for name in arguments[1:] if name not in rules]
    if unknown or not os.path.isdir(root):
        print(f'no such rule or folder; rules: {" ".join(rules)}', file=sys.stderr)
        return 2
    tree = Tree(root)
    if not tree.code:
        print(f'{root}: no source', file=sys.stderr)
        return 2
    passed = failed = 0
    for name in arguments[1:] or rules:
        faults = list(rules[name](tree))
        for path, n, reason in faults:
            print(f'{path}:{n}: {name}: {reason}')
        if not faults:
            print(f'ok    {name}: {rules[name].__doc__}')
        passed, failed = passed + (not faults), failed + bool(faults)
    print(f'{passed} passed, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
