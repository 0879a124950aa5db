"""The manual out of the headers' comments: a page for each function, structure, type and group of constants; chime(7) for what
holds for all of them; and a page for each of TOPICS. Each page stands alone: what it says "as" another function is said again.

    man.py HEADERS EXPORTS MAN VERSION      reads HEADERS/*.h, writes MAN/man3 and MAN/man7

What a page is called, and which go together, is in names.txt. An example stands on each page: one of examples/*.c, whose first
comment names the pages that it is for, and states its output. Instead of check.h a page has two lines, and so needs no other
file. .ci/written.py runs them as the pages show them. What a terminal of 80 columns would break stops the build.
"""

import pathlib
import re
import sys
import textwrap

import headers
from headers import one_line

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE / "examples"
PROGRAMS = HERE.parents[2] / "examples-c"
CHECKS = {"CHECK": "#define CHECK(call) (CHIME_FAILED(call) ? exit(1) : (void)0)\n",
          "EXPECT": "#define EXPECT(status, call) ((call) == (status) ? (void)0 : exit(1))\n"}
STATUS = r"CHIME_(?:OK|IGNORED|RUNNING|STOPPED|TIMED_OUT|ERROR_[A-Z_]+)"
# Types whose constants are in the enumeration behind them, and what the enumerations of flags are for.
FLAGS_OF = {"chime_queue_options.flags": "chime_queue_options", "chime_schedule.flags": "chime_schedule",
            "chime_timer_options.flags": "chime_timer_options", "chime_queue_run, flags": "chime_queue_run",
            "chime_run_loop_run, flags": "chime_run_loop_run"}
# What a parameter is that a comment does not describe; whether it is a pointer.
ALWAYS = {
    ("queue", False): "the queue's id", ("queue", True): "receives the queue's id", ("timer", False): "the timer's id",
    ("timer", True): "receives the timer's id", ("handler", None): "called on the queue with each tick, and with context",
    ("action", None): "called with each tick, and with user_info", ("user_info", None): "given to the action; may be NULL",
    ("context", None): "given to the function; may be NULL", ("finalizer", None): "frees the context; may be NULL",
    ("timeout_ns", None): "how long to wait at most; 0: not at all; CHIME_FOREVER: without limit", ("delay_ns", None): "from now; 0 or more",
    ("deadline_ns", False): "a point on the queue's clock", ("duration_ns", None): "0 or more",
    ("options", None): "as for chime_queue_create; NULL for the defaults", ("state", None): "receives the state",
    ("status", None): "a status", ("kind", None): "a kind of tick", ("target", None): "the target's id", ("expiring", False): "its id",
    ("expiring", True): "receives its id", ("generation", False): "that of a tick, say", ("generation", True): "receives the generation",
    ("fd", None): "receives the descriptor", ("milliseconds", None): "receives the timeout", ("now_ns", None): "receives the time",
    ("info", None): "receives it; its size must be set", ("stats", None): "receives them; its size must be set",
    ("run_loop", False): "the run loop's id", ("run_loop", True): "receives the run loop's id", ("interval_ns", False): "the time between ticks",
    ("interval_ns", True): "receives the interval", ("tolerance_ns", True): "receives the tolerance",
    ("capacity", None): "how many bytes of text there are, its 0 included",
    ("mode", None): "the mode's name", ("repeats", None): "0 or 1", ("valid", None): "receives 1 or 0", ("remaining_ns", None): "receives the time that is left",
}
DEFINES = {"CHIME_SECOND": r"CHIME_(NANOSECOND|MICROSECOND|MILLISECOND|SECOND|MINUTE|HOUR|FOREVER)$",
           "CHIME_VERSION": r"CHIME_VERSION", "CHIME_RUN_LOOP_DEFAULT_MODE": r"CHIME_RUN_LOOP_\w+_MODES?$"}


# What chime(7) names at its end.
FILES = [("html/index.html", "this manual, the guides and the examples, for a browser"),
         ("C.md", "how to link it, the kinds of queues, C++"), ("Languages.md", "Python, Go, Rust, Node and others"),
         ("Promises.md, Limits.md", "what you can rely on, and what cannot be"), ("Troubleshooting.md", "when a timer does not tick"),
         ("ComingFrom.md", "libuv, libev, GLib, timerfd and others, call for call"),
         ("GameTime.md", "for games: a clock of your own, by frames, paused, replayed"),
         ("examples/README.md", "small programs, the simplest first")]
FIRST = ["chime_queue_create", "chime_timer_after", "chime_timer_every", "chime_timer_postpone", "chime_timer_cancel",
         "chime_timer_release", "chime_queue_shutdown", "chime_status_message"]
# Pages of their own in section 7: what each is about; of which paragraphs of chime.h's overview, and which of its sections or
# functions, it is made; the pages that it goes with.
TOPICS = {
    "chime-clock-steps": ("what timers do when the clock is set", ["When the clock is set"], [],
                          ["chime_clock", "chime_queue_options", "chime_timer_restart_until", "chime_timer_postpone_until", "chime_now"]),
    "chime-fork": ("what a forked child has of Chime, and how it begins anew", ["Fork", "Descriptors"], ["chime_reinitialize"],
                   ["chime_reinitialize", "chime_queue_kind", "chime_queue_create"]),
    "chime-threads": ("Chime's own threads, and callbacks that end a thread", ["Threads of Chime's own"],
                      ["Callbacks that end their threads"], ["chime_queue_kind", "chime_queue_create", "chime_handler", "chime_timer_cancel"]),
    "chime-versions": ("which programs run with which versions", ["Stability", "Structures"], ["Version"],
                       ["chime_version", "CHIME_VERSION"]),
}
# What each thread may do that no fact says otherwise of.
SIGNALS = ("chime_queue_stop", "chime_main_stop")
FILLED, WIDTH = 71, 73  # of a page's text on a terminal of 80 columns: where man fills lines, and where it does not
INSET = 4               # of programs and tables


def literal(text):
    return re.sub(r"^(?=[.'])", r"\\&", text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
                  .replace("^", "\\(ha").replace("~", "\\(ti"), flags=re.M)


def escaped(text):
    """One line, names in bold, with the page that a section of the header is on."""
    text = literal(one_line(text).replace('"Callbacks that end their threads"', "chime-threads(7)"))
    return re.sub(r"\b(chime_\w+|CHIME_\w+)", r"\\fB\1\\fP", text)


def verbatim(text):
    rows = textwrap.dedent(text).strip("\n").split("\n")
    if too_long := [row for row in rows if len(row) > WIDTH - INSET]:
        raise SystemExit(f"man.py: longer than {WIDTH - INSET} columns: {too_long[0]}")
    return [".PP", f".RS {INSET}", ".nf", *(literal(row) or "\\&" for row in rows), ".fi", ".RE"]


def prose(text):
    """Roff lines of a comment's paragraphs, lists and tables."""
    out = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        rows = paragraph.split("\n")
        is_table = sum(bool(re.search(r"\S {3,}\S", row)) for row in rows) > 2
        if not paragraph.strip():
            continue
        if is_table or all(row.startswith("    ") for row in rows):
            out += verbatim(paragraph)
            continue
        lead, *points = re.split(r"^  - ", paragraph, flags=re.M)
        if lead.strip():
            out += [".PP", escaped(lead)]
        for point in points:
            out += [".IP \\(bu 2", escaped(point)]
    return out[1:] if out[:1] == [".PP"] else out


def page(name, section, version, parts):
    out = [f'.TH {name} {section} "" "Chime {version}" "Chime"', ".nh", ".ad l"]
    for heading, lines in parts:
        if lines:
            out += [f".SH {heading}", *lines]
    return "\n".join(out) + "\n"


def bold(names):
    """chime_timer_after(3), chime-fork(7)"""
    return ", ".join(f"\\fB{literal(name)}\\fP({3 if '_' in name else 7})" for name in names)


class Manual:
    def __init__(self, directory, exports, version):
        self.version, self.items, self.sections, self.order = version, {}, {}, []
        self.overviews, self.flags = {}, {}
        for name in ("chime.h", "chime_run_loop.h"):
            items, overview, sections = headers.read(directory / name)
            self.overviews[name] = overview
            self.sections |= sections
            self.order += [(title, name) for title in sections]
            typedef = None
            for item in items:
                if item.kind == "enum":
                    if item.comment in FLAGS_OF:
                        self.flags[FLAGS_OF[item.comment]] = item.members
                    elif typedef is not None:
                        typedef.members = item.members
                    else:
                        raise SystemExit(f"man.py: an enumeration that belongs to nothing: {item.members[0]}")
                else:
                    self.items[item.name] = item
                    typedef = item if re.fullmatch(rf"typedef u?int32_t {item.name};", item.declaration) else None
        self.statuses = {declaration.split(" ")[0]: text for declaration, text, _ in self.items["chime_status"].members}
        self.since = self.versions(exports)
        self.subjects, self.abouts = headers.names()
        named = {name for name, item in self.items.items() if item.kind != "define"} | set(DEFINES)
        if wrong := named ^ set(self.abouts):
            raise SystemExit(f"names.txt: too many or missing: {sorted(wrong)}")
        self.examples = self.read_examples()
        self.programs = self.read_programs()

    def versions(self, exports):
        text = re.sub(r"/\*.*?\*/", "", exports.read_text(), flags=re.S)
        found = {}
        for version, names in re.findall(r"CHIME_([\d.]+) \{\s*global:([^}]*?)(?:local:[^}]*)?\}", text):
            for name in re.findall(r"chime_\w+", names):
                found[name] = version
        return found

    def read_examples(self):
        found = {}
        for path in sorted(EXAMPLES.glob("*.c")):
            comment, program = re.fullmatch(r"/\*\n(.*?)\n \*/\n(.*)", path.read_text(), re.S).groups()
            pages = re.search(r"^ \* Pages: (.*?)^ \* Output:", comment + "\n", re.M | re.S)
            names = pages[1].replace("\n *", " ").split()
            if '#include "check.h"\n' in program:
                checks = [line for name, line in CHECKS.items() if re.search(rf"\b{name}\(", program)]
                header = "" if "#include <chime_run_loop.h>\n" in program else "#include <chime.h>\n"
                program = program.replace('#include "check.h"\n', f"{header}#include <stdio.h>\n#include <stdlib.h>\n")
                end = program.index("\n", program.rindex("#include ")) + 1
                program = f"{program[:end]}\n{''.join(checks)}{program[end:]}"
            output = "".join(line[5:] + "\n" for line in comment.split(" * Output:\n")[1].split("\n"))
            for name in names:
                if name in found:
                    raise SystemExit(f"man.py: {name} has two examples")
                if name in TOPICS:
                    found[name] = (names, program, output)
                    continue
                if name not in self.items:
                    raise SystemExit(f"man.py: {path.name}: there is no {name}")
                if self.items[name].kind == "function" and not re.search(rf"\b{name}\(", program):
                    raise SystemExit(f"man.py: {path.name} does not call {name}")
                found[name] = (names, program, output)
        return found

    def read_programs(self):
        """Of each function the programs of examples-c that call it, in the order in which one learns."""
        found = {}
        listed = re.findall(r"\((\w+\.c)\)", (PROGRAMS / "README.md").read_text())
        for name in dict.fromkeys(listed):
            for called in dict.fromkeys(re.findall(r"\b(chime_\w+)\(", (PROGRAMS / name).read_text())):
                found.setdefault(called, []).append(name)
        return found

    # What a page says.

    def like(self, text):
        """The function that a text refers to: `as chime_queue_dump`."""
        match = re.match(r"[Aa]s (?:in |for )?(chime_\w+)\b", text)
        return match and self.items.get(match[1]) and match[1]

    def returned(self, name, seen=()):
        """[(status, when)], with what another function's page says in its place."""
        pieces = self.items[name].pieces
        text = pieces.returns
        if not text:
            other = self.like(pieces.body) or self.like_the_one_before(name)
            return self.returned(other, (*seen, name)) if other and other not in seen else []
        found = []
        first = self.like(text)
        if first:
            found = list(self.returned(first, (*seen, name)))
            text = re.sub(r"^as (?:in |for )?chime_\w+[;,]?\s*", "", text)
        is_instead = text.startswith("but ")
        text = text.removeprefix("but ")
        for part in re.split(rf"(?:[;:.] |, or )(?={STATUS}\b)", text):
            match = re.match(rf"({STATUS}(?:, or both|, {STATUS} \| {STATUS})?)\b[:,]? ?(.*)", part, re.S)
            if not match:
                if part.strip():
                    found.append(("", part))
                continue
            status, when = match.groups()
            status = re.sub(r"CHIME_IGNORED, .*", "CHIME_IGNORED, alone or with CHIME_RUNNING", status)
            other = self.like(when)
            if other:
                when = dict(self.returned(other, (*seen, name))).get(status, "")
            known = dict(found)
            if first and status in known and not is_instead:
                earlier = known[status]
                found = [(was, (f"{earlier}; or {re.sub(r'^also (if )?', '', when)}" if earlier else when) if was == status else said)
                         for was, said in found]
            else:
                found = [row for row in found if row[0] != status] + [(status, when)]
        return found

    def always(self, status, item):
        """What a status means wherever it is returned: of structures only where the function takes one with a size."""
        text = self.statuses[status]
        taken = [self.items[word] for word in re.findall(r"\bchime_\w+(?= \*)", item.declaration) if word in self.items]
        if not any(declaration.endswith(" size") for one in taken for declaration, _, _ in one.members):
            text = text.replace("out of range, contradicts another, or is a structure whose `size` is not set",
                                "out of range, or contradicts another")
        return text

    def like_the_one_before(self, name):
        """`The same as a timeout for poll(2)`: of the function before it."""
        if not self.items[name].pieces.body.startswith("The same"):
            return None
        functions = [other for other, item in self.items.items() if item.kind == "function"]
        return functions[functions.index(name) - 1]

    def parameters(self, name, seen=()):
        item = self.items[name]
        found = []
        for names, text in item.pieces.parameters:
            other = self.like(text)
            if other and other not in seen:
                inherited = self.parameters(other, (*seen, name))
                wanted = set(names.split(", "))
                rest = re.sub(r"^as (?:in |for )?chime_\w+[;,]?\s*", "", text)
                own = [(was, said) for was, said in inherited if wanted & set(was.split(", "))]
                found += [(was, f"{said}. {rest[:1].upper()}{rest[1:]}" if rest else said) for was, said in own] or [(names, text)]
            else:
                found.append((names, text))
        other = self.like(item.pieces.returns) or self.like(item.pieces.body)
        if other and other not in seen:
            have = {word for names, _ in found for word in names.split(", ")}
            arguments = item.declaration[item.declaration.index("("):]
            for names, text in self.parameters(other, (*seen, name)):
                if not set(names.split(", ")) & have and all(re.search(rf"\b{word}\b", arguments) for word in names.split(", ")):
                    found.append((names, text))
        return found

    def arguments(self, name):
        """Each parameter of the synopsis, in its order; what no comment says of it is what it always is."""
        said = {word: (names, text) for names, text in self.parameters(name) for word in names.split(", ")}
        found = []
        arguments = self.items[name].declaration
        for argument in arguments[arguments.index("(") + 1:arguments.rindex(")")].split(", "):
            if argument == "void":
                continue
            word = re.search(r"\w+$", argument)[0]
            names, text = said.get(word, (word, ALWAYS.get((word, "*" in argument)) or ALWAYS.get((word, None))))
            if text is None:
                raise SystemExit(f"man.py: {name}: nothing says what {argument} is")
            if (names, text) not in found:
                found.append((names, text))
        return found

    def name(self, name, names=()):
        """The line that man -k searches: further names of the page where there is room."""
        text = f"{name} - {self.abouts.get(name) or TOPICS[name][0]}"
        if len(text) > FILLED:
            raise SystemExit(f"names.txt: longer than {FILLED} columns: {text}")
        room = ", ".join([name, *names]) + text[len(name):]
        return [literal(room if len(room) <= FILLED else text).replace(" \\- ", " \\- ", 1)]

    def about(self, name):
        return self.abouts[name][0].upper() + self.abouts[name][1:] + "."

    def example(self, name):
        if name not in self.examples:
            raise SystemExit(f"man.py: {name} has no example in examples/")
        _, program, output = self.examples[name]
        whole = []
        if name in self.programs:
            some = self.programs[name][:4]
            whole = [".PP", escaped("Whole programs that call it, below examples of the documents (see FILES in chime(7)): "
                                    + ", ".join(some[:3]) + (" and others." if len(some) > 3 else "."))]
        return [*verbatim(program)[1:], ".PP", "It prints:", *verbatim(output), *whole]

    def see_also(self, name):
        """The page's family and what goes with it; the types of the synopsis."""
        item = self.items[name]
        family, also = next((family, also) for _, families in self.subjects for family, also in families if name in family)
        functions = [word for word in family if word not in self.items or self.items[word].kind == "function"]
        at = functions.index(name) if name in functions else 0
        near = sorted((word for word in functions if word != name), key=lambda word: abs(functions.index(word) - at))[:8]
        types = [word for word in re.findall(r"\bchime_\w+", item.declaration + " ".join(declaration for declaration, _, _ in item.members))
                 if word in self.items and word not in ("chime_status", "chime_queue_t", "chime_timer_t", "chime_expiring_t", "chime_target_t")]
        words = [*sorted(near, key=functions.index), *also, *types]
        if item.kind != "function":
            words += [word for word in family if word not in functions]
        words = [word for word in dict.fromkeys(words) if word != name]
        last = ["chime_status"] if item.kind == "function" and "chime_status" in item.declaration else []
        return [f"{bold([*(word for word in words if word not in last), *last, 'chime'])}"]

    def attributes(self, item):
        """Threads, signals, cancellation, and the two facts with which the comment ends."""
        match = re.fullmatch(r"(.*?\. )?Calls back: (.*?)\. Waits: (.*?)\.", item.pieces.facts)
        if match is None:
            raise SystemExit(f"man.py: {item.name}: how its comment ends: {item.pieces.facts}")
        lead, calls, waits = (match[1] or "").strip(), match[2], match[3]
        threads = "MT-Safe: any thread, and inside a handler, too"
        if re.match(r"Any thread, before others", lead):
            threads = f"MT-Unsafe init: {lead[0].lower()}{lead[1:-1]}"
        elif re.match(r"Any thread", lead):
            threads = f"MT-Safe: {lead[0].lower()}{lead[1:-1]}"
        elif re.match(r"The ", lead):
            threads = f"{lead[:-1]} alone"
        rows = [("Thread safety", threads), ("Signal safety", "AS-Safe" if item.name in SIGNALS else "AS-Unsafe: not in a signal handler"),
                ("Cancellation", "no cancellation point"), ("Calls back", calls), ("Waits", waits)]
        if lead.startswith("Takes time"):
            rows.append(("Time", re.sub(r"^Takes time ", "", lead)[:-1]))
        return [".PD 0", *(line for what, said in rows for line in (".TP 16", what, escaped(said))), ".PD"]

    def users(self, name):
        """Where a type is used: `Taken by`, `A member of`."""
        taken = [other for other, item in self.items.items() if item.kind == "function" and re.search(rf"\b{name}\b", item.declaration)]
        within = [other for other, item in self.items.items() if item.kind == "struct" and other != name
                  and any(re.search(rf"\b{name}\b", declaration) for declaration, _, _ in item.members)]
        out = []
        for what, found in (("In the declarations of", taken), ("A member of", within)):
            if found and name != "chime_status":
                more = " and others" if len(found) > 6 else ""
                out += [".PP", f"{what} {bold(found[:6])}{more}."]
        return out

    def synopsis(self, item, declarations):
        out = [".nf", f".B #include <{item.header}>"]
        for declaration in declarations:
            if "\n" in declaration or declaration.startswith("#define"):
                rows = declaration.split("\n")
            elif len(declaration) <= WIDTH or "(" not in declaration:
                rows = [declaration]
            else:  # between parameters
                rows = [declaration[:declaration.index("(") + 1]]
                for part in re.findall(r"[^,]+(?:, ?|\);$)", declaration[len(rows[0]):]):
                    if len(rows[-1] + part.rstrip()) > WIDTH:
                        rows.append("    ")
                    rows[-1] += part
            rows = [row.rstrip() for row in rows]
            if too_long := [row for row in rows if len(row) > WIDTH]:
                raise SystemExit(f"man.py: longer than {WIDTH} columns: {too_long[0]}")
            out += [".PP", *(f"\\fB{literal(row)}\\fP" for row in rows)]
        return [*out, ".fi"]

    def constants(self, members):
        out = []
        for declaration, text, _ in members:
            out += [".TP", f"\\fB{literal(declaration)}\\fP", escaped(text) or "\\&"]
        return out

    def availability(self, name):
        if name not in self.since:
            raise SystemExit(f"man.py: {name} is not in exports.map")
        return [f"Since version {self.since[name]}."]

    def function(self, name):
        item = self.items[name]
        pieces = item.pieces
        body = prose(pieces.body)
        other = self.like(pieces.body)
        if other:
            body += [".PP", f"That is, as \\fB{other}\\fP(3): " + escaped(self.items[other].pieces.body.split("\n\n")[0])]
            body += [line for paragraph in self.items[other].pieces.body.split("\n\n")[1:] for line in [".PP", *prose(paragraph)]]
        if len(re.sub(r"\\f.|\\", "", " ".join(body))) < len(self.abouts[name]) + 20:
            raise SystemExit(f"man.py: {name}: its description says no more than its name")
        parameters = []
        for names, text in self.arguments(name):
            parameters += [".TP", f"\\fI{names}\\fP", escaped(text)]
        if name in self.flags:
            parameters += [".PP", "Flags:", *self.constants(self.flags[name])]
        results = []
        for status, when in self.returned(name):
            if status:
                results += [".TP", escaped(status), escaped(when or self.always(status, item))]
            else:
                results += [".PP", escaped(when)]
        return page(name, 3, self.version, [
            ("NAME", self.name(name)), ("SYNOPSIS", self.synopsis(item, [item.declaration])),
            ("DESCRIPTION", body), ("PARAMETERS", parameters), ("RETURN VALUE", results), ("ATTRIBUTES", self.attributes(item)),
            ("AVAILABILITY", self.availability(name)), ("EXAMPLES", self.example(name)),
            ("SEE ALSO", self.see_also(name))])

    def structure(self, name):
        item = self.items[name]
        macro = name.upper() + "_INIT"
        out = []
        for declaration, text, since in item.members:
            if since:
                text = f"{text}. Since version {since}" if text else f"Since version {since}"
            out += [".TP", f"\\fB{literal(declaration)}\\fP", escaped(text) or "\\&"]
        shown = f"typedef struct {name} {{\n" + "\n".join(f"  {declaration};" for declaration, _, _ in item.members) + f"\n}} {name};"
        body = (prose(item.pieces.body) if item.pieces else [escaped(self.about(name))]) + self.users(name)
        if macro in self.items:
            body += [".PP", escaped(f"Initialise one with {macro}: it sets size, and every other member to its default, which is zero.")]
        return page(name, 3, self.version, [
            ("NAME", self.name(name, [macro] if macro in self.items else [])),
            ("SYNOPSIS", self.synopsis(item, [shown, *([f"#define {macro} ..."] if macro in self.items else [])])),
            ("DESCRIPTION", body), ("MEMBERS", out), ("FLAGS", self.constants(self.flags.get(name, []))),
            ("EXAMPLES", self.example(name)), ("SEE ALSO", self.see_also(name))])

    def type(self, name):
        item = self.items[name]
        body = (prose(item.pieces.body) if item.pieces else [escaped(self.about(name))]) + self.users(name)
        if name == "chime_state":
            body += [".PP", "What each call makes of each state:", ".PP", *prose(self.sections["Timers"])]
        if name == "chime_status":
            body += [".PP", escaped("CHIME_FAILED(status) is 1 for those below 0.")]
        return page(name, 3, self.version, [
            ("NAME", self.name(name)), ("SYNOPSIS", self.synopsis(item, [item.declaration])),
            ("DESCRIPTION", body), ("CONSTANTS", self.constants(item.members)), ("EXAMPLES", self.example(name)),
            ("SEE ALSO", self.see_also(name))])

    def defines(self, name):
        chosen = [item for item in self.items.values() if item.kind == "define" and re.match(DEFINES[name], item.name)]
        section = self.sections[chosen[0].section]
        out = []
        for item in chosen:
            if item.pieces:
                out += [".TP", f"\\fB{item.name}\\fP", escaped(item.pieces.body)]
        return page(name, 3, self.version, [
            ("NAME", self.name(name, [item.name for item in chosen if item.name != name])),
            ("SYNOPSIS", self.synopsis(chosen[0], ["\n".join(
                item.declaration if len(item.declaration) <= WIDTH and "\n" not in item.declaration
                else re.match(r"#define \w+(\(\))?", item.declaration)[0] + " ..." for item in chosen)])),
            ("DESCRIPTION", prose(section) or [escaped(self.about(name))]), ("MACROS", out),
            ("EXAMPLES", self.example(name)), ("SEE ALSO", self.see_also(name))])

    def paragraphs(self):
        """chime.h's overview by its headings, in order."""
        found = {}
        text = self.overviews["chime.h"].split("\n\n", 1)[1]
        headings = ["Purpose", "Threads of Chime's own", "Threads", "Time", "When the clock is set", "Ownership",
                    "The end of the process", "Structures", "Descriptors", "Fork", "Stability"]
        for paragraph in text.split("\n\n"):
            if match := re.match(rf"({'|'.join(headings)})\b\.?", paragraph):
                heading = match[1]
                paragraph = paragraph[len(match[0]):].lstrip() if match[0].endswith(".") else paragraph
            found.setdefault(heading, []).append(paragraph)
        return {heading: "\n\n".join(said) for heading, said in found.items()}

    def topic(self, name):
        _, headings, told, pages = TOPICS[name]
        overview = self.paragraphs()
        body = "\n\n".join([*(overview[heading] for heading in headings), *(self.sections.get(part) or self.items[part].pieces.body for part in told)])
        return page(name, 7, self.version, [
            ("NAME", self.name(name)), ("DESCRIPTION", prose(body)), ("EXAMPLES", self.example(name)),
            ("SEE ALSO", [bold([*pages, *(other for other in TOPICS if other != name), "chime"])])])

    def overview(self, program, output):
        overview, elsewhere = self.paragraphs(), [heading for _, headings, _, _ in TOPICS.values() for heading in headings]
        first = [line for name in FIRST for line in (".TP 26", bold([name]), escaped(self.abouts[name]))]
        parts = [
            ("NAME", ["chime \\- an embeddable timer runtime"]), ("DESCRIPTION", prose(overview.pop("Purpose"))),
            ("FIRST FUNCTIONS", [".PD 0", *first, ".PD"]),
            ("EXAMPLES", [*verbatim(program)[1:], ".PP", "It prints:", *verbatim(output)]),
            ("SYNOPSIS", [".nf", ".B #include <chime.h>", ".B cc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs chime) \\-o program", ".fi"])]
        parts += [(heading.upper(), prose(said)) for heading, said in overview.items() if heading not in elsewhere]
        lists = []
        for title, families in self.subjects:
            lists += [".TP", escaped(title), bold([name for family, _ in families for name in family])]
        parts.append(("FUNCTIONS AND TYPES", lists))
        told = [section for _, _, sections, _ in TOPICS.values() for section in sections] + ["The first functions", "Time"]
        parts += [(title.upper(), prose(self.sections[title])) for title, _ in self.order if self.sections[title] and title not in told]
        rows = [f".TP\n\\fI{literal(path)}\\fP\n{escaped(what)}" for path, what in FILES]
        parts.append(("ENVIRONMENT", [".TP", "\\fBCHIME_TRACE\\fP", escaped(
            "a file that receives a trace of the process, as of chime_trace_to_file; %p in it is the process's id. libchime reads"
            " no other variable, and none in a program with more rights than its user.")]))
        parts.append(("FILES", [escaped("Below /usr/share/doc/libchime-dev, or share/doc/chime of an unpacked release:"), *rows]))
        parts.append(("SEE ALSO", [f"{bold([*TOPICS, *FIRST])}, \\fBpkg\\-config\\fP(1)"]))
        return page("chime", 7, self.version, parts)


def main():
    directory, exports, man, version = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), sys.argv[4]
    manual = Manual(directory, exports, version)
    for section in (3, 7):
        (man / f"man{section}").mkdir(parents=True, exist_ok=True)
    aliases = {}
    for name, item in manual.items.items():
        if item.kind == "define":
            if name not in DEFINES:
                home = next((page for page, pattern in DEFINES.items() if re.match(pattern, name)), None)
                aliases[name] = home or ("chime_status" if name == "CHIME_FAILED" else name.removesuffix("_INIT").lower())
                continue
            text = manual.defines(name)
        else:
            text = {"function": manual.function, "struct": manual.structure, "typedef": manual.type}[item.kind](name)
            for declaration, _, _ in item.members if item.kind == "typedef" else []:
                aliases[declaration.split(" ")[0]] = name
        for declaration, _, _ in manual.flags.get(name, []):
            aliases[declaration.split(" ")[0]] = name
        (man / "man3" / f"{name}.3").write_text(text)
    for alias, name in aliases.items():
        if not (man / "man3" / f"{name}.3").exists():
            raise SystemExit(f"man.py: {alias} has no page to be on: {name}")
        (man / "man3" / f"{alias}.3").write_text(f".so man3/{name}.3\n")
    front = (directory.parent / "README.md").read_text()
    program, output = re.search(r"^```c\n(.*?)^```\n\n```text\n(.*?)^```$", front, re.M | re.S).groups()
    (man / "man7" / "chime.7").write_text(manual.overview(program, output))
    for name in TOPICS:
        (man / "man7" / f"{name}.7").write_text(manual.topic(name))
    print(f"{len(manual.items) - sum(item.kind == 'define' for item in manual.items.values()) + len(DEFINES)} pages, {len(aliases)} names that lead to them")


main()
