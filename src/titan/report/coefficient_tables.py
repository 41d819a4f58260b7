"""Coefficients of any model: estimates with what is proven, intervals drawn, and the fit's numbers.

Whatever has `params` by name is shown like this: regressions, GLMs, solutions, and kinds that this
program learns later. What else an answer has for the same names becomes a column of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from titan.markup import Html, tag
from titan.report import interval_picture
from titan.report.generic_tables import rest
from titan.report.interval_picture import Scale
from titan.report.labels import label
from titan.report.numbers import bound, error_of, in_full, named, number, p_value, plain
from titan.report.tables import grid, pairs

_INTERCEPT = "Intercept"
_TESTED = ("bse", "tvalues", "pvalues", "conf_int")
_STATISTICS = (
    "rsquared", "rsquared_adj", "fvalue", "f_pvalue", "llf", "llnull", "deviance", "null_deviance",
    "pearson_chi2", "pseudo_rsquared", "llr", "llr_pvalue", "aic", "bic", "scale", "ssr",
    "df_effective",
)  # fmt: skip
_REPEATED = ("params", "error_bound", "x")
"""`x` is what a solution calls `params`, too."""
_FIRST = (
    "response", "formula", "family", "link", "nobs", "rows", "df_model", "df_resid", "cov_type",
)  # fmt: skip
_PENALTIES = 5  # in one table


def coefficients(answer: Mapping[str, Any]) -> Iterator[Html]:
    """Of an answer's JSON: the table, the same in full, and what else there is."""
    names = list(answer["params"])
    others = [key for key in answer if _by_names(answer, key, names)]
    further = [key for key in answer if key.endswith("_conf_int")]
    yield _table(answer, names, others)
    for key in further:
        rows = ([name, *_limits(answer, name, key)] for name in names)
        yield grid(label(key), ("", "from", "to"), rows)
    if "error_bound" in answer:
        yield _in_full(answer, names, others)
    statistics = [key for key in _STATISTICS if isinstance(answer.get(key), int | float)]
    if statistics:
        yield grid(
            "The fit as a whole",
            ("", "value", "in full", "proven within"),
            (_statistic(answer, key) for key in statistics),
        )
    known = {*_REPEATED, *_TESTED, *others, *further, *statistics}
    known |= {f"{key}_error" for key in known}
    if answer.get("rows") == answer.get("nobs"):
        known.add("rows")  # another name for the same
    others = sorted((key for key in answer if key not in known), key=_place)
    yield from rest({key: answer[key] for key in others if answer[key] is not None})


def _place(key: str) -> int:
    """What papers say first stands first."""
    return _FIRST.index(key) if key in _FIRST else len(_FIRST)


def _by_names(answer: Mapping[str, Any], key: str, names: Sequence[str]) -> bool:
    """Whether it has one number for each coefficient, and no place in the table yet."""
    found = answer[key]
    if key in (*_REPEATED, *_TESTED) or key.endswith("_error") or not isinstance(found, Mapping):
        return False
    plain = all(x is None or isinstance(x, int | float | str) for x in found.values())
    return list(found) == list(names) and plain


# -- the table --------------------------------------------------------------------------------


def _table(answer: Mapping[str, Any], names: Sequence[str], others: Sequence[str]) -> Html:
    tested, limits = "bse" in answer, answer.get("conf_int")
    test = "t" if answer.get("cov_type") == "nonrobust" else "z"
    heads = ["", label("params"), *([label("bse"), test, "p"] if tested else [])]
    heads += [*(["95 % from", "to"] if limits else []), *map(label, others)]
    scale, drawn = _scale(names, limits)
    rows = []
    for name in names:
        row = [name, _cell(answer, "params", name, 6)]
        if tested:
            row += [_cell(answer, "bse", name, 4), _cell(answer, "tvalues", name, 4)]
            p = named(answer.get("pvalues"), name)
            row.append(p_value(p, named(error_of(answer, "pvalues"), name)))
        row += _limits(answer, name) if limits else []
        row += [_cell(answer, key, name, 5) for key in others]
        if scale is not None:
            row.append(_drawn(scale, answer, name) if name in drawn else tag("span"))
        rows.append(row)
    if scale is None:
        return grid("Coefficients", heads, rows)
    empty = tag("td", colspan=len(heads))
    foot = tag("tr", empty, tag("td", interval_picture.axis(scale)))
    caption = "Coefficients, with their 95 % confidence intervals drawn"
    if left_out := [name for name in names if name not in drawn]:
        caption += f" (not drawn: {', '.join(left_out)})"
    return grid(caption, [*heads, "interval"], rows, foot=foot)


def _cell(answer: Mapping[str, Any], key: str, name: str, digits: int) -> Html:
    return number(named(answer.get(key), name), named(error_of(answer, key), name), digits)


def _limits(answer: Mapping[str, Any], name: str, key: str = "conf_int") -> list[Html]:
    limits = answer[key].get(name) or (None, None)
    errors = named(error_of(answer, key), name) or (None, None)
    return [number(end, error, 5) for end, error in zip(limits, errors, strict=True)]


def _scale(names: Sequence[str], limits: Any) -> tuple[Scale | None, list[str]]:
    """That of all intervals; the intercept's would hide the others'."""
    known = [name for name in names if limits and None not in (limits.get(name) or (None,))]
    drawn = [name for name in known if name != _INTERCEPT] or known
    return Scale.of([end for name in drawn for end in limits[name]]) if drawn else None, drawn


def _drawn(scale: Scale, answer: Mapping[str, Any], name: str) -> Html:
    return interval_picture.interval(scale, answer["params"][name], *answer["conf_int"][name])


# -- in full ----------------------------------------------------------------------------------


def _in_full(answer: Mapping[str, Any], names: Sequence[str], others: Sequence[str]) -> Html:
    keys = [key for key in ("params", "bse", *others) if error_of(answer, key) is not None]
    heads = ["", *(head for key in keys for head in (label(key), "proven within"))]
    rows = (
        [name, *(cell for key in keys for cell in _full_pair(answer, key, name))] for name in names
    )
    return grid("In full: the numbers of the JSON, with their largest possible error",
                heads, rows, kind="full")  # fmt: skip


def _full_pair(answer: Mapping[str, Any], key: str, name: str) -> tuple[Html, Html]:
    return in_full(answer[key][name]), bound(named(error_of(answer, key), name))


def _statistic(answer: Mapping[str, Any], key: str) -> tuple[str, Html, Html, Html]:
    value, error = answer[key], error_of(answer, key)
    rounded = p_value(value, error) if key.endswith("_pvalue") else number(value, error, 6)
    return label(key), rounded, in_full(value), bound(error)


# -- several penalties ------------------------------------------------------------------------


def penalised(answer: Mapping[str, Any]) -> Iterator[Html]:
    """A path of ridge solutions: a row for each coefficient, a column for each penalty."""
    for first in range(0, len(answer["path"]), _PENALTIES):
        path = answer["path"][first : first + _PENALTIES]
        heads = ["", *(tag("span", "penalty ", plain(each["alpha"])) for each in path)]
        names = list(path[0]["params"])
        yield grid("Coefficients", heads, ([n, *(_of(n, each) for each in path)] for n in names))
        yield grid(
            "In full, with their largest possible error",
            heads,
            ([n, *(_full_of(n, each) for each in path)] for n in names),
            kind="full",
        )
        keys = [k for k in ("df_effective", "scale", "aic", "bic") if k in path[0]]
        yield grid("", heads, ([label(k), *(_whole(k, each) for each in path)] for k in keys))
    yield pairs("", [(label("nobs"), number(answer["nobs"]))])


def _of(name: str, each: Mapping[str, Any]) -> Html:
    return _cell(each, "params", name, 6)


def _full_of(name: str, each: Mapping[str, Any]) -> Html:
    value, within = _full_pair(each, "params", name)
    return tag("span", value, " ± ", within)


def _whole(key: str, each: Mapping[str, Any]) -> Html:
    value, error = each[key], error_of(each, key)
    if error is None:
        return number(value, digits=6)
    return tag("span", number(value, error, 6), " ± ", bound(error))
