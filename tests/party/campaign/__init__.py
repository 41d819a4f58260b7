"""The fault campaign: real `titan join` processes, and everything that can happen to them.

    python -m tests.party.campaign --runs 1000
    python -m tests.party.campaign --seed 17 23      these runs again, with their files kept

A run draws everything from its seed: the parties (2 to 20), their links, the questions, the
recovery, and what goes wrong: kills, signals, power cuts, full disks, links that are cut or swallow
packets, delay and loss, strangers, insiders, lies, clocks, other versions, few descriptors,
journals that are lost or put back.

It ends well if every party, started again with the same command whenever that is said to help,
ends with the answer that the same rows have in one process, bit for bit; or, where a rule of
release refuses these rows in one process, with that refusal, of which only whose rows they are is
told the reason. Where a relay lied, or a journal was lost or put back, a clear error will do, for
all but its owner alike, and nobody may wait for ever; and a lie must be found out. When it is over
no secret may be left in any file, nor on the bare disk. A fault that had no effect is not counted,
and many runs fail if some kind of fault hardly ever had one.

Power cuts and full disks need root and loop devices (an ext4 image each), hosts far apart need root
and /dev/net/tun. Without them a power cut is a kill, a full disk a commit that fails, and links
are cut by proxies; the report says so.
"""
