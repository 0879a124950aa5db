"""Whether the functions of the core do their atomic operations in the sequence, and with the memory orders, that
orders.txt has recorded; whether those are the ones that the tables of Sources/Protocols.md name; and whether the litmus
tests (Tests/Threads/Spin/litmus_rows.py) have looked at them.

    orders.py                          looks
    orders.py --print >.ci/orders.txt  records them anew: read the difference

orders.txt has a line for each function that a row names, and for each other one with an operation that is not relaxed; the
rows of such a one, in parentheses, are those of its callers. "lock {", "defer {" and "}" are where such blocks are; "name()"
calls another function that has a line, unless it is simple: then its operations stand there. The check reads text, not Swift:
what a name belongs to it knows by RECEIVERS. Branches stand one behind another.
"""

import collections
import functools
import glob
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
TABLE = ".ci/orders.txt"
HEADER = "# Rows, function, atomic operations: written by .ci/orders.py --print, which says how to read it."
ROWS = "Sources/Protocols.md"
SPIN = "Tests/Threads/Spin"
ORDERS = {"relaxed": "rlx", "acquiring": "acq", "releasing": "rel", "acquiringAndReleasing": "acq-rel", "sequentiallyConsistent": "sc",
          "acquire": "acq", "release": "rel", "acq_rel": "acq-rel", "seq_cst": "sc"}
SHORT = {"compareExchange": "CAS", "weakCompareExchange": "CAS", "compare_exchange": "CAS", "wrappingAdd": "add", "wrappingSubtract": "subtract",
         "bitwiseOr": "or", "bitwiseAnd": "and", "fetch_add": "add", "add_fetch": "add", "fetch_sub": "subtract", "sub_fetch": "subtract",
         "flag_test_and_set": "exchange", "flag_clear": "store", "thread_fence": "fence"}
# The types of what the core calls so.
RECEIVERS = {"control": "QueueControlBlock", "slot": "TimerSlot", "earliest": "TimerSlot", "writing": "Writing", "position": "WheelPosition",
             "passLock": "PassLock", "closing": "Closing", "functions": "Functions", "handOver": "HandOver", "core": "QueueCore",
             "target": "TimerTarget", "sideRecord": "SideRecordView", "timer": "TimerRef", "wheel": "Wheel", "batch": "Batch",
             "stopRequest": "StopRequest", "suspensions": "Suspensions", "forget": "TimerSlot", "owner": "QueueControlBlock"}
IN_SWIFT = re.compile(r"\.(load|store|exchange|compareExchange|weakCompareExchange|max|min|add|subtract|wrappingAdd|wrappingSubtract|"
                      r"bitwiseOr|bitwiseAnd)\s*\(|\batomicMemory(Fence)\s*\(")
IN_C = re.compile(r"\b(?:__)?atomic_(load|store|exchange|compare_exchange|fetch_\w+?|\w+_fetch|flag_test_and_set|flag_clear|thread_fence)"
                  r"(?:_n|_weak|_strong)?(_explicit)?\s*\(")

WORD = re.compile(r"\b\w+\b")
DECLARATION = re.compile(r"\b(let|var|case|func)\s+\(?[\w, ]*$")
LABEL, CALL = re.compile(r"\s*:(?!:)"), re.compile(r"\s*[({]")
CHANGE, ASSIGNMENT = re.compile(r"\s*(?:\+|-|&\+|&-|\||&)="), re.compile(r"\s*=(?!=)")


def blank(text):
    """Without comments, strings and what only checked builds do, with everything else at its place."""
    return re.sub(r'//[^\n]*|/\*.*?\*/|"""(?:.*?)"""|"(?:\\.|[^"\\\n])*"|#if DEBUG \|\| CHIME_CHECKS.*?#endif', lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)


def closing(text, at):
    """Where the bracket is that closes the one at `at`."""
    depth = 0
    for m in re.compile(r"[()\[\]{}]").finditer(text, at):
        depth += 1 if m[0] in "([{" else -1
        if depth == 0:
            return m.start()
    return len(text)


def owner(text):
    """The name of what a member is a member of whose point follows: `control` of `control?.pointee`, `position` of
    `Slab.position(of: slot)`."""
    while True:
        text = text.rstrip("?! \n")
        if text.endswith((")", "]")):
            depth = 0
            for m in re.finditer(r"[()\[\]{}]", text[::-1]):
                depth += 1 if m[0] in ")]}" else -1
                if depth == 0:
                    text = text[:len(text) - m.end()]
                    break
            else:
                return ""
        elif text.endswith(".pointee"):
            text = text[:-len(".pointee")]
        else:
            return re.search(r"\w*$", text)[0]


class Body:
    """A function or an accessor, and the atomic operations that stand in it: (where, what)."""
    names = None

    def __init__(self, path, text, type, name, kind, start, end, parameters=""):
        is_swift = path.endswith(".swift")
        self.file = os.path.basename(path)[:-6] if is_swift else path.split("/", 2)[2]
        self.place = f"{path}:{text.count(chr(10), 0, start) + 1}"
        self.type, self.name, self.kind, self.text = type if is_swift else self.file, name, kind, text[start:end]
        self.key = f"{self.file}:{name}"
        self.parameters = set(re.findall(r"(\w+)\s*:", parameters))
        self.direct = list(self.in_swift() if is_swift else self.in_c())

    def in_swift(self):
        for m in IN_SWIFT.finditer(self.text):
            end = closing(self.text, m.end() - 1)
            orders = re.findall(r"rdering:\s*\.(\w+)", self.text[m.end():end])
            if orders:  # the last is its own, those before it of what is in its arguments
                of = " " + owner(self.text[:m.start()]).replace("storage", "position") if m[1] else ""
                yield end, f"{SHORT.get(m[1], m[1] or 'fence')}{of} {ORDERS[orders[-1]]}"

    def in_c(self):
        for m in IN_C.finditer(self.text):
            end = closing(self.text, m.end() - 1)
            given, depth = [""], 0
            for each in self.text[m.end():end]:
                depth += (each in "([{") - (each in ")]}")
                given[-1] += each
                if each == "," and depth == 0:
                    given.append("")
            orders = [o[1] for o in (re.match(r"\s*(?:__ATOMIC_|memory_order_)(\w+)", each) for each in given) if o]
            operation = SHORT.get(m[1], m[1])
            of = "" if operation == "fence" else " " + owner(given[0].strip(", "))
            yield end, f"{operation}{of} {ORDERS[orders[0].lower()] if orders else 'sc'}"

    def find_uses(self):
        """The words that may be names of functions and accessors: (name, of what, the kinds that it may be, where)."""
        text = self.text
        local, declared = set(self.parameters), {}
        for m in re.finditer(r"\{\s*(?:\[[^\]]*\]\s*)?\(?((?:_|\w+)(?:,\s*\w+)*)\)?\s*(?:throws\(\w+\)\s*)?(?:->\s*\w+\s*)?in\b", text):
            local.update(re.findall(r"\w+", m[1]))
        for m in re.finditer(r"\b(?:let|var)\s+(\(?[\w, ]+\)?)", text):
            for each in re.findall(r"\w+", m[1]):
                declared.setdefault(each, m.end())
        for m in WORD.finditer(text):
            name, at = m[0], m.start()
            if name not in Body.names:
                continue
            is_member = text[at - 1] == "."
            if not is_member and name in local:
                continue
            line = text[text.rfind("\n", 0, at) + 1:at]
            if DECLARATION.search(line) or LABEL.match(text, m.end()) and text[:at].rstrip()[-1] in "(,":
                continue
            if not is_member and declared.get(name, len(text)) <= at and not re.search(rf"\b(let|var)\s+{name}\s*(:\s*\w+)?=\s*(unsafe\s+)?$", line):
                continue
            of = owner(text[:at - 1]) if is_member else ""
            opening = CALL.match(text, m.end())
            if opening:
                yield name, of, ("func",), closing(text, opening.end() - 1) if opening[0][-1] == "(" else at
            if not opening or opening[0][-1] == "{":
                yield name, of, ("get", "set") if CHANGE.match(text, m.end()) else ("set",) if ASSIGNMENT.match(text, m.end()) else ("get",), at

    def calls_in_c(self):
        for m in re.finditer(r"\b(\w+)\(", self.text):
            yield m[1], "", ("func",), closing(self.text, m.end() - 1)

    @functools.cached_property
    def uses(self):
        return list(self.find_uses() if self.place.split(":")[0].endswith(".swift") else self.calls_in_c())

    @functools.cached_property
    def blocks(self):
        found = [(m.start(), m.end() - 1, m[1]) for m in re.finditer(r"\b(defer|withLock(?:If\w+)?)\s*\{", self.text)]
        return [step for start, end, what in found
                for step in ((start, "defer {" if what == "defer" else "lock {"), (closing(self.text, end), "}"))]

    def end_of_line(self, at):
        return self.text.find("\n", at) % (len(self.text) + 1)


def bodies(path, text):
    text = blank(text)
    if not path.endswith(".swift"):
        for m in re.finditer(r"^[a-z_][^\n;={}#]*?\b(\w+)\([^;{}]*\)\s*\{", text, re.M):
            yield Body(path, text, "", m[1], "func", m.end() - 1, closing(text, m.end() - 1))
        return
    types = [(m.end() - 1, closing(text, m.end() - 1), m[1].split(".")[-1])
             for m in re.finditer(r"\b(?:struct|class|enum|extension|protocol)\s+(\w+(?:\.\w+)*)[^{}\n(]*\{", text)]
    until = 0
    for m in re.finditer(r"\b(func|init|var)\b\s*(\w*)", text):
        if m.start() < until:
            continue  # within another
        type = max((t for t in types if t[0] < m.start() < t[1]), default=(0, 0, ""))[2]
        if m[1] == "var":
            opened = re.compile(r"\s*:[^={}\n]*\{").match(text, m.end())
            if not opened:
                continue
            start, until = opened.end() - 1, closing(text, opened.end() - 1)
            if re.match(r"\{\s*(?:@\w+(?:\(\w+\))?\s*)*(?:nonmutating\s+)?(?:get|set|didSet)\b", text[start:until]):
                for each in re.finditer(r"(?<![\w.])(get|set)\s*(?:\(\w+\)\s*)?\{", text[start:until]):
                    at = start + each.end() - 1
                    yield Body(path, text, type, m[2], each[1], at, closing(text, at))
            else:
                yield Body(path, text, type, m[2], "get", start, until)
            continue
        opened = re.compile(r"[?!]?\s*(?:<[^>]*>)?\s*\(").match(text, m.end())
        if opened:
            last = closing(text, opened.end() - 1)
            brace = re.compile(r"(?:[^{}\n]|\n(?=\s*(?:where|->|throws|\)|\{)))*\{").match(text, last + 1)
            if brace:
                until = closing(text, brace.end() - 1)
                yield Body(path, text, type, m[2] or m[1], "func", brace.end() - 1, until, text[opened.end():last])


class Code:
    """The core as it is, but for the files of `changed`."""
    parsed = {}

    def __init__(self, changed={}):
        self.rows = collections.defaultdict(list)  # of each file:function
        for line in open(os.path.join(ROOT, ROWS)):
            row = re.match(r"- \*\*(P\d+[a-z]?) ", line)
            for token in re.findall(r"`((?:[A-Z][A-Za-z]*(?:\+[A-Za-z]+)?|[a-z_/]+\.[ch]):\w+)`", line) if row else ():
                self.rows[token].append(row[1])
        self.all = collections.defaultdict(list)
        for pattern in ("ChimeCore/*/*.swift", "C[PS]*/**/*.[ch]"):
            for path in sorted(glob.glob(f"Sources/{pattern}", root_dir=ROOT, recursive=True)):
                text = changed.get(path) or open(os.path.join(ROOT, path)).read()
                if (path, text) not in Code.parsed:
                    Code.parsed[path, text] = list(bodies(path, text))
                for body in Code.parsed[path, text]:
                    self.all[body.key].append(body)
        Body.names = Body.names or {name.split(":")[1] for name in self.all}
        self.known, self.cache, self.callers = collections.defaultdict(list), {}, collections.defaultdict(set)
        small = []
        for body in sum(self.all.values(), []):
            if body.direct or body.key in self.rows:
                self.known[body.type, body.name].append(body)
            elif body.kind == "func" and body.type != "Slab":
                small.append(body)
        # Functions that only wrap one or two operations; some wrap others of those.
        for _ in range(2):
            self.names, self.cache = {name for _, name in self.known}, {}
            more = [b for b in small if self.is_simple(b)]
            small = [b for b in small if b not in more]
            for body in more:
                self.known[body.type, body.name].append(body)
        self.names, self.cache = {name for _, name in self.known}, {}
        # Functions that do something sequentially consistent by these, outside the rows.
        for body in small:
            if not body.name.startswith("check") and any(each.endswith(" sc") for each in self.sequence(body)):
                self.known[body.type, body.name].append(body)
        self.names, self.cache = {name for _, name in self.known}, {}
        self.callers.clear()
        self.table = {}
        listed = {body.key for bodies in self.known.values() for body in bodies}
        for key, found in sorted(self.all.items()):
            said = " | ".join(filter(None, map(self.said, found)))
            if key in listed and (key in self.rows and said not in ("", "lock") or re.search(r" (sc|acq|rel|acq-rel)\b", said)):
                self.table[key] = said

    def is_simple(self, body):
        found = self.sequence(body)
        return 0 < len(found) < 3 and not any(each.endswith(("{", "}", "()")) for each in found)

    def said(self, body):
        found = "; ".join(self.sequence(body)).replace("{; ", "{ ").replace("; }", " }")
        found = re.sub(r"(?:; )?defer \{ \}", "", found).replace("lock { }", "lock")
        return found and ("" if body.kind != "set" else "set: ") + found

    def sequence(self, body):
        if body not in self.cache:
            self.cache[body] = []  # for one that calls itself
            self.cache[body] = [each for _, each in sorted(self.steps(body), key=lambda step: step[0])]
        return self.cache[body]

    def steps(self, body):
        yield from body.direct
        yield from body.blocks
        for name, of, kinds, at in body.uses:
            if name not in self.names:
                continue
            type = body.type if of in ("", "self") else of if of[:1].isupper() else RECEIVERS.get(of)
            known = [each for each in self.known.get((type, name), ()) if each is not body and each.kind in kinds]
            for each in known:
                self.callers[each.key].add(body.key)
            if kinds != ("func",) or len(known) == 1 and self.is_simple(known[0]):
                # A store comes after what is on the right of it.
                yield from ((body.end_of_line(at) if each.kind == "set" else at, step) for each in known for step in self.sequence(each))
            elif known:
                yield at, f"{name}()"

    def rows_of(self, key):
        if key in self.rows:
            return " ".join(self.rows[key])
        found = {row for caller in self.callers[key] for row in self.rows.get(caller, ())}
        return f"({' '.join(sorted(found, key=row_order))})" if found else "-"

    def lines(self):
        ordered = sorted(self.table, key=lambda key: (row_order(self.rows_of(key).strip("()")), key))
        return [HEADER] + [f"{self.rows_of(key)}  {key}  {self.table[key]}" for key in ordered]


def row_order(rows):
    m = re.match(r"P(\d+)(\w*)", rows)
    return (int(m[1]), m[2]) if m else (99, "")


def wrong(code):
    """What is wrong, a sentence each."""
    recorded = dict(line.rstrip("\n").split("  ", 2)[1:] for line in open(os.path.join(ROOT, TABLE)) if line[0] != "#")
    for key in sorted(recorded.keys() | code.table.keys(), key=lambda key: (row_order(code.rows_of(key).strip("()")), key)):
        expected, found = recorded.get(key, "nothing"), code.table.get(key, "nothing")
        if expected != found:
            place = code.all[key][0].place if code.all[key] else "gone"
            yield f"{code.rows_of(key)} {key} ({place}):\n  expected {expected}\n  found    {found}"
    yield from against_litmus(code)
    yield from against_rows(code)


def operations(code, keys):
    """What these functions do, one behind another; what they have deferred, at the end."""
    done = "; ".join(code.table.get(key, "") for key in keys)
    done = re.sub(r"defer \{ (.*?) \}", "", done) + "; " + "; ".join(re.findall(r"defer \{ (.*?) \}", done))
    return [each for each in re.split(r"set: |; | \| |lock \{ | \}", done) if each.strip()]


def against_litmus(code):
    """The orders of the litmus tests are those of the code."""
    sys.path.insert(0, os.path.join(ROOT, SPIN))
    sys.dont_write_bytecode = True
    import litmus
    import litmus_rows
    update = "CAS|exchange|add|subtract|or|and|max"
    kinds = {"R": f"load|{update}", "W": "store", "U": update, "F": "fence"}  # R: perhaps an update that changes nothing
    seen = set()
    for name, (threads, initial, _), note, *_ in litmus_rows.ROWS:
        if not name:
            continue
        seen.add(name)
        if name not in litmus_rows.CODE or len(litmus_rows.CODE[name]) != len(threads):
            yield f"{name}: CODE in litmus_rows.py does not say what its {len(threads)} threads are in the code"
            continue
        values = litmus.possible_values(threads, initial)
        for i, (body, keys) in enumerate(zip(threads, litmus_rows.CODE[name])):
            for key in keys.split():
                if key not in code.table:
                    yield f"{name}, thread {i + 1}: {key} has no line"
            found = operations(code, keys.split())
            for events, _ in litmus.traces(i, body, values) if keys else ():
                at = 0
                for event in events:
                    if event.location in litmus_rows.NOT_IN_CODE:
                        continue
                    place = re.sub(r"_([a-z])", lambda m: m[1].upper(), event.location or "")
                    place = litmus_rows.NAMES.get(event.location, place)
                    wanted = re.compile(rf"(?:{kinds[event.kind]}) ?{place} {event.order.replace('_', '-')}$")
                    at = next((j + 1 for j in range(at, len(found)) if wanted.match(found[j])), None)
                    if at is None:
                        break
                if at is None:
                    said = "; ".join(f"{e.kind} {e.location or 'fence'} {e.order}" for e in events)
                    yield f"{name}, thread {i + 1}: the litmus test has\n  {said}\n  and {keys}\n  {'; '.join(found)}"
                    break
    for name in litmus_rows.CODE.keys() - seen:
        yield f"{name}: no such row in litmus_rows.py"


def against_rows(code):
    """What a cell of a row's table does with an atomic variable, the functions of the row do, in that order."""
    places = collections.defaultdict(set)
    for said in code.table.values():
        for each in re.findall(r"\b\w+ (\w+) (?:rlx|acq|rel|acq-rel|sc)\b", said):
            places[each].add(each)
    verbs = [(r"exchanges", "exchange|store"), (r"\bCAS\b", "CAS|or|and|exchange|store"), (r"^(loads|reads|waits for)\b", "load"), (r"[-+] ?(1|bytes)\b", "add|subtract")]
    row, functions = None, []
    for line in open(os.path.join(ROOT, ROWS)):
        m = re.match(r"- \*\*(P\d+[a-z]?) ", line)
        if m:
            row, functions = m[1], [key for key, rows in code.rows.items() if m[1] in rows]
        elif line.startswith("#"):
            row = None
        if not row or not line.lstrip().startswith("|"):
            continue
        done = set(operations(code, functions + [key for key, callers in code.callers.items() if not callers.isdisjoint(functions)]))
        for cell in line.strip().strip("|").split("|"):
            for place in re.findall(r"`(\w+)`", cell):
                order = (re.search(r"\((?:CAS )?(rlx|acq|rel)\b", cell) or [0, "sc"])[1]
                kind = next((kinds for verb, kinds in verbs if re.search(verb, cell.strip())), "store" if f"`{place}` =" in cell else
                            {"rel": "(?!load)", "acq": "(?!store)"}.get(order, "") + r"\w+")
                if place in places and not any(re.match(rf"(?:{kind}) {place} {order}$", each) for each in done):
                    yield f"{row}: \"{cell.strip()}\" is nowhere in its functions as {kind} {place} {order}"


def main():
    if "--print" in sys.argv:
        print(*Code().lines(), sep="\n")
        return 0
    code = Code()
    found = list(wrong(code))
    if len(code.table) < 200:
        sys.exit(f"only {len(code.table)} functions with atomic operations found: are they spelled in another way?")
    print(*found, f"{len(code.table)} functions, {len(found)} wrong", sep="\n")
    return len(found) > 0


if __name__ == "__main__":
    sys.exit(main())
