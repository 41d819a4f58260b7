"""A study: everything the parties agree on before anything leaves a machine.

Who takes part and how each is recognised, who can send to whom and who dials, τ, what every column
is, what is asked, and the fewest rows. All of it is public among the parties. Its digest is its
identity: parties with different digests are in different studies.
"""

# Rule 1: a study that exists is sound in itself: names, links, questions and sizes were checked.
#         Whether it is safe to take part in is for `preflight`.
# Rule 2: every content has one form, so that equal studies have equal digests, and no others.

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

from titan import files
from titan.canonical import canonical
from titan.errors import FormulaError, InputError, ReleaseError, about
from titan.joint import SumSettings
from titan.joint.checking import share_steps
from titan.joint.kinds import Question, Setting, kind_named
from titan.joint.meeting import Meeting
from titan.joint.pooled_model import PooledModel
from titan.joint.rows_apart import RowsApart
from titan.moments.rows import Missing
from titan.network import Network
from titan.protocol import Lines, MaskMode, Plan, RecoveryName, RelayMode
from titan.protocol.recovery import recovery_names
from titan.release import Dictionary
from titan.release.budget import Budget
from titan.release.dictionary import check_text
from titan.release.policy import POLICIES, PRECISIONS, Cells, Policy
from titan.ring.whole import is_whole
from titan.study.crossing import check_crossing
from titan.study.fields import read_text
from titan.study.identity import Card
from titan.study.links import BOUNDS, LINE, Dial, Link, lines_of, said_of

FORMAT = 3
OPEN: Any = None
"""What a policy fills in."""
MOST_PARTIES = 10_000
MOST_QUESTIONS = 100
MOST_SUMS = 255  # which a message can number
MOST_ROUNDS = 1_000_000
MOST_ROWS = 1 << 53
_MOST_ASKED = 1 << 20  # characters of one option of a question
PLAIN = "title", "tau", "bits", "recovery", "k", "rounds", "masks", "relays", "solver", "missing"
"""What is one number or text, in the order of the file."""
RELEASE = {
    "policy": "",
    "min_rows_party": "rows_per_party",
    "min_rows_total": "rows",
    "rows_per_parameter": "rows_per_parameter",
    "min_cell": "rows_per_cell",
    "min_cell_parties": "parties_per_cell",
    "min_residual_df": "residual_df",
    "cells": "cells",
    "precision": "precision",
}
"""What may be released, each with what a policy calls it."""
WHOLE = {
    "tau": (0, MOST_PARTIES),
    "bits": (8, 4096),
    "min_rows_party": (1, MOST_ROWS),
    "min_rows_total": (1, MOST_ROWS),
    "rows_per_parameter": (1, MOST_ROWS),
    "min_cell": (0, MOST_ROWS),
    "min_cell_parties": (1, MOST_PARTIES),
    "min_residual_df": (0, MOST_ROWS),
    "k": (1, MOST_PARTIES),
    "rounds": (1, MOST_ROUNDS),
    **BOUNDS,
}
"""Which of these are numbers, from where to where."""
_MAY_BE_OPEN = ("k", "rounds", *LINE)


@dataclass(frozen=True)
class Study:
    """The content of `study.toml`, each part in its one form.

    The order of `parties` counts, since it numbers them; so does that of `questions`. That of
    `links` does not. A question without a name is called by its number: q1, q2, …
    """

    title: str
    tau: int
    parties: tuple[Card, ...]
    links: tuple[Link, ...]
    columns: Dictionary = field(default_factory=Dictionary)
    questions: tuple[Question, ...] = ()
    missing: Missing = "refuse"
    policy: str = "titan"
    """What of the following is left open is as this policy says."""
    min_rows_party: int = OPEN
    min_rows_total: int = OPEN
    """Left open, it is `min_rows_party` for every party."""
    rows_per_parameter: int = OPEN
    min_cell: int = OPEN
    """Left open, no more than `min_rows_party`: a level may be as rare as a party is small."""
    min_cell_parties: int = OPEN
    """Left open, `tau` + 2: so many that of those who are not curious two are left."""
    min_residual_df: int = OPEN
    cells: Cells = "pooled"
    precision: int | Literal["exact"] = OPEN
    bits: int = 128
    recovery: RecoveryName = "auto"
    masks: MaskMode = "sent"
    relays: RelayMode = "checked"
    k: int | None = None
    rounds: int | None = None
    solver: str | None = None
    latency_ms: int | None = None
    """Of all links, one way. It decides nothing but how a sum with recovery "auto" is made."""
    bandwidth_mbit: int | None = None

    def __post_init__(self) -> None:
        with about("title"):
            check_text("title", self.title)
        _check_choice("missing", self.missing, get_args(Missing))
        _check_choice("masks", self.masks, get_args(MaskMode))
        _check_choice("relays", self.relays, get_args(RelayMode))
        _check_choice("recovery", self.recovery, recovery_names())
        _check_parties(self.parties)
        _check_whole("tau", self.tau, *WHOLE["tau"])
        self._settle_release()
        for key, (least, most) in WHOLE.items():
            _check_whole(key, getattr(self, key), least, most)
        self._check_links()
        with about("questions"):
            self._settle("questions", _settled(self.questions, self.columns))
            _ = self.meeting

    def _settle(self, key: str, value: object) -> None:
        object.__setattr__(self, key, value)

    def _settle_release(self) -> None:
        """What is left open is the policy's."""
        _check_choice("policy", self.policy, tuple(POLICIES))
        _check_choice("cells", self.cells, get_args(Cells))
        usual = POLICIES[self.policy]
        for key, name in RELEASE.items():
            if getattr(self, key) == OPEN and name:
                self._settle(key, self._usual(key, getattr(usual, name)))
        if self.precision != "exact" and not is_whole(self.precision, *PRECISIONS):
            raise InputError(
                f"precision is {self.precision!r}",
                hint='a number of bits from {} to {}, or "exact"'.format(*PRECISIONS),
                choice="precision",
            )

    def _usual(self, key: str, usual: Any) -> Any:
        if key == "min_rows_total":
            return self.min_rows_party * len(self.parties)
        if key == "min_cell_parties":
            return self.tau + 2
        return min(usual, self.min_rows_party) if key == "min_cell" else usual

    def _check_links(self) -> None:
        for link in self.links:
            _check_choice("links.dial", link.dial, get_args(Dial))
            for key in LINE:
                _check_whole(f"links.{key}", getattr(link, key), *WHOLE[key])
        self._settle("links", tuple(sorted(self.links, key=lambda it: it.ends)))
        with naming("links"):
            _ = self.network
        if self.solver is not None and self.solver not in self.network.parties:
            raise InputError(f"solver is {self.solver!r}, who is not a party", choice="solver")

    # -- what it means ------------------------------------------------------------------------

    @cached_property
    def network(self) -> Network:
        """The parties in the file's order, and their links."""
        pairs = [(link.sender, link.receiver) for link in self.links]
        return Network(pairs, parties=[card.name for card in self.parties])

    @property
    def release(self) -> Policy:
        """What every party checks before its rows leave, in the order of the sums."""
        said = {name: getattr(self, key) for key, name in RELEASE.items() if name}
        said["precision"] = None if self.precision == "exact" else self.precision
        return Policy(
            **said,
            otherwise="agree on a study that asks for fewer ({limit})",
        )

    @property
    def setting(self) -> Setting:
        """What its questions are asked in."""
        return Setting(
            self.network.parties, self.columns, self.release, self.bits, self.missing, self.tau
        )

    @cached_property
    def meeting(self) -> Meeting:
        """All questions' computations, by name."""
        computations = []
        for at, question in enumerate(self.questions, 1):
            with naming(f"questions[{at}]"):
                computations.append((question.name, question.computation(self.setting)))
        meeting = Meeting(tuple(computations))
        if self.min_cell > 0:
            shared = share_steps(computations, lambda: self.budget)
            meeting = Meeting(tuple(shared), lambda: self.budget, RowsApart.of(computations))
        if len(meeting.sums) > MOST_SUMS:
            raise InputError(
                f"questions: {len(meeting.sums)} sums, one after another",
                hint=f"a study has at most {MOST_SUMS}",
            )
        return meeting

    @cached_property
    def budget(self) -> Budget:
        """What the columns that formulas make, over all questions, tell of the raw ones."""
        asked = [
            (c.model, c.rounding, c.equations.release == "inference")
            for _, c in self.meeting.computations
            if isinstance(c, PooledModel) and c.model is not None and c.rounding is not None
        ]
        return Budget.of(asked, self.columns)

    @property
    def settings(self) -> SumSettings:
        """How the private sums are made."""
        return SumSettings(
            self.network,
            bits=self.bits,
            tau=self.tau,
            recovery=self.recovery,
            k=self.k,
            rounds=self.rounds,
            masks=self.masks,
            relays=self.relays,
            lines=self.lines,
        )

    @cached_property
    def lines(self) -> Lines:
        """What is known of the links, or else taken to be so."""
        return lines_of(self.network, self.links, self)

    @cached_property
    def plans(self) -> tuple[Plan, ...]:
        """One for each sum of the meeting; PlanError where the network does not allow it."""
        return tuple(map(self.settings.plan, self.meeting.sums))

    def question(self, name: str) -> Question:
        return next(question for question in self.questions if question.name == name)

    def card(self, name: str) -> Card:
        return self.parties[self.network.index(name)]

    # -- its identity -------------------------------------------------------------------------

    @cached_property
    def digest(self) -> str:
        """SHA-256, in hex, of the content in canonical JSON: the study's identity."""
        return hashlib.sha256(canonical(self.content())).hexdigest()

    def content(self) -> dict[str, Any]:
        """Everything, defaults filled in, certificates as their fingerprints."""
        return {
            "titan-study": FORMAT,
            **{key: getattr(self, key) for key in PLAIN},
            "release": {key: getattr(self, key) for key in RELEASE},
            "columns": self.columns.content(),
            "questions": [question.content() for question in self.questions],
            "parties": [card.content() for card in self.parties],
            "links": [[*link.ends, *said_of(link).items()] for link in self.links],
            **({"network": said_of(self)} if said_of(self) else {}),
        }

    # -- as a file ----------------------------------------------------------------------------

    @staticmethod
    def parse(text: str, where: str = "study") -> Study:
        """Read TOML strictly; an error names `where`, the file, and the key."""
        from titan.study import manifest_file

        return manifest_file.parse(text, where)

    @staticmethod
    def load(path: str | PathLike[str]) -> Study:
        return Study.parse(read_text(path), str(path))

    def to_toml(self) -> str:
        """What `parse` reads, with every default spelt out."""
        from titan.study import manifest_file

        return manifest_file.to_toml(self)

    def save(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write the file; one that is there already is replaced with `force` only."""
        files.write(Path(path), self.to_toml().encode(), mode=0o644, force=force)


# -- checks -----------------------------------------------------------------------------------


def _check_choice(key: str, given: object, allowed: tuple[str, ...]) -> None:
    if given not in allowed:
        hint = f"one of {', '.join(allowed)}"
        raise InputError(f"{key} is {given!a}", hint=hint, choice=key)


def _check_whole(key: str, given: object, least: int, most: int) -> None:
    if given is None and key.removeprefix("links.") in _MAY_BE_OPEN:
        return
    if not is_whole(given, least, most):
        hint = f"a whole number from {least} to {most}, not {ascii(given)[:40]}"
        raise InputError(f"{key} is not a number that is allowed", hint=hint, choice=key)


def _settled(questions: Sequence[Question], columns: Dictionary) -> tuple[Question, ...]:
    """All with names, and in their one form."""
    if not 1 <= len(questions) <= MOST_QUESTIONS:
        raise InputError(
            f"questions: there are {len(questions)}", hint=f"there may be 1 to {MOST_QUESTIONS}"
        )
    found: dict[str, Question] = {}
    for at, question in enumerate(questions, 1):
        name = question.name or f"q{at}"
        check_text(f"questions[{at}].name", name)
        if name in found:
            raise InputError(
                f"questions[{at}].name: another question is called {name!r}",
                hint="give each a name of its own, or none",
            )
        with naming(f"questions[{at}].kind"):
            kind_named(question.kind)
        with naming(f"questions[{at}]"):
            found[name] = Question.of(question.kind, name, question.options, columns)
        for option, value in found[name].asked:
            for text in (value,) if isinstance(value, str) else value:
                check_text(f"questions[{at}].{option}", text, most=_MOST_ASKED)
    check_crossing(found.values())
    return tuple(found.values())


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Errors that name their place in the file."""
    try:
        yield
    except InputError as error:
        key = f"{where}.formula" if isinstance(error, FormulaError) else where
        what = f"{key}: {error.message}"
        if isinstance(error, ReleaseError):
            raise ReleaseError(what, hint=error.hint, rule=error.rule) from None
        raise InputError(what, hint=error.hint) from None


def _check_parties(parties: Sequence[Card]) -> None:
    if not 2 <= len(parties) <= MOST_PARTIES:
        raise InputError(
            f"parties: there are {len(parties)}", hint=f"there may be 2 to {MOST_PARTIES}"
        )
    known: dict[str, str] = {}
    for card in parties:
        alike = unicodedata.normalize("NFKC", card.name).casefold()
        if alike in known:
            raise InputError(
                f"parties: two have the same name, {known[alike]!r} and {card.name!r}",
                hint="names must differ by more than case, for files are named like parties",
            )
        known[alike] = card.name
