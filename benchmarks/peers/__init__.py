"""What people would use instead of TITAN, on the same inputs, on this machine, in the same run.

One file per peer, each with a function `rows`. Two tasks: the sum of one vector per party, and the
least squares solution of all parties' rows. A peer that is not installed, or does not run here, has
a row that says so. `python -m benchmarks.peers` lists them, `python -m benchmarks.peers NAME` runs
one, `make bench` runs all.
"""
