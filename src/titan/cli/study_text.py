"""What `titan study check` says of a study: facts first, then what everybody will learn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, starmap
from typing import TYPE_CHECKING, Any

from titan.cli.agreeing import rules
from titan.cli.output import cell, show_pairs, show_wrapped
from titan.listing import in_groups

if TYPE_CHECKING:
    from titan.joint.explanations import Item
    from titan.study import Report


def fingerprint(digest: str) -> list[tuple[str, str]]:
    """As `titan keys` shows a party's."""
    return [("fingerprint", digest), ("to read out", in_groups(digest))]


_COUNTED = (
    "(bytes inside the sums are those of their encoded envelopes; around them go nonces, the "
    "agreement and the end, heads and signatures, which titan audit counts separately)"
)


def show_report(report: Report, shares: Sequence[dict[str, Any]]) -> None:
    from titan.study.shares import in_words

    facts, sent, received = report.facts, report.facts["bytes_sent"], report.facts["bytes_received"]
    show_wrapped("", facts["title"])
    show_pairs(fingerprint(facts["digest"]))
    show_pairs([(name, cell(value)) for name, value in _overview(facts).items()])
    for party in facts["parties"]:
        place = "only dials out" if party["dials_only"] else party["address"]
        show_wrapped("", f"{party['name']}, {place}, good until {party['valid_until'][:10]}")
        linked = {key: ", ".join(party[key]) or "nobody" for key in _LINKED}
        show_pairs([("fingerprint", in_groups(party["fingerprint"])), *_in_words(linked).items()])
        if sent is not None:
            there, here = sent[party["name"]], received[party["name"]]
            print(f"  sends {there} and receives {here} bytes inside the sums")
    if sent is not None:
        show_wrapped("  ", _COUNTED)
    _print_learned(report)
    for share in shares:
        show_wrapped("  ", in_words(share))
    safe = facts["strongly_connected"] and facts["tolerates_tau"]
    show_wrapped("but " if safe else "warning: ", report.hidden)
    for warning in report.warnings:
        show_wrapped("note: ", warning)


def _print_learned(report: Report) -> None:
    """Question by question: its sums, and what they tell."""
    for question in report.facts["questions"]:
        show_wrapped("", f"{question['name']}, {question['in_words']}")
        for text in _sums(question["sums"]):
            show_wrapped("  ", text)
        show_wrapped("  ", _opened(question["opened"]))
        print("  so that every party will learn:")
        _print_items([item for item in report.learned if item.question == question["name"]])
    print("and every party will learn:")
    _print_items([item for item in report.learned if item.question is None])


def _sums(sums: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What each opens; of several that open the same, all at once."""
    alike = ("entries", "bits", "opens")
    for (entries, bits, opens), group in groupby(
        enumerate(sums, 1), lambda numbered: tuple(numbered[1][key] for key in alike)
    ):
        (first, _), *others = group
        which = f"sums {first} to {others[-1][0]} open, each" if others else f"sum {first} opens,"
        yield f"{which} in {entries} × {bits} bits: {opens}"


def _each(values: Iterable[object]) -> str | None:
    """One after another; of one that comes again, how often."""
    groups = ((value, len(list(again))) for value, again in groupby(values))
    said = (f"{value} ({times} times)" if times > 1 else str(value) for value, times in groups)
    return ", ".join(said) or None


def _opened(opened: Mapping[str, Any]) -> str:
    from titan.study.preflight import MORE_THAN_ROWS

    held = opened["rows_bits"]
    of = "" if held is None else f", where the rows themselves have {held}"
    more = f"; {MORE_THAN_ROWS}" if held is not None and opened["bits"] > held else ""
    return (
        f"in all {opened['numbers']} numbers of {opened['bits']} bits{of} (at {opened['rows']} "
        f"rows, the fewest there may be{more})"
    )


def _print_items(items: Sequence[Item]) -> None:
    for item in items:
        show_wrapped("  - ", item.said)


_SHOWN = (
    "links", "strongly_connected", "diameter", "weak_connectivity", "tau",
    "tolerates_tau", "parameters", "rows_needed_party", "rows_needed_total", "rounds", "messages",
)  # fmt: skip
_LINKED = ("sends_to", "receives_from", "dials", "is_dialled_by")


def _in_words(facts: dict[str, Any]) -> dict[str, Any]:
    return {key.replace("_", " "): value for key, value in facts.items()}


def _overview(facts: Any) -> dict[str, Any]:
    from titan.release.dictionary import in_words

    of_cell = facts["rows_needed_level"]  # where cells are counted
    return {
        "parties": len(facts["parties"]),
        **_in_words({key: facts[key] for key in _SHOWN}),
        **({} if of_cell is None else {"rows needed of a cell that occurs": of_cell}),
        **dict(rules(facts)),
        "predicted time": _predicted(facts),
        "recovery of each sum": _each(s["recovery"] for s in facts["sums"]),
        "bits of each sum": _each(s["bits"] for s in facts["sums"]),
        "masks": _MASKS[facts["masks"]],
        "missing values": _MISSING[facts["missing"]],
        "columns": "; ".join(starmap(in_words, facts["columns"].items())) or _NOT_DESCRIBED,
    }


def _predicted(facts: Any) -> str | None:
    if facts["predicted_seconds"] is None:
        return None
    from titan.release.policy import counted

    apart = facts["lines_apart"]
    apart = f" (other figures for {counted(apart, 'link')})" if apart else ""
    return (
        f"{facts['predicted_seconds']:.3g} s from all connected to the answer, at "
        f"{facts['latency_ms']} ms one way and {facts['bandwidth_mbit']} Mbit/s{apart}, without "
        "computing"
    )


_NOT_DESCRIBED = "not described: any number may stand in a column"
_MASKS = {
    "sent": "sent: as many bytes as what they hide, and a key",
    "seeded": "seeded: keys travel, from which both sides compute the masks",
}
_MISSING = {
    "refuse": "refuse: a party whose rows have gaps cannot take part",
    "drop": "drop: rows with gaps are left out",
}
