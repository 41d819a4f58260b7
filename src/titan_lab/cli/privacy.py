"""titan privacy: from which coalitions a network hides, and what the others learn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from titan.cli import networks, options
from titan.cli.output import ask_before_replacing, check_writable, give, picture_name
from titan.errors import UsageError, about
from titan.listing import listing

if TYPE_CHECKING:
    from titan.network import Network
    from titan_lab.privacy.audit import Audit, Inference

_NAMED = 12  # parties of a group that are named in text


def command(
    network: Annotated[str, Argument(metavar="NETWORK", help=networks.HELP_SIZED)],
    tau: Annotated[
        int | None,
        Option(help="Largest coalitions to look at. [default: the smallest dangerous ones]"),
    ] = None,
    coalition: Annotated[
        str | None, Option(help="What these parties learn: names with commas.")
    ] = None,
    limit: Annotated[int, Option(min=0, help="Dangerous coalitions to name.")] = 20,
    plot: Annotated[
        Path | None, Option(help="Draw the network, honest groups coloured, to this file.")
    ] = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Which coalitions of curious parties learn more than the pooled sum, and what they learn.

    \b
    Example:
      titan privacy cycle:6 --tau 2
      titan privacy links.csv --coalition north,east --plot network.png
    """
    from titan_lab.pictures.network import draw
    from titan_lab.privacy.audit import audit, infer

    net = networks.sized(network)
    if plot is not None:
        check_writable(plot)
        picture_name("--plot", plot)
        ask_before_replacing([plot], force)
    with about("coalition"):
        learned = None if coalition is None else infer(net, _members(net, coalition))
    audited = audit(net, tau, limit=limit) if coalition is None or tau is not None else None
    if plot is not None:
        worst = audited.dangerous[0] if audited is not None and audited.dangerous else None
        draw(net, learned or worst, plot)

    def as_text() -> None:
        if learned is not None:
            _print_coalition(learned)
        if audited is not None:
            _print_audit(net, audited)

    give(_as_dict(net, learned, audited), as_text, json=json)


def _members(net: Network, text: str) -> list[str]:
    """Names between commas; a name that holds a comma itself is taken whole."""
    if text in net.parties:
        return [text]
    names = options.names_in(text)
    if not all(names):
        raise UsageError(f"--coalition {text!r} has an empty name", hint="for example north,east")
    return names


# -- JSON -------------------------------------------------------------------------------------


def _as_dict(net: Network, learned: Inference | None, audited: Audit | None) -> dict[str, Any]:
    answer: dict[str, Any] = {"parties": len(net)}
    if learned is not None:
        answer |= _inference(learned)
    if audited is not None:
        answer |= {
            "tau": audited.tau,
            "sizes": [
                {"size": size, "harmless": harmless} for size, harmless in audited.harmless.items()
            ],
            "dangerous": [_inference(each) for each in audited.dangerous],
            "more": audited.more,
        }
    return answer


def _inference(learned: Inference) -> dict[str, Any]:
    return {
        "coalition": list(learned.coalition),
        "harmless": learned.harmless,
        "components": [list(group) for group in learned.components],
    }


# -- text -------------------------------------------------------------------------------------


def _print_coalition(learned: Inference) -> None:
    who = listing(learned.coalition, _NAMED)
    if learned.harmless:
        print(f"{who}: harmless")
        others = len(learned.components[0])
        print(f"  learns the pooled sum and nothing else of the other {others} parties")
        return
    print(f"{who}: not harmless")
    for group in learned.components:
        what = "the very input" if len(group) == 1 else "the sum"
        print(f"  learns {what} of {listing(group, _NAMED)}")


def _print_audit(net: Network, audited: Audit) -> None:
    if not audited.harmless:
        others = "the other" if len(net) == 2 else "all others together"
        print(f"{len(net)} parties: nothing hides one's input from {others}")
        return
    for size, harmless in audited.harmless.items():
        what = "party learns" if size == 1 else "parties together learn"
        verdict = f"no {size} {what}" if harmless else f"some {size} {what}"
        print(f"{verdict} {'anything but the pooled sum' if harmless else 'more'}")
    if not audited.dangerous:
        return
    print("smallest coalitions that learn more, and the sums they learn:")
    for each in audited.dangerous:
        groups = "; ".join(listing(group, _NAMED) for group in each.components)
        print(f"  {listing(each.coalition, _NAMED)}: {groups}")
    if audited.more:
        print("  and there are more (--limit)")
