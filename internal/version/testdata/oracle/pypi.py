"""Adds to each pair on standard input the sign of its comparison by packaging; leaves out what it does not read."""
import sys
from packaging.version import InvalidVersion, Version

for line in sys.stdin:
    a, b = line.rstrip("\n").split("\t")
    try:
        left, right = Version(a), Version(b)
    except InvalidVersion:
        continue
    print(a, b, (left > right) - (left < right), sep="\t")
