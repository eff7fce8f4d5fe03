"""`python -m gpuready` is the program of this package."""
import os
import sys

from . import NoAnswer, program

try:
    path = program()
    os.execv(path, [str(path), *sys.argv[1:]])
except (NoAnswer, OSError) as error:
    print(f"gpuready: {error}", file=sys.stderr)
    sys.exit(2)
