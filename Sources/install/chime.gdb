# chime-dump: the queues and timers of a process or of its core file, as chime_queue_dump tells of them.
#     gdb -p PID -x chime.gdb -batch -ex chime-dump
#     gdb PROGRAM CORE -x chime.gdb -batch -ex chime-dump
# It calls nothing in the process: it reads Chime's tables, by the record of their layout that the library has in its memory
# (CPlatform/common/layout.c). It needs neither symbols nor, for a core file, the library's own file. gdb must have Python.

python
import gdb
import re
import struct
import time


class ChimeDump(gdb.Command):
    """Prints every queue and timer of Chime: state, next deadline, interval, ticks, missed.

    chime-dump [TIME]
    Of a running process deadlines are told from now. A core file does not say when it was made: they are told from when
    a queue was last at work, or from TIME, in nanoseconds of CLOCK_MONOTONIC."""

    MAGIC = b"chime layout 1\n\0"
    MEMBERS = (
        "control_id control_virtual_now control_traits control_clock control_core"
        " core_id core_label"
        " counters_late counters_missed counters_passes counters_merged counters_last_pass counters_buckets"
        " slots_in_chunk slot_size"
        " slot_word slot_deadline slot_period slot_side_record slot_version_and_flags slot_sequence"
        " side_missed side_sequence_high side_label"
    ).split()
    STATES = ("idle", "running", "suspended", "finished", "cancelled")
    NEVER = 2**63 - 1
    UNITS = (("days", 86400 * 10**9), ("h", 3600 * 10**9), ("min", 60 * 10**9), ("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1))

    def __init__(self):
        super().__init__("chime-dump", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        self.memory = gdb.selected_inferior()
        self.layout = self.find_layout()
        queues, chunks = struct.unpack("=QQ", self.read(self.layout + 16, 16))
        offsets = struct.unpack(f"={len(self.MEMBERS)}I", self.read(self.layout + 32, 4 * len(self.MEMBERS)))
        self.__dict__.update(zip(self.MEMBERS, offsets))
        if queues == 0:
            print("no queue was made")
            return
        controls = list(self.controls(queues))
        slots = self.slots_by_control(chunks)
        is_running, last = self.is_running(), {}
        for control, core in controls:
            clock = self.clock(control)
            last[clock] = max(last.get(clock, 0), self.signed(core + self.counters_last_pass))
        if argument:
            last[time.CLOCK_MONOTONIC] = int(argument, 0)
        elif not is_running:
            print(f"deadlines are told from {last.get(time.CLOCK_MONOTONIC, 0)} ns, when a queue was last at work")
        for control, core in controls:
            if self.is_virtual(control):
                now = self.signed(control + self.control_virtual_now)
            elif is_running and not argument:
                now = time.clock_gettime_ns(self.clock(control))
            else:
                now = last[self.clock(control)]
            self.dump(control, core, slots.get(control, []), now)

    # ---- Memory ----

    def read(self, address, length):
        return bytes(self.memory.read_memory(address, length))

    def number(self, form, address):
        return struct.unpack(form, self.read(address, struct.calcsize(form)))[0]

    def word(self, address):
        return self.number("=Q", address)

    def signed(self, address):
        return self.number("=q", address)

    def text(self, address):
        return b"" if address == 0 else self.until_zero(address)

    def until_zero(self, address):
        # A piece at a time, which goes to the end of an aligned block and so never beyond a page.
        found = bytearray()
        while b"\0" not in found[-256:]:
            at = address + len(found)
            found += self.read(at, 256 - at % 256)
        return bytes(found[: found.index(0)])

    def swift_string(self, address):
        """The bytes of a Swift string: within its 16, or behind a pointer."""
        whole = self.read(address, 16)
        count, body = struct.unpack("=QQ", whole)
        if whole[15] & 0x20:
            return whole[: whole[15] & 15]
        return self.read((body & 0x0FFF_FFFF_FFFF_FFFF) + 32, count & 0xFFFF_FFFF_FFFF)

    def find_layout(self):
        try:
            address = int(gdb.parse_and_eval("(unsigned long)&chime_layout"))
            if self.read(address, 16) == self.MAGIC:
                return address
        except gdb.error:
            pass
        # Without symbols: in the data of each file, and in what a core file holds.
        for line in gdb.execute("info files", to_string=True).splitlines():
            section = re.match(r"\s*0x([0-9a-f]+) - 0x([0-9a-f]+) is (\.data|load\S*)(?: in .*)?$", line)
            if section:
                start, end = int(section[1], 16), int(section[2], 16)
                try:
                    found = self.memory.search_memory(start, end - start, self.MAGIC)
                except (gdb.error, OverflowError, ValueError):
                    continue
                if found:
                    return found
        raise gdb.GdbError("there is no libchime in this process, or one older than this script")

    def is_running(self):
        connection = getattr(self.memory, "connection", None)
        return connection is not None and connection.type != "core"

    # ---- Chime's tables ----

    def controls(self, table):
        """Control blocks in which a queue lives, and its QueueCore."""
        index = 1
        first = True
        while index < 2**16:
            control = self.word(table + 8 * index)
            if control == 0:
                # In a forked child that has restarted the first entries stay empty.
                if not first:
                    return
            else:
                first = False
                queue = self.word(control + self.control_id)
                core = self.word(control + self.control_core)
                if queue and core and self.word(core + self.core_id) == queue:
                    yield control, core
            index += 1

    def slots_by_control(self, table):
        """Addresses of the slots, and their indices, by control block."""
        found = {}
        number = 0
        while True:
            chunk, control = struct.unpack("=QQ", self.read(table + 16 * number, 16))
            if chunk == 0:
                if found or number > 2**18 - 2:
                    return found
            else:
                found.setdefault(control, []).append((number * self.slots_in_chunk, chunk))
            number += 1

    def clock(self, control):
        return self.number("=i", control + self.control_clock)

    # ---- Texts ----

    def duration(self, nanoseconds):
        sign, magnitude = "-" if nanoseconds < 0 else "", abs(nanoseconds)
        for index, (name, length) in enumerate(self.UNITS):
            if magnitude >= length * (2 if index < 3 else 1) or length == 1:
                break
        whole, rest = divmod(magnitude, length)
        if length == 1 or whole >= 100:
            return f"{sign}{whole} {name}"
        digits = 1 if whole >= 10 else 2
        decimals = f"{rest // (length // 10**digits):0{digits}}".rstrip("0")
        return f"{sign}{whole}{'.' + decimals if decimals else ''} {name}"

    # What chime_write_foreign writes as a number.
    HIDDEN = re.compile(
        "[\0-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
        "\ufeff\uffa0\ufff9-\ufffb\ufffd-\uffff\U0001d173-\U0001d17a\U000e0000-\U000e007f"
        + "".join(chr(plane << 16 | 0xFFFE) + chr(plane << 16 | 0xFFFF) for plane in range(1, 17)) + "]")

    @staticmethod
    def halves(found):
        units = found[0].encode("utf-16-be")
        return "".join("\\u" + units[at : at + 2].hex() for at in range(0, len(units), 2))

    def named(self, label):
        text = re.sub(r'(["\\])', r"\\\1", label.decode(errors="replace"))
        return ' "%s"' % self.HIDDEN.sub(self.halves, text) if label else ""

    def is_virtual(self, control):
        return self.read(control + self.control_traits, 1)[0] & 1 != 0

    def dump(self, control, core, chunks, now):
        lines, running = [], 0
        is_virtual = self.is_virtual(control)
        for first, chunk in chunks:
            records = self.read(chunk, self.slots_in_chunk * self.slot_size)
            for index in range(self.slots_in_chunk):
                line = self.line_of(first + index, records[index * self.slot_size :][: self.slot_size], now, is_virtual)
                if line:
                    lines.append(line)
                    running += records[index * self.slot_size + self.slot_word] & 7 == 2
        late = self.read(self.word(core + self.counters_late), 8 * self.counters_buckets)
        ticks = sum(struct.unpack(f"={self.counters_buckets}Q", late))
        print(
            f"queue {self.word(control + self.control_id)}{self.named(self.swift_string(core + self.core_label))}:"
            f" {len(lines)} timers, {running} running, {self.word(core + self.counters_passes)} passes,"
            f" {self.word(core + self.counters_merged)} merged, {ticks} ticks,"
            f" {self.word(core + self.counters_missed)} missed"
        )
        for line in lines:
            print(line)

    def line_of(self, index, record, now, is_virtual):
        """As chime_queue_dump has it; None for a slot without a timer."""

        def member(form, offset):
            return struct.unpack_from(form, record, offset)[0]

        word = member("=Q", self.slot_word)
        if not 1 <= word & 7 <= 5:
            return None
        version_and_flags = member("=I", self.slot_version_and_flags)
        repeats, delays, has_side = (version_and_flags >> bit & 1 for bit in (24, 26, 31))
        sequence, missed, label = member("=I", self.slot_sequence), 0, b""
        if has_side:
            side = member("=Q", self.slot_side_record)
            missed = self.word(side + self.side_missed)
            sequence |= self.number("=I", side + self.side_sequence_high) << 32
            label = self.text(self.word(side + self.side_label))
        state = self.STATES[(word & 7) - 1]
        sequence += state == "finished"
        due = self.NEVER
        if state == "running":
            postponement = (word >> 32 & 0x7FFF_FFFF) << (10 if word >> 63 else 0)
            due = min(member("=q", self.slot_deadline) + postponement, self.NEVER)
        line = f"timer {1 << 50 | (version_and_flags & 0xFF_FFFF) << 26 | index}{self.named(label)}: {state}"
        if due != self.NEVER:
            line += f", due in {self.duration(due - now)}" if due > now else f", due {self.duration(now - due)} ago"
        period = member("=q", self.slot_period)
        if repeats:
            line += f", every {self.duration(period)}" + (" (is a unit missing?)" if 0 < period < 10_000 and not is_virtual else "")
        line += f", {sequence} ticks, {missed} missed"
        if word >> 3 & 1:
            behind = (now - due) // period if repeats and not delays and period > 0 and due <= now else 0
            line += f", {behind} missed while its handler runs" if behind else ", its handler runs"
        return line


ChimeDump()
end
