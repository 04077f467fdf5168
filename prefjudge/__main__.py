"""``python -m prefjudge``."""

from prefjudge.cli.app import main

main()
