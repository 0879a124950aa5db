"""What is chosen on Windows, where no Python is at hand: the package is imported as it would be there, with the library of
this machine."""

import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

import chime_timers

PROGRAM = """
    import asyncio, ctypes, enum, os, select, signal, sys, threading, types

    there, waits, load = sys.argv[1], [], ctypes.CDLL
    def loaded(path):
        assert path == there, path
        return load(os.environ["LIBRARY_HERE"])
    def wait(handle, milliseconds):
        assert isinstance(handle, ctypes.c_void_p) and handle.value == queue.fd
        waits.append(milliseconds)
    ctypes.CDLL, sys.platform = loaded, "win32"
    ctypes.windll = types.SimpleNamespace(kernel32=types.SimpleNamespace(WaitForSingleObject=wait))
    del select.poll

    import chime_timers as chime
    assert ctypes.sizeof(chime.c.WAITABLE) == ctypes.sizeof(ctypes.c_void_p)
    queue, seen = chime.Queue(chime.QueueKind.HOST), []
    timer = queue.after(0.2, seen.append)  # some slices
    queue.run()
    assert len(seen) == 1 and waits, (seen, waits)
    queue.shutdown()
    print("whole")
"""


class Windows(unittest.TestCase):
    def test_the_dll_beside_the_package_is_loaded_and_its_handle_is_waited_for(self):
        package = os.path.dirname(chime_timers.__file__)
        here = chime_timers.c.library._name
        for is_beside in (False, True):
            with self.subTest(is_beside=is_beside), tempfile.TemporaryDirectory() as directory:
                copy = os.path.join(directory, "chime_timers")
                os.mkdir(copy)
                for name in os.listdir(package):
                    if name.endswith(".py"):
                        os.symlink(os.path.join(package, name), os.path.join(copy, name))
                there = "chime-0.dll"
                if is_beside:
                    there = os.path.join(os.path.realpath(copy), "chime-0.dll")
                    open(there, "w").close()
                environment = {**os.environ, "LIBRARY_HERE": here, "PYTHONPATH": directory}
                environment.pop("CHIME_LIBRARY", None)
                run = subprocess.run([sys.executable, "-c", textwrap.dedent(PROGRAM), there], env=environment, text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
                self.assertEqual((run.returncode, run.stdout), (0, "whole\n"))


if __name__ == "__main__":
    unittest.main()
