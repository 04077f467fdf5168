"""Run a command and print what it took: seconds, processor seconds, MB at the peak of its largest process.

A process of its own: on Linux a child's peak starts at its parent's, and this parent is small.
"""

import os
import sys
import time

start = time.perf_counter()
silent = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=[silent])
_, status, usage = os.wait4(child, 0)
wall = time.perf_counter() - start
peak = usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
print(wall, usage.ru_utime + usage.ru_stime, peak)
sys.exit(os.waitstatus_to_exitcode(status))
