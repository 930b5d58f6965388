"""typed.py -- which fields of which structs a C source touches, by the types of what it declares.

It is no compiler: a chain `a->b.c` is followed from the struct that the function, or the file,
declares `a` to be, and a call from what it returns; a cast and a macro end it.
SPDX-License-Identifier: Apache-2.0
"""

import re

FUNCTION = re.compile(r'\(\*(?:const )?(\w+)(?:\[[^\]]*\])*\)\s*\(')
OPEN, CLOSE = '([{', ')]}'
STRUCT = re.compile(r'\bstruct (\w+) \{\n(.*?)^\}', re.M | re.S)
# `struct x *a, b[3]`: up to the end of a declaration, or of a parameter.
TYPED = re.compile(r'\bstruct (\w+)\s+(?=(\**(?:const )?\w+[^;{}()]*))')
RETURNS = re.compile(r'^(?:[a-z]+ )*struct (\w+) \**(\w+)\(', re.M)
BODY = re.compile(r'^\w[^;{}]*\([^;{]*\)\n\{.*?^\}', re.M | re.S)
WRITTEN = re.compile(r'(?:\[[^\]]*\])*\s*(?:=(?!=)|[-+*/|&^%]=|<<=|>>=|\+\+|--)')
STEP = re.compile(r'\s*(?:->|\.)\s*(\w+)')


def behind(text, at):
    """Where the bracket that opens at `at` is closed, and one more."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] in OPEN) - (text[i] in CLOSE)
        if depth == 0:
            return i + 1
    return len(text)


def names_of(declared):
    """a and b of `*a, b[3] = c`, up to where another type begins."""
    for part in declared.split(','):
        name = re.match(r'[\s\*]*(?:const\s+)?(\w+)\s*(?:$|[\[=)])', part)
        if name is None:
            return
        yield name.group(1)


def fields_of(body):
    """{field: the struct that it is or points to, or None} of what stands between a struct's
    braces, without comments.  A pointer to a function is a field, its parameters are none."""
    found = dict.fromkeys(FUNCTION.findall(body))
    for declared in re.sub(r'\[[^\]]*\]', '', body).split(';'):
        if FUNCTION.search(declared):
            continue
        of = re.match(r'\s*(?:const )?struct (\w+)', declared)
        for part in declared.split(','):
            name = re.search(r'(\w+)\s*(?::\s*\w+\s*)?$', part)
            if name is not None:
                found[name.group(1)] = of.group(1) if of is not None else None
    return found


def shapes(texts):
    """{struct: {field: the struct that it is or points to, or None}}, of texts without comments."""
    found = {}
    for text in texts:
        for struct, body in STRUCT.findall(text):
            found.setdefault(struct, {}).update(fields_of(body))
    return found


def touched(text, known, returns):
    """{(struct, field): is it written there?} of what a source touches, by the types of what it
    declares.  To be written is to be assigned to; what is behind a pointer handed on is not seen."""
    found = {}

    def follow(struct, part, at):
        last = None
        while True:
            while part[at:at + 1] == '[':
                at = behind(part, at)
            step = STEP.match(part, at)
            if step is None or step.group(1) not in known.get(struct, {}):
                break
            last = (struct, step.group(1))
            found.setdefault(last, False)
            struct, at = known[struct][step.group(1)], step.end()
        if last is not None and WRITTEN.match(part, at):
            found[last] = True

    for part in BODY.findall(text) + [BODY.sub('', text)]:
        types = {n: of for of, declared in TYPED.findall(part) for n in names_of(declared)}
        for word in re.finditer(r'(?<![\w.>])(\w+)', part):
            if part[word.end():word.end() + 1] == '(':
                follow(returns.get(word.group(1)), part, behind(part, word.end()))
            else:
                follow(types.get(word.group(1)), part, word.end())
        for made in re.finditer(r'struct (\w+)(?:\)| \w+ =)\s*(?=\{)', part):
            inside = part[made.end():behind(part, made.end())]
            for field in re.findall(r'[{,]\s*\.(\w+)', inside):
                if field in known.get(made.group(1), {}):
                    found.setdefault((made.group(1), field), False)
    return found


def returned(texts):
    """{function: the struct that it returns or points to}"""
    return {name: of for text in texts for of, name in RETURNS.findall(text)}
