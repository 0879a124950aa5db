"""Whether the compiler makes those instructions of atomic operations that hardware.py takes it to make.

    python3 instructions.py CLANG

CLANG: the Swift toolchain's, which has the same LLVM. What it makes may order more: ldar for ldapr, one amoswap for a pair of
lr and sc, another fence behind a store.
"""

import re
import subprocess
import sys

TARGETS = {"arm": ["--target=aarch64-none-elf"], "riscv": ["--target=riscv64-none-elf", "-march=rv64gc", "-mabi=lp64d"]}
ORDERS = {"rlx": "__ATOMIC_RELAXED", "acq": "__ATOMIC_ACQUIRE", "rel": "__ATOMIC_RELEASE", "acq_rel": "__ATOMIC_ACQ_REL",
          "sc": "__ATOMIC_SEQ_CST"}
CODE = {"load": "long f(long *p) {{ return __atomic_load_n(p, {0}); }}",
        "store": "void f(long *p) {{ __atomic_store_n(p, 1, {0}); }}",
        "swap": "int f(long *p, long o) {{ return __atomic_compare_exchange_n(p, &o, 1, 0, {0}, __ATOMIC_RELAXED); }}",
        "add": "long f(long *p) {{ return __atomic_fetch_add(p, 5, {0}); }}",
        "fence": "void f(void) {{ __atomic_thread_fence({0}); }}"}
EXPECTED = {
    "arm": {
        "load": {"rlx": "ldr", "acq": "ldapr|ldar", "sc": "ldar"},
        "store": {"rlx": "str", "rel": "stlr", "sc": "stlr"},
        "swap": {"rlx": "ldxr stxr", "acq": "ldaxr stxr", "rel": "ldxr stlxr", "acq_rel": "ldaxr stlxr", "sc": "ldaxr stlxr"},
        "add": {"rlx": "ldxr stxr", "acq_rel": "ldaxr stlxr", "sc": "ldaxr stlxr"},
        "fence": {"acq": "dmb_ishld", "rel": "dmb_ish", "acq_rel": "dmb_ish", "sc": "dmb_ish"},
    },
    "riscv": {
        "load": {"rlx": "ld", "acq": "ld fence_r,rw", "sc": "fence_rw,rw ld fence_r,rw"},
        "store": {"rlx": "sd", "rel": "fence_rw,w sd", "sc": "fence_rw,w sd"},
        "swap": {"rlx": "lr.d sc.d", "acq": "lr.d.aq sc.d", "rel": "lr.d sc.d.rl", "acq_rel": "lr.d.aq sc.d.rl",
                 "sc": "lr.d.aqrl sc.d.rl"},
        "add": {"rlx": "amoadd.d", "acq_rel": "amoadd.d.aqrl", "sc": "amoadd.d.aqrl"},
        "fence": {"acq": "fence_r,rw", "rel": "fence_rw,w", "acq_rel": "fence.tso", "sc": "fence_rw,rw"},
    },
}
MEMORY = re.compile(r"^(ld\w*|st\w*|dmb_\w+|sd|lr\.d\S*|sc\.d\S*|amo\S+|fence\S*|cas\w*|swp\w*|bl_\S+|call_\S+)$")


def instructions(compiler, machine, code):
    command = [compiler, *TARGETS[machine], "-O2", "-mno-outline-atomics"][: 99 if machine == "arm" else -1]
    text = subprocess.run([*command, "-S", "-x", "c", "-", "-o", "-"], input=code, capture_output=True, text=True, check=True)
    found = []
    for line in text.stdout.split(chr(10)):
        words = re.sub(r"[#/;].*", "", line).replace(", ", ",").split()
        if not words or words[0].startswith(".") or words[0].endswith(":"):
            continue
        name = f"{words[0]}_{words[1]}" if words[0] in ("dmb", "fence", "bl", "call") else words[0]
        if MEMORY.match(name):
            found.append(name)
    return found


def main(compiler):
    failed = count = 0
    for machine, kinds in EXPECTED.items():
        for kind, orders in kinds.items():
            for order, expected in orders.items():
                found = instructions(compiler, machine, CODE[kind].format(ORDERS[order]))
                left = list(found)
                for name in expected.split():
                    at = next((i for i, each in enumerate(left) if each in name.split("|")), None)
                    left = None if at is None else left[at + 1:]
                    if left is None:
                        break
                count += 1
                # More may stand behind it: a fence.
                if left is None or any(not each.startswith("fence") for each in left):
                    failed += 1
                    print(f"NOT OK {machine} {kind} {order}: {' '.join(found)}, not {expected}")
    print(f"{count} operations compiled for Arm and RISC-V, {failed} not as hardware.py says")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
