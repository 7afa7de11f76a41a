"""`python -m mmaudit`: what the package knows, for a look without a program. The tool itself is `mmaudit`."""
import argparse
import json
import os
import sys
from typing import List, Optional

import mmaudit


def main(arguments: Optional[List[str]] = None) -> int:
    """Prints what was asked for as JSON, architectures as text. Returns: 0, or 2 after one line on standard error."""
    parser = argparse.ArgumentParser(prog="python -m mmaudit", description="Which bits does a tensor-core instruction produce?")
    parser.add_argument("--version", action="version", version=f"mmaudit {mmaudit.__version__}")
    commands = parser.add_subparsers(dest="command")
    listing = commands.add_parser("list", help="datapaths of the model as JSON")
    listing.add_argument("--arch")
    one = commands.add_parser("explain", help="one dot product step by step as JSON")
    one.add_argument("--arch", default="hopper")
    one.add_argument("--inst", required=True)
    for name in ("--a", "--b"):
        one.add_argument(name, required=True, type=lambda text: [float(x) for x in text.split(",")])
    one.add_argument("--c", type=float)
    given = parser.parse_args(arguments)
    try:
        if given.command == "list":
            print(json.dumps(mmaudit.list(given.arch), indent=2))
        elif given.command == "explain":
            print(json.dumps(mmaudit.explain(given.inst, given.a, given.b, given.c, given.arch), indent=2))
        else:
            print("mmaudit", mmaudit.__version__, "- architectures:", ", ".join(mmaudit.architectures()))
            parser.print_usage()
    except ValueError as error:
        print(f"mmaudit: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 0
    sys.exit(status)
