"""Generalised linear models: numbers in, numbers out, no network.

families      logistic and Poisson regression row by row
elementary    exp, expit and log1p of arrays with a proven bound of their error
rows          a party's sums at an estimate, in float64 with bounds; `exact_rows` in balls
steps         one step as all know it: where it is taken, to which digits, what it opened
newton        from pooled sums to the next estimate: public, exact, the same everywhere
certificate   that the estimate exists, is unique, and how near it is
result        the fitted model under statsmodels' names
"""
