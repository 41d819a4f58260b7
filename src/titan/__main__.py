"""Where the program begins: the command titan, and python -m titan."""

import sys

from titan.held_signals import hold


def main() -> None:
    """Run a command. Most of the program is loaded here, which takes up to a second."""
    if sys.argv[1:2] == ["join"]:
        hold()  # it says itself what it means to be stopped now
    from titan.cli import main as run

    run()


if __name__ == "__main__":
    main()
