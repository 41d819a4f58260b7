"""The laboratory: the paper's experiments, the literature's methods beside TITAN, the demo.

It adds `titan compare`, `titan demo` and `titan reproduce`, and draws `titan privacy --plot`.
Nothing here is part of what an organisation runs with its own rows: `titan` works without it.
"""

# Rule 1: the laboratory imports titan; titan never imports the laboratory.
# Rule 2: a method of the literature may draw from a seed; masks are titan's own, never made here.
