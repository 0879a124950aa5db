"""The corpus as one file of text: an input a line, in hexadecimal.

    corpus.py unpack FILE DIRECTORY     writes each input into a file of its own
    corpus.py pack DIRECTORY FILE       the other way round, sorted: small ones first
"""

import hashlib
import pathlib
import sys


def unpack(source, directory):
    for line in pathlib.Path(source).read_text().split():
        data = bytes.fromhex(line)
        (pathlib.Path(directory) / hashlib.sha1(data).hexdigest()).write_bytes(data)


def pack(directory, target):
    inputs = {path.read_bytes() for path in pathlib.Path(directory).iterdir()} - {b""}
    lines = [data.hex() for data in sorted(inputs, key=lambda data: (len(data), data))]
    pathlib.Path(target).write_text("".join(line + "\n" for line in lines))
    print(f"{target}: {len(lines)} inputs, {sum(map(len, inputs))} bytes")


if __name__ == "__main__":
    {"unpack": unpack, "pack": pack}[sys.argv[1]](*sys.argv[2:])
