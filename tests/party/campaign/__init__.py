"""The fault campaign: real `titan join` processes, killed, cut off and talked over each other.

    python -m tests.party.campaign --runs 300
    python -m tests.party.campaign --seed 17      one run again, with its files kept

A run draws everything from its seed: the parties, their links, the recovery, and what goes wrong.
It ends well if every party, started again with the same command after every kill, ends with the
answer of `titan.fit` on the same rows, bit for bit, or with a clear error and no answer.
"""
