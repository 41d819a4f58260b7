"""Four hospitals, one regression. Run it with Python, or open it in Jupyter, VS Code or Spyder."""

# %% [markdown]
# # Notebook: four hospitals
#
# Cleveland, Budapest, Zurich and Basel, and Long Beach examined patients with chest pain. What goes
# with a patient's highest heart rate? Each hospital has one to three hundred patients, and may not
# show their data. The rows are real: Heart Disease, UCI Machine Learning Repository, by Andras
# Janosi MD (Budapest), William Steinbrunn MD (Zurich), Matthias Pfisterer MD (Basel) and Robert
# Detrano MD PhD (Long Beach and Cleveland), under CC BY 4.0.

# %%
import matplotlib
import matplotlib.pyplot as plt

import titan
from titan_lab import datasets

matplotlib.use("svg")

hospitals = datasets.by_party("heart_disease")
net = titan.Network.cycle(list(hospitals))
net.parties, net.weak_connectivity, net.tolerates(1)

# %% [markdown]
# The network is a cycle: each hospital sends to the next. Its weak connectivity is 2, so any one
# curious hospital learns the pooled sums and no more (τ = 1).
#
# ## Table 1
#
# First, who are the patients? `sex` is 1 for men, `exang` is 1 for angina when exercising.

# %%
table = titan.describe(hospitals, net, columns=["age", "sex", "thalach", "exang"], tau=1)
print(table.summary())

# %% [markdown]
# ## One regression on all 854 patients

# %%
fit = titan.fit(hospitals, net, formula="thalach ~ age + sex + exang", tau=1)
print(fit.summary())

# %% [markdown]
# Is this the regression of all rows in one file? Here nothing is secret, so we can check:

# %%
together = titan.fit(datasets.path("heart_disease"), formula="thalach ~ age + sex + exang")
fit.params == together.params, max(fit.error_bound.values())

# %% [markdown]
# They are equal to the last bit, and each float is proven to be that close to the exact
# coefficient.
#
# ## What one hospital would have found alone
#
# The effect of age in each hospital alone, with its 95 % interval, and in all of them together:

# %%
alone = {
    name: titan.fit(rows, formula="thalach ~ age + sex + exang") for name, rows in hospitals.items()
}
effects = {**alone, "all four, in private": fit}

figure, axes = plt.subplots(figsize=(7, 2.6))
for place, found in enumerate(reversed(effects.values())):
    low, high = found.conf_int()["age"]
    colour = "#2f7d4f" if found is fit else "#5b6b7f"
    axes.plot([low, high], [place, place], color=colour, linewidth=2)
    axes.plot(found.params["age"], place, "o", color=colour)
axes.set_yticks(range(len(effects)), reversed(effects))
axes.set_xlabel("beats per minute for each year of age")
axes.axvline(0, color="#999999", linewidth=0.8)
figure

# %% [markdown]
# ## What follows without another message
#
# The sums that were opened answer more than we asked: smaller models, tests of hypotheses,
# penalties. Nobody has to be asked again, and nobody learns anything new.

# %%
smaller = fit.submodel("thalach ~ age + exang")
print("without sex, R² falls from", round(fit.rsquared, 4), "to", round(smaller.rsquared, 4))
print("sex and angina together:", fit.f_test("sex = 0, exang = 0"))

# %% [markdown]
# ## Logistic regression, with a proof
#
# Who has angina when exercising? Newton's method makes one private sum in each step. A proof says
# that the likelihood has exactly one maximum, and how near the result is to it.

# %%
angina = titan.glm(hospitals, net, formula="exang ~ age + sex", tau=1)
for name in angina.names:
    print(f"{name:10} {angina.params[name]:8.4f}  ± {angina.error_bound[name]:.1e} (proven)")

# %% [markdown]
# ## What it cost

# %%
cost = fit.cost
print(
    f"{cost.rounds} rounds, {cost.messages} messages, at most {cost.bytes_sent.largest} bytes each"
)

# %% [markdown]
# In one process these are only numbers. Among four organisations it is what the network carries: a
# few kilobytes each. [The tutorial](../tutorial.md) does the same with real keys and real
# processes.
