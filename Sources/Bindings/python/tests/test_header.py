"""Each function of chime.h and chime_run_loop.h is in the binding, or in left_out.txt with a reason; never in both."""

import os
import pathlib
import re
import unittest

import chime_timers as chime

BINDING = pathlib.Path(__file__).parent.parent
HEADERS = [pathlib.Path(os.environ.get("CHIME_HEADER", BINDING.parents[2] / "include/chime.h"))]
HEADERS.append(HEADERS[0].parent / "chime_run_loop.h")


class Header(unittest.TestCase):
    def test_every_function_is_here_or_left_out_for_a_reason(self):
        declared = set()
        for header in HEADERS:
            text = re.sub(r"/\*.*?\*/|^#.*?$", "", header.read_text(), flags=re.DOTALL | re.MULTILINE)
            declared |= set(re.findall(r"^\w[\w *]*?\b(chime_\w+)\s*\(", text, flags=re.MULTILINE))
        self.assertIn("chime_timer_restart_until", declared)
        left_out = {}
        for line in (BINDING / "left_out.txt").read_text().splitlines():
            function, _, reason = line.partition("  ")
            self.assertTrue(reason.strip(), line)
            left_out[function] = reason
        bound = {name for name in declared if hasattr(chime.c, name[len("chime_"):])}
        self.assertEqual(declared - bound - set(left_out), set(), "neither in the binding nor in left_out.txt")
        self.assertEqual(bound & set(left_out), set(), "in the binding, and in left_out.txt")
        self.assertEqual(set(left_out) - declared, set(), "in left_out.txt, and in no header")


if __name__ == "__main__":
    unittest.main()
