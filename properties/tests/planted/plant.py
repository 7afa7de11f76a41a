#!/usr/bin/env python3
"""Plants the bugs of bugs.txt in a copy of the sources and counts how many of them the tests kill.

One build holds every bug: in the copy, each place becomes a choice between the old and the new text at run
time, and MMAUDIT_PLANTED=NUMBER makes one choice the new one, in C++, Python and JavaScript alike. Without it the copy
is the program as it is. Tests are ctest's, and files of emulator/python/torch_tests where --python has torch.
The tests of a bug run first, all others only if the bug survives them. Exit codes: 0 enough were killed; 1 the
mutation score is below 95%, a bug that the list calls required survived, or the copy fails without a bug; 2 the
list does not fit the sources; 3 the copy does not build.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
WANTED = 0.95
# Left out: what needs a GPU, takes minutes, builds programs of its own, starts a browser or mpirun, or is about the
# planted bugs themselves.
NOT_RUN = '^(gpu|slow|install|browser|mpi|planted)$'
KEYS = ('bug', 'file', 'in', 'why', 'tests', 'required', 'equivalent')
HEADER = '''#pragma once
// Which planted bug is switched on: see properties/tests/planted/plant.py.
#include <cstdlib>
#include <type_traits>

inline const int mmaudit_planted_number = [] {
  const char* number = std::getenv("MMAUDIT_PLANTED");
  return number == nullptr ? 0 : std::atoi(number);
}();

// Never true where the compiler tries an initializer of a const integer as a constant: plant a statement there.
constexpr bool mmaudit_planted(int number) {
  return !std::is_constant_evaluated() && mmaudit_planted_number == number;
}
'''


def fail(code, message):
    print(f'plant.py: {message}', file=sys.stderr)
    sys.exit(code)


def read_bugs(path):
    """The bugs in the order of the file; each a dict of KEYS, 'old', 'new' and 'number'."""
    bugs = []
    for block in re.split(r'\n\s*\n', path.read_text()):
        bug = {'old': [], 'new': []}
        for line in block.splitlines():
            if line.startswith('#'):
                continue
            if line[:2] in ('- ', '+ ', '-', '+'):
                bug['old' if line[0] == '-' else 'new'].append(line[2:])
                continue
            key, colon, value = line.partition(': ')
            if not colon or key not in KEYS:
                fail(2, f'{path.name}: found "{line}", allowed: one of {", ".join(KEYS)}, -, +')
            bug[key] = value
        if not bug['old']:
            if 'bug' in bug:
                fail(2, f'{bug["bug"]}: found no line of "- "')
            continue
        for key in ('bug', 'file', 'why', 'tests'):
            if key not in bug:
                fail(2, f'{bug.get("bug", block)}: {key}: found none')
        bug['old'], bug['new'] = '\n'.join(bug['old']), '\n'.join(bug['new'])
        bug['number'] = len(bugs) + 1
        bugs.append(bug)
    names = [bug['bug'] for bug in bugs]
    for name in names:
        if names.count(name) > 1:
            fail(2, f'{name}: found twice, allowed: once')
    return bugs


def pattern_of(text):
    """Finds `text` however its lines are broken."""
    tokens = re.findall(r'\w+|[^\w\s]', text)
    out = re.escape(tokens[0])
    for before, token in zip(tokens, tokens[1:]):
        words = before[-1:].isidentifier() or before[-1:].isdigit()
        words = words and (token[:1].isidentifier() or token[:1].isdigit())
        out += (r'\s+' if words else r'\s*') + re.escape(token)
    return re.compile(out)


def only_match(text, source):
    """(first, last) of the one place that has `text`; otherwise how many there are."""
    found = list(pattern_of(text).finditer(source))
    return found[0].span() if len(found) == 1 else len(found)


#: Whether a bug is on, in a language without the header.
PYTHON_ON = '__import__("os").environ.get("MMAUDIT_PLANTED") == "{}"'
SCRIPT_ON = '(globalThis.process?.env.MMAUDIT_PLANTED === "{}")'


def choice(bug, old):
    """The old text or the new one: statements where the old text ends in a semicolon, else expressions."""
    number, new = bug['number'], bug['new']
    if bug['file'].endswith('.py'):
        return f'(({new}) if {PYTHON_ON.format(number)} else ({old}))'
    if bug['file'].endswith('.js'):
        return f'({SCRIPT_ON.format(number)} ? ({new}) : ({old}))'
    if not old.endswith(';'):
        return f'(mmaudit_planted({number}) ? ({new}) : ({old}))'
    if not new:
        return f'{{ if (!mmaudit_planted({number})) {{ {old} }} }}'
    return f'{{ if (mmaudit_planted({number})) {{ {new} }} else {{ {old} }} }}'


def why_no_choice(text, file):
    """What keeps `text` from being one side of a choice(); empty: nothing. The copy would not build."""
    if re.match(r'(const|constexpr|static|auto|using)\b', text.lstrip()):
        return 'found a declaration, which a choice would hide, allowed: its expression'
    if file.endswith(('.py', '.js')) and (text.endswith(';') or not text):
        return 'found a statement, allowed: an expression in Python and JavaScript'
    if not text.endswith(';') and re.search(r'[-+*/%&|^=<>?:,]$', text):
        return 'found half of an expression, allowed: all of it'
    return ''


def place_of(bug, source):
    """(first, last) of the text of a bug, or what is wrong with it."""
    begin, end = 0, len(source)
    for text in (bug['old'], bug['new']):
        if why := why_no_choice(text, bug['file']):
            return f'{why}: {text}'
    if 'in' in bug:
        context = only_match(bug['in'], source)
        if isinstance(context, int):
            return f'in: found {context} times, allowed: once: {bug["in"]}'
        begin, end = context
    place = only_match(bug['old'], source[begin:end])
    if isinstance(place, int):
        return f'found {place} times, allowed: once: {bug["old"]}'
    first, last = begin + place[0], begin + place[1]
    if bug['old'].endswith(';') and not re.search(r'([{};:)]|\b(else|do)|//[^\n]*|\n\s*#[^\n]*)\s*$', source[:first]):
        return f'found the end of a statement, allowed: all of it, or its expression without ";": {bug["old"]}'
    return first, last


def planted_sources(bugs, root):
    """{file: its text with every bug of it}; exits where the list does not fit."""
    texts, errors = {}, []
    for file in sorted({bug['file'] for bug in bugs}):
        of_file = [bug for bug in bugs if bug['file'] == file]
        if not (root / file).is_file():
            errors += [f'{bug["bug"]}: {file}: found no such file' for bug in of_file]
            continue
        source = (root / file).read_text()
        places = [(place_of(bug, source), bug) for bug in of_file]
        errors += [f'{bug["bug"]}: {file}: {place}' for place, bug in places if isinstance(place, str)]
        places = sorted((place for place in places if not isinstance(place[0], str)), key=lambda place: place[0])
        for ((_, last), one), ((first, _), other) in zip(places, places[1:]):
            if first < last:
                errors.append(f'{other["bug"]}: {file}: overlaps {one["bug"]}')
        for (first, last), bug in reversed(places):
            source = source[:first] + choice(bug, source[first:last]) + source[last:]
        up = '../' * file.count('/')
        if file.endswith('.py'):
            try:
                compile(source, file, 'exec')
            except SyntaxError as why:
                errors.append(f'{file}: with its bugs: {why}')
        header = '' if file.endswith(('.py', '.js')) else f'#include "{up}mmaudit_planted.hpp"\n#line 1\n'
        texts[file] = header + source
    if errors:
        fail(2, '\nplant.py: '.join(errors))
    return texts


def tracked_files():
    """What git tracks, or every file of a release without git."""
    listed = subprocess.run(['git', 'ls-files', '-z'], cwd=ROOT, capture_output=True)
    if listed.returncode == 0:
        return [name for name in listed.stdout.decode().split('\0') if name and (ROOT / name).is_file()]
    return [str(path.relative_to(ROOT)) for path in ROOT.rglob('*')
            if path.is_file() and path.relative_to(ROOT).parts[0] not in ('build', '.git')]


def write_if_changed(path, content):
    """Leaves an equal file its time, so that what depends on it is not built again."""
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def torch_in(python):
    return subprocess.run([python, '-c', 'import torch'], capture_output=True).returncode == 0


def make_copy(bugs, copy):
    texts = planted_sources(bugs, ROOT)
    wanted = {'mmaudit_planted.hpp': HEADER.encode()}
    for name in tracked_files():
        wanted[name] = texts[name].encode() if name in texts else (ROOT / name).read_bytes()
    for name, content in wanted.items():
        write_if_changed(copy / name, content)
        if os.access(ROOT / name, os.X_OK):
            shutil.copymode(ROOT / name, copy / name)
    for path in copy.rglob('*'):
        name = path.relative_to(copy)
        if path.is_file() and name.parts[0] != 'build' and str(name) not in wanted:
            path.unlink()


def tests_of(folder, names):
    """What ctest knows of its tests whose names match."""
    listed = subprocess.run(['ctest', '--test-dir', folder, '--show-only=json-v1', '-R', names], capture_output=True, text=True)
    return json.loads(listed.stdout)['tests']


def targets_of(folder, names):
    """What ninja has to make for some tests: the program of a test's name, since ctest shows no command of what is not
    built yet, and what their commands and environments name of the folder."""
    known = subprocess.run(['ninja', '-C', folder, '-t', 'targets', 'all'], capture_output=True, text=True).stdout
    known = {line.partition(': ')[0] for line in known.splitlines()}
    tests = tests_of(folder, names)
    found = re.findall(re.escape(str(folder)) + r'/([^\s";:]+)', json.dumps(tests)) + ['bin/' + one['name'] for one in tests]
    return sorted(known.intersection(found) | {'lib/libmmaudit.so', 'bin/mmaudit'} & known)


def build(copy, options, jobs, names):
    """Builds the copy: all of it, or what the tests with these names run."""
    folder = copy / 'build'
    configure = ['cmake', '-S', copy, '-B', folder, '-G', 'Ninja', '-DCMAKE_BUILD_TYPE=Release',
                 '-DCMAKE_CXX_FLAGS_RELEASE=-O1', '-DMMAUDIT_CUDA=OFF', *options]
    for step in ('configure', 'build'):
        targets = targets_of(folder, names) if step == 'build' and names else []
        command = configure if step == 'configure' else ['ninja', '-C', folder, '-j', str(jobs), *targets]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            fail(3, 'the copy does not build:\n' + done.stdout[-8000:])
    return folder


def environment_of(number):
    environment = dict(os.environ)
    environment.pop('MMAUDIT_PLANTED', None)
    return dict(environment, MMAUDIT_PLANTED=str(number)) if number else environment


def run_torch_tests(folder, number, python, files):
    """The same of files of torch_tests; all of them where none is named."""
    package = folder.parent / 'emulator' / 'python'
    environment = dict(environment_of(number), PYTHONPATH=str(package), PYTHONDONTWRITEBYTECODE='1', OMP_NUM_THREADS='1',
                       MMAUDIT_LIBRARY=str(folder / 'lib' / 'libmmaudit.so'), MMAUDIT_TOOL=str(folder / 'bin' / 'mmaudit'))
    command = [python, '-m', 'pytest', '-x', '-q', '-p', 'no:cacheprovider', *(files or ['.'])]
    try:
        done = subprocess.run(command, cwd=package / 'torch_tests', env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors='replace', timeout=3600)
    except subprocess.TimeoutExpired:
        return 'torch_tests (Timeout)'
    failed = re.search(r'^(?:FAILED|ERROR) (\S+)', done.stdout, re.M)
    if done.returncode not in (0, 1) and not failed:
        fail(3, 'pytest ran no test:\n' + done.stdout[-4000:])
    return None if done.returncode == 0 else failed[1] if failed else 'torch_tests'


def run_tests(folder, number, jobs, selection):
    """None when all pass, else the first test that failed, with its case where it is one of GoogleTest.
    Several can run at once: each has a folder of its own for the files that tests write."""
    environment = dict(environment_of(number), GTEST_FAIL_FAST='1', GTEST_BRIEF='1')
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o755)  # a test goes on as another user
        environment.update(TMPDIR=scratch, TEST_TMPDIR=scratch)
        done = subprocess.run(['ctest', '--test-dir', folder, '-j', str(jobs), '-LE', NOT_RUN,
                               '--no-tests=error', '--stop-on-failure', '--output-on-failure', *selection],
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors='replace')
    if done.returncode == 0:
        return None
    test = re.search(r'^\s*\d+ - (\S+) \((.*)\)', done.stdout, re.M)
    if not test:
        fail(3, 'ctest ran no test:\n' + done.stdout[-4000:])
    case = re.search(r'^\[  FAILED  \] ([\w./]+)', done.stdout, re.M)
    how = '' if test[2].lower().startswith('failed') else f' ({test[2]})'
    return test[1] + (f' {case[1]}' if case else '') + how


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--check', action='store_true', help='only whether every bug still has its place')
    parser.add_argument('--only', metavar='REGEX', default='',
                        help='plant the bugs whose name matches alone, build and run their tests alone')
    parser.add_argument('--python', default=sys.executable, help='a Python that has torch, for torch_tests')
    parser.add_argument('--work', type=pathlib.Path, default=ROOT / 'build' / 'planted', help='folder of the copy')
    parser.add_argument('--jobs', type=int, default=os.cpu_count(), help='processes at once')
    parser.add_argument('cmake', nargs='*', help='options for cmake, after --')
    options = parser.parse_args()
    bugs = read_bugs(HERE / 'bugs.txt')
    if options.check:
        planted_sources(bugs, ROOT)
        print(f'{len(bugs)} planted bugs have their place')
        return 0
    started = time.monotonic()
    chosen = [bug for bug in bugs if re.search(options.only, bug['bug'])]
    judged = [bug for bug in chosen if 'equivalent' not in bug]
    if not torch_in(options.python):
        judged = [bug for bug in judged if not bug['file'].endswith('.py')]
    make_copy(chosen, options.work.resolve())
    compiled = [bug for bug in judged if not bug['file'].endswith('.py')]
    own = '^(' + '|'.join(sorted({bug['tests'].replace(' ', '|') for bug in compiled})) + ')$'
    folder = build(options.work.resolve(), options.cmake, options.jobs, own if options.only else '')
    print(f'built in {time.monotonic() - started:.0f} s', flush=True)
    if compiled and (failed := run_tests(folder, 0, options.jobs, ['-R', own] if options.only else [])):
        fail(1, f'without a bug the copy fails: {failed}')
    files = sorted({file for bug in judged if bug not in compiled for file in bug['tests'].split()})
    if files and (failed := run_torch_tests(folder, 0, options.python, files)):
        fail(1, f'without a bug the copy fails: {failed}')
    print(f'no bug: all tests pass ({time.monotonic() - started:.0f} s)', flush=True)
    survived = []

    def judge(bug):
        if bug not in compiled:
            killer = run_torch_tests(folder, bug['number'], options.python, bug['tests'].split())
            if killer is None and not options.only:
                killer = run_torch_tests(folder, bug['number'], options.python, [])
            return killer
        tests = f'^({bug["tests"].replace(" ", "|")})$'
        killer = run_tests(folder, bug['number'], 1, ['-R', tests])
        if killer is None and not options.only:
            killer = run_tests(folder, bug['number'], 1, ['-E', tests])
        return killer

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for bug, killer in zip(judged, pool.map(judge, judged)):
            if killer is None:
                survived.append(bug)
            print(f'{"killed" if killer else "SURVIVED":8} {bug["bug"]:34} {killer or bug["file"]}', flush=True)
    for bug in chosen:
        if bug not in judged:
            why = f'equivalent: {bug["equivalent"]}' if 'equivalent' in bug else f'not run: {options.python} has no torch'
            print(f'{"-":8} {bug["bug"]:34} {why}')
    required = [bug['bug'] for bug in survived if 'required' in bug]
    killed = len(judged) - len(survived)
    score = killed / len(judged) if judged else 0
    print(f'{len(chosen)} planted bugs: {killed} killed, {len(survived)} survived, '
          f'{len(chosen) - len(judged)} not judged; mutation score {100 * score:.1f}% '
          f'({time.monotonic() - started:.0f} s)')
    if required:
        print('required, and survived: ' + ', '.join(required))
    return 0 if score >= WANTED and not required else 1


if __name__ == '__main__':
    sys.exit(main())
