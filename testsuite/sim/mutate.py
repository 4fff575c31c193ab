#!/usr/bin/env python3
"""Write a source file of the engine with one deliberate mistake, or with smaller limits.

usage: mutate.py TABLE NAME FOLDER

TABLE lists them: a line `mutant NAME FILE TEST CASE [VARIANT]`, or `variant NAME FILE` for one
that tests are to pass with and mutants may need (VARIANT may also be `weak`: with --weak), lines that start with `#` and say why, then the lines to replace, each after `- `, and those in their place,
each after `+ `. Indentation does not count. FOLDER/FILE must hold the old lines exactly once: a
mutant whose place in the source has gone fails the build rather than testing nothing.
"""
import sys


def read_table(path):
    mutants = {}
    current = None
    for number, line in enumerate(open(path, encoding='utf-8'), 1):
        line = line.rstrip('\n')
        words = line.split()
        if words and words[0] in ('mutant', 'variant'):
            if len(words) not in ((5, 6) if words[0] == 'mutant' else (3,)) or words[1] in mutants:
                sys.exit(f'{path}:{number}: not `mutant NAME FILE TEST CASE [VARIANT]`, or a name twice')
            current = {'file': words[2], 'old': [], 'new': []}
            mutants[words[1]] = current
        elif line.startswith('- ') and current is not None:
            current['old'].append(line[2:].strip())
        elif line.startswith('+ ') and current is not None:
            current['new'].append(line[2:].strip())
        elif line and not line.startswith('#'):
            sys.exit(f'{path}:{number}: what is this line?')
    return mutants


def apply(mutant, name, path):
    lines = open(path, encoding='utf-8').read().split('\n')
    bare = [line.strip() for line in lines]
    old = mutant['old']
    found = [i for i in range(len(bare) - len(old) + 1) if bare[i:i + len(old)] == old]
    if not old or len(found) != 1:
        sys.exit(f'{path}: the lines of mutant {name} are there {len(found)} times, not once: '
                 'change the mutant with the code')
    at = found[0]
    return '\n'.join(lines[:at] + mutant['new'] + lines[at + len(old):])


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__.strip())
    table, name, folder = sys.argv[1:]
    mutants = read_table(table)
    if name not in mutants:
        sys.exit(f'{table}: no mutant {name}')
    mutant = mutants[name]
    sys.stdout.write(apply(mutant, name, f'{folder}/{mutant["file"]}'))


main()
