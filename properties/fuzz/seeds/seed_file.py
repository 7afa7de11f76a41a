"""Where seeds go: the first argument, else the folders beside this file."""
import sys
from pathlib import Path

root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent


def seed(fuzzer, name, content):
    folder = root / fuzzer
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
