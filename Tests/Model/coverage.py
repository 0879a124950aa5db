"""Sums up what libFuzzer's -print_coverage says, on standard input: for each file of the core the edges that the corpus
reaches, and the functions that it never enters."""

import collections
import re
import sys

LINE = re.compile(r"(UN)?COVERED_FUNC: hits: \d+ edges: (\d+)/(\d+) (\S+) \S*/Sources/(\S+\.swift):(\d+)")

reached, edges, missing = collections.Counter(), collections.Counter(), collections.defaultdict(set)
for line in sys.stdin:
    if not (match := LINE.match(line)):
        continue
    uncovered, hit, all_edges, _, path, number = match.groups()
    edges[path] += int(all_edges)
    if uncovered:
        missing[path].add(int(number))
    else:
        reached[path] += int(hit)

for path in sorted(edges):
    never = " ".join(str(number) for number in sorted(missing[path]) if number > 0)
    print(f"{reached[path]:5} of {edges[path]:5} edges  {path}" + (f"  never entered, lines: {never}" if never else ""))
print(f"{sum(reached.values()):5} of {sum(edges.values()):5} edges of the core")
