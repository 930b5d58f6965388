"""mutant.py -- reads a planted bug (README.md), and says where its text does not stand any more.
SPDX-License-Identifier: Apache-2.0
"""

import re

CHANGE = re.compile(r'^<<<<\n(.*?)^====\n(.*?)^>>>>\n', re.S | re.M)
FILE = re.compile(r'^in: (.*)\n', re.M)


class Mutant:
    """name, rule, tests, changes: (line of the change, file, text as it is, text with the bug)."""

    def __init__(self, name, text):
        self.name, self.changes = name, []
        files = list(FILE.finditer(text))
        head = text[:files[0].start()] if files else text
        caught = re.search(r'^caught by: (.*)\n', head, re.M)
        self.rule = ' '.join(line[2:] for line in head.splitlines() if line.startswith('# '))
        self.tests = caught.group(1).split() if caught else []
        for file, after in zip(files, files[1:] + [None]):
            for change in CHANGE.finditer(text, file.end(), after.start() if after else len(text)):
                line = text.count('\n', 0, change.start()) + 1
                self.changes.append((line, file.group(1).strip(), *change.groups()))

    def sources(self):
        """Of its tests."""
        return [t if t.endswith('.sh') else t + '.c' for t in self.tests]

    def faults(self, read):
        """(line, reason) of each; read(file) is the text of it, or None."""
        if not self.rule or not self.tests or not self.changes:
            yield 1, 'no rule, no test or no change in it'
        for test in self.sources():
            if read(test) is None:
                yield 1, f'caught by {test}, which is not there'
        for line, file, was, now in self.changes:
            times = (read(file) or '').count(was)
            if times != 1 or was == now:
                yield line, f'{file} has what it changes {times} times' if was != now else \
                    'changes nothing'
