#!/usr/bin/env python3
"""The table of idle_sessions.c by plain arithmetic: no timers, one pass over the log and one sort.

    idle_sessions_check.py [-t seconds] [file]       prints what idle_sessions prints, on both streams
    idle_sessions_check.py --make-log LINES SEED     writes a made-up log, hostile here and there, to standard output
"""
import datetime
import random
import re
import sys

LINE = re.compile(
    rb'([^ ]+) [^ ]+ [^ ]+ '
    rb'\[(\d\d)/([A-Za-z]{3})/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)\] '
    rb'"(?:[^"\\]|\\.)*" \d{3} (?:\d+|-)(?: .*)?', re.DOTALL)
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
EPOCH = datetime.datetime(1970, 1, 1)


def parse(line):
    """Returns (client, seconds since 1970 in UTC), or None for a malformed line."""
    match = LINE.fullmatch(line)
    if match is None or b"\0" in line:
        return None
    client, month, sign = match.group(1), match.group(3).decode(), match.group(8)
    day, year, hour, minute, second, zone_hours, zone_minutes = (
        int(match.group(group)) for group in (2, 4, 5, 6, 7, 9, 10))
    if month not in MONTHS or not 1970 <= year <= 2199:
        return None
    if hour > 23 or minute > 59 or second > 60 or zone_hours > 23 or zone_minutes > 59:
        return None
    try:
        midnight = datetime.datetime(year, MONTHS.index(month) + 1, day)
    except ValueError:
        return None
    zone = (zone_hours * 60 + zone_minutes) * 60 * (1 if sign == b"+" else -1)
    seconds = (midnight - EPOCH).days * 86400 + hour * 3600 + minute * 60 + second - zone
    return (client, seconds) if seconds >= 0 else None


def utc(seconds):
    return (EPOCH + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ").encode()


class Session:
    def __init__(self, client, time, now, timeout, index):
        self.client, self.first, self.last, self.requests = client, time, time, 1
        # One that opens after its own end is reported at the time of opening, after what ended at that time.
        self.late_key = (now, 1, index) if time + timeout <= now else None
        self.index = index

    def key(self, timeout):
        return self.late_key or (self.last + timeout, 0, self.index)


def table(log, timeout, out, err):
    sessions, open_sessions, now = [], {}, 0
    for number, line in enumerate(log, 1):
        line = line[:-1] if line.endswith(b"\n") else line
        line = line[:-1] if line.endswith(b"\r") else line
        parsed = parse(line)
        if parsed is None:
            err.write(b"line %d: malformed, skipped\n" % number)
            continue
        client, time = parsed
        now = max(now, time)
        session = open_sessions.get(client)
        if session is None or session.last + timeout <= now:
            session = open_sessions[client] = Session(client, time, now, timeout, len(sessions))
            sessions.append(session)
        else:
            session.first, session.last = min(session.first, time), max(session.last, time)
            session.requests += 1
    for session in sorted(sessions, key=lambda session: session.key(timeout)):
        out.write(b"%-24s %s  %s  %5d  %s\n" % (session.client, utc(session.first), utc(session.last),
                                               session.requests, utc(session.last + timeout)))


def make_log(lines, seed, out):
    chance = random.Random(seed)
    time = 1767225600 - 4 * 3600  # four hours before the end of 2025: the log crosses a year
    clients = ["192.0.2.%d" % n for n in range(256)] + ["198.51.100.%d" % n for n in range(256)]
    clients += ["203.0.113.%d" % n for n in range(256)] + ["2001:db8::%x" % n for n in range(2000)]
    clients += ["host-%d.example.com" % n for n in range(100)]
    zones = [0, 0, 0, 60, 120, -300, 330, -570, 765]
    for number in range(lines):
        time += chance.choice((0, 0, 1, 1, 1, 2, 3))
        if chance.random() < 0.0005:
            time += chance.randint(600, 7200)
        stamp, draw = time, chance.random()
        if draw < 0.10:
            stamp -= chance.randint(1, 120)
        elif draw < 0.13:
            stamp -= chance.randint(1500, 2100)
        elif draw < 0.14:
            stamp -= chance.randint(3600, 9000)
        zone = chance.choice(zones)
        local = EPOCH + datetime.timedelta(seconds=stamp + zone * 60)
        stamp_text = "%02d/%s/%04d:%02d:%02d:%02d %s%02d%02d" % (
            local.day, MONTHS[local.month - 1], local.year, local.hour, local.minute, local.second,
            "-" if zone < 0 else "+", abs(zone) // 60, abs(zone) % 60)
        client = clients[int(len(clients) * chance.random() ** 2)]
        request = chance.choice(["GET / HTTP/1.1", "GET /a?q=1 HTTP/2.0", "POST /form HTTP/1.1", "-",
                                 r"GET /\"quoted\" HTTP/1.1", r"\x16\x03\x01", "GET /caf\xe9 HTTP/1.1"])
        if chance.random() < 0.001:
            request = "GET /" + "x" * chance.randint(5000, 100000) + " HTTP/1.1"
        line = '%s - %s [%s] "%s" %d %s' % (client, chance.choice("--u"), stamp_text, request,
                                           chance.choice((200, 200, 304, 404, 500)), chance.choice(("-", "0", "5120")))
        if chance.random() < 0.3:
            line += ' "http://example.com/" "Mozilla/5.0 (\\"made up\\")"'
        line = line.encode("latin-1")
        if chance.random() < 0.02:  # break it; whatever comes of it, both programs must agree
            place = chance.randrange(len(line))
            line = chance.choice((line[:place], line[:place] + bytes([chance.randrange(256)]) + line[place + 1:],
                                  line[:place] + line[place + 1:], b"", b"garbage", line + b"\r", b" " + line))
        out.write(line + b"\n")


def main(arguments):
    out, err = sys.stdout.buffer, sys.stderr.buffer
    if arguments[:1] == ["--make-log"]:
        return make_log(int(arguments[1]), int(arguments[2]), out)
    timeout = 1800
    if arguments[:1] == ["-t"]:
        timeout, arguments = int(arguments[1]), arguments[2:]
    if arguments:
        with open(arguments[0], "rb") as log:
            return table(log, timeout, out, err)
    return table(sys.stdin.buffer, timeout, out, err)


main(sys.argv[1:])
