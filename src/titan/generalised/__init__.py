"""Generalised linear models and Cox's proportional hazards: numbers in and out, no network.

families      logistic and Poisson regression row by row
elementary    exp, expit and log1p of arrays with a proven bound of their error
rows          a party's sums at an estimate, in float64 with bounds; `exact_rows` in balls
steps         one step as all know it: where it is taken, to which digits, what it opened
risk_sets     when the events of one party come; `hazards` its sums of Cox's partial likelihood, in
              float64 with bounds, `exact_hazards` in balls
newton        from pooled sums to the next estimate: public, exact, the same everywhere
certificate   that the estimate exists, is unique, and how near it is
estimated     coefficients, errors and tests under statsmodels' names: of `result`, a fitted GLM,
              and of `cox_result`
"""
