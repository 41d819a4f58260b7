"""python -m titan"""

from titan.cli import main

main()
