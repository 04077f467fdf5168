"""Where the shell enters, by ``prefjudge`` and by ``python -m prefjudge``."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C ends in a line even while the libraries are loading."""
    try:
        from prefjudge.cli.app import main as run
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
