"""Imports a file again and again in processes that are killed on the way; used by its test.

Each line of standard input is: the file, the target, and after how many seconds to kill the
import, or "never". The answer is a line with the seconds that it ran.
"""

import os
import signal
import sys
import time

from oodlinker.data.read import read_links
from oodlinker.data.store import save_graph


def main() -> None:
    for line in sys.stdin:
        source, target, delay = line.rstrip("\n").split("\t")
        start = time.perf_counter()
        child = os.fork()  # a fork spares the twenty imports of torch
        if child == 0:
            save_graph(read_links(source, tell=lambda text: None), target, force=True)
            os._exit(0)
        if delay != "never":
            time.sleep(float(delay))
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        sys.stdout.write(f"{time.perf_counter() - start}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
