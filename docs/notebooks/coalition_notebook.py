"""What some parties see when they put together everything they received."""

# %% [markdown]
# # Notebook: what a coalition sees
#
# "Nobody learns more than the sum" is a claim about messages. Here you can look at them: with
# `record=True` every message of a run is kept in this process, and `view` gives exactly the part
# that some parties saw. (For a rehearsal among real processes, kept with `--keep-journal`,
# `titan.view(folder, parties)` gives the same.)

# %%
import numpy as np

import titan

secrets = {"north": 12, "east": 30, "south": 7, "west": 51, "centre": 100}
net = titan.Network.cycle(list(secrets))
run = titan.average(secrets, net, bits=32, recovery="flood", tau=1, record=True)
run.total

# %% [markdown]
# ## One curious party
#
# East received this, and nothing else:

# %%
view = run.view(["east"])
for message in view.received_by("east"):
    print(message, [f"{number:08x}" for number in message.numbers.reshape(-1)[:2]])

# %% [markdown]
# First a mask, and then masked vectors: numbers modulo 2³². (The second number of each is a 1 that
# every party adds, masked like everything else; in the total it must come out as the number of
# parties.) If you run it again, all of them change, but the total does not. Here are 800 runs, each
# with the first number of north's masked vector, as east saw it:


# %%
def seen_of_north(values):
    run = titan.average(values, net, bits=32, recovery="flood", tau=1, record=True)
    for message in run.view(["east"]):
        if message.kind.name == "MASKED" and message.receiver == "east":
            origins = list(message.origins)
            if "north" in origins:
                return int(message.numbers[origins.index("north"), 0])
    raise LookupError("east never saw north's vector")


other = dict(secrets, north=90, centre=22)  # another north, the same total
sixteenths = [
    np.bincount([seen_of_north(values) >> 28 for _ in range(800)], minlength=16)
    for values in (secrets, other)
]
print("north has 12:", sixteenths[0])
print("north has 90:", sixteenths[1])

# %% [markdown]
# Counted by their first four bits, both are flat: about 50 each. What east sees of north does not
# depend on whether north has 12 or 90. This is a demonstration, not a proof. For small rings,
# [every mask of every graph is enumerated](../privacy.md#how-we-know), and the two distributions
# are equal.
#
# ## The wrong two
#
# On a cycle, τ can be at most 1. North's neighbours are east and centre. Together, these two can
# find out what north has:

# %%
net.honest_components(["east", "centre"])

# %%
from titan.privacy.view import sum_of_inputs

pair = run.view(["east", "centre"])
plan = pair.sums[0].plan
for group in net.honest_components(pair.coalition):
    total = plan.ring.to_ints(sum_of_inputs(plan, group, pair.messages))
    scale = pair.sums[0].unit
    print(group, "→", float(total[0] * scale))

# %% [markdown]
# East and centre subtract the masks that they share with north from what north sent, and are left
# with north's 12. About south and west they learn the sum, 58, and no more: these two still hide
# each other. This is the exact rule for any coalition: **without it, the honest parties are split
# into pieces, and it learns the sum over each piece.**
#
# TITAN refuses to begin if the study asks for more than the network can give:

# %%
try:
    titan.average(secrets, net, tau=2)
except titan.TitanError as error:
    print(error.message)
    print(error.hint)

# %% [markdown]
# ## A network for τ = 2

# %%
better = titan.Network.design(5, tau=2)
names = dict(zip(better.parties, secrets.values(), strict=True))
run = titan.average(names, better, tau=2, record=True)
[(pair, better.honest_components(pair)) for pair in (better.parties[:2], better.parties[1:3])]

# %% [markdown]
# Whichever two you choose, the other three stay in one piece. The two learn the sum of the three,
# which they could work out from the answer anyway. `titan privacy links.csv --tau 2` checks this
# for your own network, and names who could learn what if it does not hold. `--plot` draws it.
