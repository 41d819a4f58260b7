"""Cox's partial likelihood of one party's rows, in float64, with a bound of every error.

Over the rows at risk at an event time let N0, N1 be Σ w and Σ w a without, D0, D1 with the event
then, and Z = N0 + g D0, Y = N1 + g D1 for each term (`risk_sets`). With E = Y/Z

    score      Σ a over events − Σ E                     Hessian    Σ W a aᵀ − Σ E Eᵀ
    W          of a row: w Σ 1/Z over the terms at whose time it is at risk, with g/Z in place of
               1/Z at the time of its own event; so Σ W is the number of events

Both stay as they are if one vector is taken from all rows: a is taken from the party's mean, so
that little cancels. Two sweeps over the rows: the sums over risk sets, then Σ W a aᵀ.

Errors, with u = 2⁻⁵³, d the bound of those of a, δ of those of η (`rows`), n the longest chain of
additions (rows of one interval in one block, blocks, event times, events of one time):

    w      r = RELATIVE + 1.02 δ of itself. N0, D0, Z, 1/Z and W are sums, products and quotients of
           positive numbers: Z and 1/Z within r + (n + 8) u of itself, W within three times that
    N1     that of N0, times Σ w |a|; and d N0
    E      magnitudes add up to Σ W |a| ≤ √(events · G), where G is the diagonal of Σ W a aᵀ
    E Eᵀ   magnitudes add up to at most G, by Cauchy and Schwarz for each term and for their sum

So the score is off by (4 r + (5 n + 64) u) √(events · G) and 2 d for each event, and the Hessian by
(9 r + (9 n + 128) u) G, 4 d √(events · G) and 2 d² for each event.
"""

# Rule 1: rows stay here. What leaves are sums, and their owner rounds those before they leave.

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from titan.generalised.elementary import RELATIVE, UNIT, Floats, exp, log1p
from titan.generalised.risk_sets import Timeline, Whole
from titan.generalised.rows import CHUNK, SHORT, At, Layout, Totals, whole

FARTHEST = 200.0
"""|η| of a row, from the mean: where it is larger, nothing is claimed."""
_LN2 = 0.6931471805599453  # to the nearest double


@dataclass(frozen=True, eq=False)
class TimedRows:
    """Some rows of one party, in the order of `until` and of the event."""

    a: Floats = field(repr=False)
    """(rows, columns), less the party's mean."""
    until: Whole = field(repr=False)
    died: Whole = field(repr=False)
    doubt: Floats = field(repr=False)
    """How far each column of `a` may be off."""
    largest: Floats = field(repr=False)
    """The largest magnitudes in its columns."""
    order: Whole = field(repr=False)
    """Where each row was before."""

    @classmethod
    def of(cls, a: Floats, until: Whole, died: Whole, doubt: Floats) -> TimedRows:
        order = np.argsort(2 * until + died, kind="stable")
        largest = np.abs(a).max(axis=0, initial=0.0)
        return cls(np.ascontiguousarray(a[order]), until[order], died[order], doubt, largest, order)

    def eta(self, beta: Floats) -> tuple[Floats, float]:
        """The linear predictor, and how far it may be off."""
        size = float(self.largest @ np.abs(beta))
        off = (len(beta) + 8) * UNIT * size + float(self.doubt @ np.abs(beta))
        return self.a @ beta, 1.01 * off

    def risks(self, beta: Floats, times: int, *, proven: bool) -> Risks:
        """Σ w and Σ w a by `until`, of those without the event then and with it."""
        eta, off = self.eta(beta)
        farthest = float(np.abs(eta).max(initial=0.0))
        with np.errstate(over="ignore", invalid="ignore"):
            w = exp(eta) if proven else np.exp(np.clip(eta, -700, 700))
            weighted = np.column_stack([w, self.a * w[:, None]])
            table = np.zeros((2 * (times + 1), weighted.shape[1]))
            keys = 2 * self.until + self.died
            starts = np.flatnonzero(np.diff(keys, prepend=-1))
            if len(starts):
                table[keys[starts]] = np.add.reduceat(weighted, starts, axis=0)
        events = np.column_stack([eta, self.a])[self.died]
        rows = np.bincount(keys, minlength=len(table))
        return Risks(
            table, rows, events.sum(axis=0), np.abs(events).sum(axis=0),
            float(self.doubt.max()), off, farthest, int(rows.max()),
        )  # fmt: skip

    def products(self, beta: Floats, per_time: PerTime, *, proven: bool, short: bool) -> Floats:
        """Σ W a aᵀ of chunks of rows, (chunks, columns, columns)."""
        eta, _ = self.eta(beta)
        w = exp(eta) if proven else np.exp(np.clip(eta, -700, 700))
        w *= per_time.weights(self.until, self.died)
        size = SHORT if short else CHUNK
        starts = range(0, max(len(w), 1), size)
        chunks = [(self.a[at : at + size], w[at : at + size]) for at in starts]
        return np.array([(a * x[:, None]).T @ a for a, x in chunks])


@dataclass(frozen=True, eq=False)
class Risks:
    """Sums over rows, and what their errors follow from."""

    table: Floats = field(repr=False)
    """Σ w and Σ w a, by twice `until` and, with the event, one more."""
    rows: Whole = field(repr=False)
    """How many there are, likewise."""
    events: Floats = field(repr=False)
    """Σ η and Σ a over events."""
    magnitudes: Floats = field(repr=False)
    """Σ |η| and Σ |a| over events."""
    doubt: float = field(repr=False)
    delta: float = field(repr=False)
    farthest: float = field(repr=False)
    """The largest |η|."""
    longest: int = field(repr=False)
    """The longest chain of additions."""

    def __add__(self, other: Risks) -> Risks:
        return Risks(
            self.table + other.table,
            self.rows + other.rows,
            self.events + other.events,
            self.magnitudes + other.magnitudes,
            max(self.doubt, other.doubt),
            max(self.delta, other.delta),
            max(self.farthest, other.farthest),
            max(self.longest, other.longest) + 1,
        )


@dataclass(frozen=True, eq=False)
class PerTime:
    """What the terms at each event time add up to."""

    timeline: Timeline = field(repr=False)
    risks: Risks = field(repr=False)
    terms: Floats = field(repr=False)
    """Z of every term."""
    stay: Floats = field(repr=False)
    """N0 and N1 at every time."""
    die: Floats = field(repr=False)
    """D0 and D1."""
    share: Floats = field(repr=False)
    """g of every term."""

    @classmethod
    def of(cls, timeline: Timeline, risks: Risks) -> PerTime:
        stay, die = at_risk(risks.table)
        over, under = timeline.shares
        share, place = over / under, timeline.place
        return cls(timeline, risks, stay[place, 0] + share * die[place, 0], stay, die, share)

    def sums(self, power: int, share: int) -> Floats:
        """Σ g^share / Z^power over the terms at each time."""
        values = self.timeline.times_over * self.share**share / self.terms**power
        return np.bincount(self.timeline.place, values, len(self.timeline)).astype(np.float64)

    def weights(self, until: Whole, died: Whole) -> Floats:
        """Σ 1/Z of every row, with g/Z at its own event."""
        reached = np.concatenate([[0.0], np.cumsum(self.sums(1, 0))])
        own = np.concatenate([[0.0], self.sums(1, 1)])
        return np.where(died, reached[np.maximum(until - 1, 0)] + own[until], reached[until])


def at_risk(table: Floats) -> tuple[Floats, Floats]:
    """At every event time the sums over those at risk: without the event then, and with it.

    Sums of what comes later, not differences: of positive numbers nothing cancels.
    """
    staying, dying = table[2::2], table[3::2]
    later = np.zeros_like(staying)
    later[:-1] = np.cumsum((staying + dying)[:0:-1], axis=0)[::-1]
    return staying + later, dying


# -- what a party enters ------------------------------------------------------------------------


def totals(layout: Layout, at: At, found: PerTime, products: Floats) -> Totals:
    """The score, the Hessian and the statistics, from both sweeps."""
    nothing = (0,) * layout.entries
    if found.risks.farthest > FARTHEST or not np.isfinite(products).all():
        return Totals(nothing, (0.0,) * layout.entries, overflow=True)
    if not len(found.timeline):
        return Totals(nothing, (0.0,) * layout.entries)
    sums, errors = np.zeros(layout.entries), np.zeros(layout.entries)
    gram = _whole(products)
    sums[layout.hessian] = (gram - _squares(found))[np.tril_indices(layout.columns)]
    expected = found.sums(1, 0) @ found.stay[:, 1:] + found.sums(1, 1) @ found.die[:, 1:]
    sums[layout.score] = found.risks.events[1:] - expected
    errors[layout.hessian], errors[layout.score] = _errors(found, gram.diagonal(), at)
    if at.statistics:
        told = _likelihood(found), _null_likelihood(found)
        for place, (value, off) in enumerate(told, layout.of_step):
            sums[place], errors[place] = value, off
    if found.risks.delta >= 2.0**-10:
        errors[:] = math.inf  # no claim can be made; on the way none is
    return Totals(tuple(map(whole, sums.tolist())), tuple((1.01 * errors).tolist()))


def hessian(found: PerTime, products: Floats) -> Floats:
    """As it is, for a look at one's own rows."""
    return np.asarray(_whole(products) - _squares(found))


def _whole(products: Floats) -> Floats:
    """Over all chunks of rows."""
    return np.array([[math.fsum(entry) for entry in row] for row in products.transpose(1, 2, 0)])


def _squares(found: PerTime) -> Floats:
    """Σ E Eᵀ over all terms."""
    n, d = found.stay[:, 1:], found.die[:, 1:]
    both = n.T @ (d * found.sums(2, 1)[:, None])
    own = n.T @ (n * found.sums(2, 0)[:, None]) + d.T @ (d * found.sums(2, 2)[:, None])
    return np.asarray(own + both + both.T)


def _chain(found: PerTime) -> int:
    """No sum has more additions one after another."""
    return found.risks.longest + len(found.timeline) + int(found.timeline.events.max()) + 8


def _errors(found: PerTime, diagonal: Floats, at: At) -> tuple[float, Floats]:
    """Of the Hessian, and of the score."""
    risks, n, events = found.risks, _chain(found), found.timeline.total
    r, d, rows = RELATIVE + 1.02 * risks.delta, risks.doubt, SHORT if at.short else CHUNK
    top = 1.05 * float(diagonal.max(initial=0.0))
    spread = math.sqrt(events * top)
    hessian = (9 * r + (9 * n + rows + 128) * UNIT) * top + 4.2 * d * spread + 2.2 * events * d * d
    size = np.sqrt(events * 1.05 * np.abs(diagonal))
    score = (4 * r + (5 * n + 64) * UNIT) * size + events * UNIT * risks.magnitudes[1:]
    return hessian, np.asarray(score + 2.1 * events * d)


def _likelihood(found: PerTime) -> tuple[float, float]:
    """Σ η over events − Σ log Z, and its error."""
    risks, events, times = found.risks, found.timeline.total, found.timeline.times_over
    logs = log(found.terms)
    size = float(risks.magnitudes[0]) + float(times @ np.abs(logs))
    each = 2.02 * risks.delta + RELATIVE + (_chain(found) + 48) * UNIT
    off = events * each + (events + len(logs) + 64) * UNIT * size
    return float(risks.events[0] - times @ logs), off


def _null_likelihood(found: PerTime) -> tuple[float, float]:
    """The same with all coefficients 0: Z is a number of rows, exactly but for its share."""
    stay, die = at_risk(found.risks.rows.astype(np.float64)[:, None])
    place, times = found.timeline.place, found.timeline.times_over
    logs = log(stay[place, 0] + found.share * die[place, 0])
    size = float(times @ np.abs(logs))
    return -float(times @ logs), (found.timeline.total + len(logs) + 64) * UNIT * (size + 8)


def log(z: Floats) -> Floats:
    """Of positive numbers, within 40 u of itself and of 1."""
    mantissa, exponent = np.frexp(z)
    return np.asarray((exponent - 1) * _LN2 + log1p(2 * mantissa - 1))


# -- one row ------------------------------------------------------------------------------------


def row_shares(rows: TimedRows, found: PerTime, beta: Floats, root: Floats) -> Floats:
    """Σ q (a − E)ᵀ H⁻¹ (a − E) of every row over the terms in which it is at risk, with q its
    part of Z and rootᵀ root = H⁻¹: its share in the Hessian. Over all rows they add up to p.
    """
    b, n, d = rows.a @ root.T, found.stay[:, 1:] @ root.T, found.die[:, 1:] @ root.T

    def per_time(own: int) -> Floats:
        """Σ 1/Z, Σ E/Z and Σ EᵀE/Z, all times g where `own` is 1."""
        s = {(k, g): found.sums(k, g + own)[:, None] for k in (1, 2, 3) for g in (0, 1, 2)}
        squares = [(x * y).sum(axis=1, keepdims=True) for x, y in ((n, n), (n, d), (d, d))]
        ends = squares[0] * s[3, 0] + 2 * squares[1] * s[3, 1] + squares[2] * s[3, 2]
        return np.column_stack([s[1, 0], n * s[2, 0] + d * s[2, 1], ends])

    none = np.zeros((1, b.shape[1] + 2))
    reached = np.concatenate([none, np.cumsum(per_time(0), axis=0)])
    own = np.concatenate([none, per_time(1)])
    before = reached[np.maximum(rows.until - 1, 0)] + own[rows.until]
    of_row = np.where(rows.died[:, None], before, reached[rows.until])
    eta, _ = rows.eta(beta)
    shares = (b * b).sum(axis=1) * of_row[:, 0] - 2 * (b * of_row[:, 1:-1]).sum(axis=1)
    shares = np.exp(np.clip(eta, -FARTHEST, FARTHEST)) * (shares + of_row[:, -1])
    back: Floats = np.empty(len(shares))
    back[rows.order] = shares
    return back
