"""`python -m mmaudit`: the program `mmaudit` of this environment, also where PATH does not name its folder."""
import os
import sys

from . import _tool

if __name__ == "__main__":
    try:
        _program = _tool.program()
    except RuntimeError as error:
        sys.exit(print(error, file=sys.stderr) or 3)
    os.execvp(_program, ["mmaudit", *sys.argv[1:]])
