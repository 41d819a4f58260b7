"""The comparison in words and numbers: a page with one table per problem, and CSV for machines."""

from __future__ import annotations

from collections.abc import Iterator

from titan_lab.compare import Record
from titan_lab.compare.runner import COARSE, FINE, TRIAL_ROUNDS
from titan_lab.experiments.comparison import TOLERANCE, Result, Row
from titan_lab.experiments.comparison_cases import SEEDS, Setting
from titan_lab.experiments.report import Cell, Table, as_markdown

_COSTS = (
    "method", "rounds to 1e-10", "numbers sent", "bytes sent", "memory", "flops or time", "error",
    "step size",
)  # fmt: skip
_FACTS = ("method", "directed", "finite", "error falls", "needs to know", "a curious node learns")
_MARKS = {"consistent": "†", "dominant": "‡"}
_THIN = 1.05  # points of a trace in the CSV are this far apart

LEGEND = f"""\
Rounds until the worst party's ‖x_i − x*‖ / ‖x*‖ is at most {TOLERANCE:g}. Numbers, bytes, memory
(in numbers, beside a party's own equations) and flops are those of the busiest node; a number
counts once for each neighbour it is sent to. Work that is not done in floats is given as seconds
of computing, all nodes together. Bytes: 8 for a float; TITAN's are encoded envelopes of 512-bit
numbers (the first sum of `titan.solve`) and of 128-bit ones; "≤" where only the longest rational or
ciphertext is known. TITAN, FAIM, Paillier and finite-time least squares have no answer before they
end.

Step sizes: where a method has one, {len(COARSE) + len(FINE)} were tried for each problem and seed,
{len(COARSE)} from 1/16 to 16 times its default and {len(FINE)} around the best of those, each for
at most {TRIAL_ROUNDS:,} rounds; the tuner knows x*, which nobody in a network does. Finite-time
least squares keeps its default, a power of two, so that its rationals stay short. Further choices
have one value for all problems: SONATA's regularisation and the exponents of consensus +
innovations were chosen on the small problem before; the seeds here, from {SEEDS[0]} on, were taken
afterwards, so that nothing was chosen on them.

\\* on the network with every link both ways, which the method needs. † on a consistent version,
b_i = A_i x*, with the same answer. ‡ on a random system with a dominant diagonal, m = n."""


def page(result: Result) -> str:
    """Markdown: what holds of the methods, and what they cost on each problem."""
    parts = ["# TITAN and the alternatives\n", LEGEND, "", "## What holds anywhere\n"]
    parts.append(as_markdown(_FACTS, [_facts(row) for row in _once(result)]))
    for setting in result.settings:
        parts += [f"## {setting.title}\n", _setting(setting)]
        ran = [row for row in result.of(setting) if row.record.status != "refused"]
        if ran:
            parts.append(as_markdown(_COSTS, [costs(row) for row in ran]))
        parts.append(_remarks(result.of(setting)))
    return "\n".join(part for part in parts if part is not None)


def _once(result: Result) -> list[Row]:
    return result.of(result.settings[0])


def _setting(setting: Setting) -> str:
    seeds = setting.seeds
    middle = ""
    if len(seeds) > 1:
        middle = (
            f" Seeds {seeds[0]} to {seeds[-1]}: each row is the run in the middle, with the fewest "
            "and most rounds of all in brackets."
        )
    elif not setting.name.startswith("ieee"):
        middle = f" Seed {seeds[0]}."
    return (
        f"Network: {setting.links}. Methods that do not end by themselves stop at "
        f"{setting.budget:,} rounds.{middle}\n"
    )


def _facts(row: Row) -> list[str]:
    facts = row.entry.facts()
    yes = {True: "yes", False: "no"}
    return [
        str(facts["title"]),
        yes[facts["directed"]],
        yes[facts["finite"]],
        str(facts["accuracy"]),
        str(facts["knows"]),
        str(facts["learns"]),
    ]


# -- cells --------------------------------------------------------------------------------------


def costs(row: Row) -> list[str]:
    """A row of a problem's table."""
    record = row.record
    marks = ("\\*" if record.made_undirected else "") + _MARKS.get(row.version, "")
    return [
        row.entry.method.about.title + marks,
        rounds(row),
        _count(record.sent_most if row.planned is None else row.planned.sent),
        ("≤ " if row.bytes.at_most else "") + _count(row.bytes.number),
        _count(record.held_most),
        "" if row.planned is not None else _work(record),
        _short(record.error),
        _short(record.step_size),
    ]


def rounds(row: Row) -> str:
    """How many, or that they were not enough, or that no number would be."""
    record = row.record
    if row.planned is not None:
        return f"{row.planned.rounds:,} (not run)"
    if record.status == "reached":
        return f"{record.rounds:,}{_spread(row)}"
    if record.status == "finished":
        return "never"
    text = f"> {record.rounds:,}"
    if row.extrapolated is not None:
        text += f" (extrapolated: {_rounded(row.extrapolated)})"
    return text


def _spread(row: Row) -> str:
    if row.reached < row.runs:
        return f" ({row.reached} of {row.runs} runs)"
    return "" if row.fewest == row.most else f" [{row.fewest:,}, {row.most:,}]"


def _work(record: Record) -> str:
    """Flops of the busiest node, or the time of all where there are none to speak of."""
    if record.flops_most is not None:
        return _count(record.flops_most)
    return "" if record.seconds is None else f"{_short(record.seconds)} s"


def _rounded(number: int) -> str:
    """Two digits: no more is known."""
    return f"{int(float(f'{number:.1e}')):,}"


def _count(number: float) -> str:
    """Whole up to a million, then three digits."""
    if number < 1e6:
        return f"{int(number):,}"
    for unit, name in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if number >= unit:
            return f"{number / unit:.3g} {name}"
    raise AssertionError(number)


def _short(number: float | None) -> str:
    return "" if number is None else f"{number:.2g}"


def _remarks(rows: list[Row]) -> str:
    """What was refused, what was not run, and what methods have to say."""
    lines = []
    for row in rows:
        title, record = row.entry.method.about.title, row.record
        if row.planned is not None:
            lines.append(f"{title}: {row.planned.why}")
        elif record.reason:
            lines.append(f"{title}: {record.status}: {record.reason}")
        elif record.note:
            lines.append(f"{title}: {record.note}")
    return "".join(f"- {line}\n" for line in lines)


# -- for machines -------------------------------------------------------------------------------


def table(result: Result) -> Table:
    """Every row, refused ones too, with everything that is known."""
    rows = [answer(row) for row in result.rows]
    return Table(tuple(rows[0]), tuple(tuple(row.values()) for row in rows))


def answer(row: Row) -> dict[str, Cell]:
    """One row for CSV and JSON."""
    record, planned = row.record, row.planned
    ran = record.status != "refused" and planned is None
    return {
        "problem": row.setting.name,
        "version": row.version,
        "method": row.entry.name,
        "status": "planned" if planned is not None else record.status,
        "rounds": planned.rounds if planned is not None else record.rounds if ran else None,
        "rounds_fewest": row.fewest if ran else None,
        "rounds_most": row.most if ran else None,
        "runs": row.runs,
        "runs_reached": row.reached,
        "rounds_extrapolated": row.extrapolated,
        "budget": row.setting.budget,
        "tolerance": record.tolerance,
        "error": record.error,
        "sent": planned.sent if planned is not None else record.sent_most if ran else None,
        "sent_total": record.sent_total if ran else None,
        "bytes": row.bytes.number if record.status != "refused" else None,
        "bytes_at_most": row.bytes.at_most if record.status != "refused" else None,
        "bits": record.bits if ran else None,
        "held": record.held_most if record.status != "refused" else None,
        "flops": record.flops_most if ran else None,
        "seconds": record.seconds,
        "step_size": record.step_size,
        "step_sizes_tried": record.trials,
        "made_undirected": record.made_undirected,
        "problem_seed": record.problem_seed,
        "reason": planned.why if planned is not None else record.reason,
        "note": record.note,
        **row.entry.facts(),
    }


def traces(result: Result) -> Table:
    """The error round by round, of the runs that the table shows."""
    columns = ("problem", "method", "rounds", "sent", "error")
    return Table(columns, tuple(_points(result)))


def _points(result: Result) -> Iterator[tuple[Cell, ...]]:
    for row in result.rows:
        last = -1.0
        for at, point in enumerate(row.trace):
            if point.rounds >= last * _THIN or at == len(row.trace) - 1:
                last = point.rounds
                yield row.setting.name, row.entry.name, point.rounds, point.sent, point.error
