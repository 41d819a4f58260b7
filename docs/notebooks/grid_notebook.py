"""State estimation of a power grid whose areas do not show each other their meters."""

# %% [markdown]
# # Notebook: a power grid, area by area
#
# This is the paper's own field. A grid is run by several operators, and each has meters in its own
# area, for flows on lines and injections at buses. The state of the whole grid is the voltage angle
# at every bus. It is the least squares solution of all meters together. An operator's readings show
# its customers' loads and its generators' bids, so nobody likes to share them.
#
# The cases are the IEEE test cases of 14 and 30 buses (archive of the University of Washington);
# meters, noise and the division into areas were made for TITAN, in the DC approximation. For origin
# and terms see `titan_lab.datasets.sources()`.

# %%
import csv

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

import titan
from titan_lab import datasets

matplotlib.use("svg")


def areas(case):
    """What every area holds: its rows of H and z, divided by each meter's deviation."""
    states = datasets.facts(case)["state_order"]
    with datasets.power(case, "meters").open() as file:
        meters = list(csv.DictReader(file))
    H = np.zeros((len(meters), len(states)))
    with datasets.power(case, "H").open() as file:
        for entry in csv.DictReader(file):
            H[int(entry["row"]), states.index(entry["bus"])] = float(entry["value"])
    sigma = np.array([float(meter["sigma"]) for meter in meters])
    z = np.array([float(meter["z"]) for meter in meters])
    owner = np.array([f"area {meter['owner_area_derived']}" for meter in meters])
    return states, {
        area: (
            H[owner == area] / sigma[owner == area, None],
            z[owner == area] / sigma[owner == area],
        )
        for area in sorted(set(owner.tolist()))
    }


# %% [markdown]
# ## 14 buses, three operators

# %%
states, held = areas("ieee14")
for area, (A, b) in held.items():
    alone = np.linalg.matrix_rank(A)
    print(f"{area}: {len(b)} meters, sees {alone} of the {len(states)} angles alone")

# %% [markdown]
# No area sees the whole grid alone; together they do. A row of H belongs to one meter, so it stands
# out by its nature, and the rules for people's rows would refuse it. Here the rows are about lines
# and buses, not people, so `allow_small=True` allows them.

# %%
found = titan.solve(held, "cycle", names=states, tau=1, allow_small=True)
exact = {
    bus: float(angle) for bus, angle in datasets.facts("ieee14")["wls_exact"]["theta_rad"].items()
}
print("proven bound of every angle:", max(found.error_bound))
print("difference from the reference:", max(abs(found.params[bus] - exact[bus]) for bus in states))
print("rounds:", found.cost.rounds)

# %% [markdown]
# The bound is for the rows as they were given, which are floats. The reference divides by σ
# exactly, and was rounded to a float afterwards. Both are about the last bit of an angle.
#
# ## What everybody learns
#
# The pooled AᵀA is public among the operators anyway: it follows from the grid's lines, the
# meters' places and their precision. Only the pooled Aᵀb is new: 13 numbers from 54 readings. Each
# operator's own Aᵀb stays hidden from the others.
#
# ## 30 buses, four operators

# %%
states30, held30 = areas("ieee30")
found30 = titan.solve(held30, "cycle", names=states30, tau=1, allow_small=True)
truth30 = {}
with datasets.power("ieee30", "buses").open() as file:
    for bus in csv.DictReader(file):
        truth30[bus["bus"]] = float(bus["theta_dc_rad"])

degrees = 180 / np.pi
figure, axes = plt.subplots(figsize=(7, 3))
axes.plot(
    [truth30[bus] * degrees for bus in states30],
    "o",
    fillstyle="none",
    color="#5b6b7f",
    label="the grid",
)
axes.plot(
    [found30.params[bus] * degrees for bus in states30],
    ".",
    color="#8a3b12",
    label="found in private",
)
axes.set_xticks(range(len(states30)), states30, fontsize=7)
axes.set_xlabel("bus")
axes.set_ylabel("voltage angle, degrees")
axes.legend()
figure

# %%
exact30 = {
    bus: float(angle) for bus, angle in datasets.facts("ieee30")["wls_exact"]["theta_rad"].items()
}
worst = max(abs(found30.params[bus] - exact30[bus]) for bus in states30)
print(f"{len(states30)} angles, at most {worst:.1e} rad from the exact least squares solution")

# %% [markdown]
# ## A meter that is wrong
#
# Residuals reveal bad meters. Each operator can compute those of its own meters, because it now
# knows the angles and has its own readings. Nobody else sees them.

# %%
A, b = held["area 1"]
spoiled = dict(held) | {"area 1": (A, np.where(np.arange(len(b)) == 3, b + 20, b))}
again = titan.solve(spoiled, "cycle", names=states, tau=1, allow_small=True)
residuals = spoiled["area 1"][1] - A @ [again.params[bus] for bus in states]
print(
    "area 1 looks at its own residuals; the largest is that of its meter",
    int(np.abs(residuals).argmax()),
)

# %% [markdown]
# [The comparison](../comparison.md) measures TITAN beside other methods of this field on the 14
# buses (average consensus, EXTRA, DIGing, projection consensus, …).
