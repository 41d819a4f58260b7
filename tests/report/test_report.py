"""Invariant: a report says what the run's files say, number for number; it loads and runs nothing,
whatever names it holds; and what it does not know is left out and said."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.test_commands import answer, titan
from tests.party.loopback import Gathering
from tests.report.kept import NAMES, ODD, run_of_all_kinds
from tests.report.parsed import Element, parsed
from titan.listing import in_groups
from titan.report.numbers import fixed, number

DERIVED = {"tvalues", "pvalues", "conf_int", "hazard_conf_int"}
"""Their bounds decide how many digits are shown, and are not shown themselves."""
ANOTHER_NAME = {"x", "params_error", "digits"}
SUPERSCRIPT = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Gathering:
    return run_of_all_kinds(tmp_path_factory.mktemp("kept"))


@pytest.fixture(scope="module")
def page(kept: Gathering) -> str:
    """Of north's run."""
    done = titan("report", kept.run_folder("north"), "--out", "r.html", cwd=kept.folder)
    assert done.returncode == 0, done.stderr
    return (kept.folder / "r.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def shown(kept: Gathering) -> dict[str, Any]:
    found: dict[str, Any] = answer("show", kept.run_folder("north"))["questions"]
    return found


def section(page: str, name: str) -> Element:
    return parsed(page).one("section", id=name)


def cells(within: Element, row: str, *heads: str) -> list[Element]:
    """Of the first table that has these heads, the cells below them."""
    for names, rows in within.tables():
        if set(heads) <= set(names) and row in rows:
            return [rows[row][names.index(head)] for head in heads]
    raise AssertionError(f"no table has {heads} of {row}")


# -- numbers ----------------------------------------------------------------------------------


def numbers_in(answer: Any, key: str = "") -> list[float]:
    """All of an answer's, but for those that stand for others."""
    if isinstance(answer, dict):
        skipped = ANOTHER_NAME | {f"{name}_error" for name in DERIVED}
        told = [(name, value) for name, value in answer.items() if name not in skipped]
        return [x for name, value in told for x in numbers_in(value, name)]
    if isinstance(answer, list):
        return [x for value in answer for x in numbers_in(value, key)]
    return [answer] if isinstance(answer, int | float) and not isinstance(answer, bool) else []


def test_every_number_of_the_json_is_there(page: str, shown: dict[str, Any]) -> None:
    for at, (name, found) in enumerate(shown.items(), 1):
        there = section(page, f"answer-{at}").numbers
        told = {key: x for key, x in found.items() if key != "alpha" or "groups" not in found}
        missing = set(numbers_in(told)) - set(there)  # of curves it is 5 %, said as 95 %
        assert not missing, f"{name}: {missing}"


def read(text: str) -> tuple[float, float]:
    """What a text of the report says, and one unit of its last digit."""
    text = text.removeprefix("= ").replace("−", "-").replace(",", "").replace("·10", "e")
    digits, _, power = text.translate(SUPERSCRIPT).partition("e")
    scale = 0.01 if digits.endswith("%") else 1.0
    digits, exponent = digits.removesuffix(" %"), int(power or 0)
    step = scale * 10.0 ** (exponent - len(digits.partition(".")[2]))
    return float(f"{digits}e{exponent}") * scale, step


def test_what_is_shown_is_the_number_rounded(page: str) -> None:
    count = 0
    for each in section(page, "answers").all("data"):
        value, text = float(str(each.attributes["value"])), each.text
        if text.startswith("< "):
            assert value < float(text[2:])
            continue
        if "±" in text:  # not one digit is proven
            assert abs(value) <= read(text.partition("± ")[2])[0]
            continue
        said, step = read(text)
        assert math.isclose(said, value, rel_tol=1e-15, abs_tol=1.01 * step), (text, value)
        count += 1
    assert count > 200


@given(st.floats(-1e9, 1e9), st.floats(1e-20, 1e9), st.floats(-1, 1), st.integers(1, 12))
def test_no_digit_is_shown_that_is_not_proven(
    value: float, error: float, where: float, digits: int
) -> None:
    """Wherever in its bounds the truth is, the last digit is off by one unit at most."""
    truth = Fraction(value) + Fraction(where) * Fraction(error)
    for each in (number(value, error, digits), fixed(value, error, digits)):
        text = each.partition(">")[2].partition("<")[0]
        if "±" in text:
            assert abs(truth) <= read(text.partition("± ")[2])[0] * (1 + 1e-12)
        elif each == number(value, error, digits) or "." in text:
            said, step = read(text)
            assert abs(Fraction(said) - truth) <= Fraction(step) * Fraction(1000001, 1000000), text
        assert f'value="{value!r}"' in each


def test_coefficients_stand_under_their_names(page: str, shown: dict[str, Any]) -> None:
    heads = {"estimate": "params", "standard error": "bse", "z": "tvalues", "p": "pvalues"}
    for at, (_, found) in enumerate(shown.items(), 1):
        if "bse" not in found:
            continue
        for name in found["params"]:
            row = cells(section(page, f"answer-{at}"), name, *heads, "95 % from", "to")
            expected = [found[key][name] for key in heads.values()] + found["conf_int"][name]
            assert [x for cell in row for x in cell.numbers] == expected
            full = cells(section(page, f"answer-{at}"), name, "estimate", "proven within")
            assert full[0].text == repr(found["params"][name])
            assert full[1].numbers == [found["error_bound"][name]]


@pytest.mark.parametrize("question", ["risk", "hazard"])
def test_standard_errors_of_models_with_steps_stand_beside_their_bounds(
    page: str, shown: dict[str, Any], question: str
) -> None:
    """They were "–": nothing was said to be proven of them."""
    found, at = shown[question], list(shown).index(question) + 1
    for name in found["params"]:
        heads, rows = next(
            (heads, rows) for heads, rows in section(page, f"answer-{at}").tables()
            if heads.count("proven within") > 1
        )  # fmt: skip
        told = dict(zip(heads, zip(rows[name], rows[name][1:], strict=False), strict=False))
        value, within = told["standard error"]
        assert value.text == repr(found["bse"][name])
        assert within.numbers == [found["bse_error"][name]]
        assert 0 < found["bse_error"][name] < found["bse"][name] / 10


def test_coefficients_are_in_the_models_order(page: str) -> None:
    (heads, rows), *_ = section(page, "answer-1").tables()
    assert heads[1] == "estimate"
    assert list(rows) == ["Intercept", "sex[T.m]", "age"]


def test_intervals_are_drawn_to_scale(page: str, shown: dict[str, Any]) -> None:
    found = next(iter(shown.values()))
    drawn = [
        [float(str(each.attributes[key])) for key in ("x1", "x2")]
        for svg in section(page, "answer-1").all("svg")
        for each in svg.all("line")
        if each.attributes["class"] == "range" and each.attributes["y1"] == each.attributes["y2"]
    ]
    limits = [found["conf_int"][name] for name in ("sex[T.m]", "age")]  # not the intercept's
    assert len(drawn) == len(limits)
    (a, b), (c, d) = limits  # of which the first is the longer
    scale = (drawn[0][1] - drawn[0][0]) / (b - a)
    assert drawn[1][1] - drawn[1][0] == pytest.approx(scale * (d - c), abs=0.03)
    assert drawn[1][0] - drawn[0][0] == pytest.approx(scale * (c - a), abs=0.03)


def test_curves_go_through_the_estimates(page: str, shown: dict[str, Any]) -> None:
    groups = shown["os"]["groups"]
    svg = next(e for e in section(page, "answer-5").all("svg") if e.attributes["class"] == "curves")
    curves = [
        [tuple(map(float, pair.split(","))) for pair in str(each.attributes["points"]).split()]
        for each in svg.all("polyline")
        if str(each.attributes["class"]).startswith("curve")
    ]
    assert len(curves) == 2 * len(groups), "each curve, and its sample in the legend"
    dashes = [each.attributes.get("stroke-dasharray") for each in svg.all("polyline")
              if str(each.attributes["class"]).startswith("curve")]  # fmt: skip
    assert len(set(dashes)) == len(groups), "they differ without colour"
    for name, points in zip(groups, curves[::2], strict=True):
        top, ends = points[0][1], [y for _, y in points[2::2]]
        heights = [1 - (y - top) / 300 for y in ends]
        assert heights == pytest.approx(groups[name]["survival"], abs=1e-3)


# -- nothing is loaded, nothing runs ------------------------------------------------------------


def test_nothing_is_loaded_and_nothing_runs(page: str) -> None:
    root = parsed(page)
    for each in root.all():
        assert each.name not in {"script", "link", "img", "iframe", "object", "embed", "form",
                                 "base", "use", "image", "foreignobject", "video"}  # fmt: skip
        for name, value in each.attributes.items():
            assert not name.startswith("on")
            assert name not in {"src", "style", "srcset", "action", "xlink:href", "formaction"}
            assert name != "href" or str(value).startswith("#"), value
            assert "url(" not in str(value)
    style = root.one("style")
    (css,) = style.children
    assert isinstance(css, str)
    assert not re.search(r"url\(|@import|expression|http", css)
    assert "http" not in page.replace("http-equiv", "")


def test_only_this_style_is_allowed(page: str) -> None:
    root = parsed(page)
    (css,) = root.one("style").children
    digest = base64.b64encode(hashlib.sha256(str(css).encode()).digest()).decode()
    policy = str(
        root.one("meta", **{"http-equiv": "Content-Security-Policy"}).attributes["content"]
    )
    rules = dict(rule.split(maxsplit=1) for rule in policy.split("; "))
    assert rules == {
        "default-src": "'none'",
        "style-src": f"'sha256-{digest}'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_paper_needs_no_colour(page: str) -> None:
    css = str(parsed(page).one("style").children[0])
    _, _, printed = css.partition("@media print")
    for name in re.findall(r"(--\w+):", css.partition("@media")[0]):
        assert re.search(rf"{name}: #([0-9a-f])\1\1\b", printed), f"{name} is not grey on paper"


def test_what_others_wrote_is_text(page: str) -> None:
    root = parsed(page)
    assert ODD in root.one("h1").text
    assert section(page, "answer-1").one("h3").text == f"1. {ODD}"
    assert any(f"sex = {ODD}" == th.text for th in section(page, "answer-5").all("th"))
    assert "age, <b>years</b>" in section(page, "answer-4").text
    assert "<i>weight</i>" in section(page, "answer-4").text
    assert {each.name for each in root.all()} <= {
        "html", "head", "meta", "title", "style", "body", "header", "main", "nav", "section",
        "footer", "h1", "h2", "h3", "p", "div", "span", "b", "code", "ul", "ol", "li", "a", "data",
        "table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td", "figure", "figcaption",
        "svg", "g", "line", "polyline", "polygon", "circle", "text",
    }  # fmt: skip


def test_every_anchor_is_there_once(page: str) -> None:
    root = parsed(page)
    ids = [str(each.attributes["id"]) for each in root.all() if "id" in each.attributes]
    assert len(ids) == len(set(ids))
    links = {str(each.attributes["href"])[1:] for each in root.all("a")}
    assert links <= set(ids)
    assert {f"answer-{at}" for at in range(1, 7)} <= links


# -- what it says -----------------------------------------------------------------------------


def test_the_study_in_words_and_who_took_part(page: str, kept: Gathering) -> None:
    asked, who = section(page, "asked").text, section(page, "parties").text
    for words in ("how y depends on age, sex: least squares with standard errors",
                  "how died depends on age: logistic regression", "survival curves (Kaplan-Meier)",
                  "from 18 to 90 by 1", "Nothing is below"):  # fmt: skip
        assert words in asked, words
    for card in kept.study.parties:
        assert f"{card.name} {in_groups(card.fingerprint)}" in who
        assert card.address not in parsed(page).text, "addresses are nobody's business"
    assert who.count("is here") == 1


def test_the_network_is_a_ring_with_kappa_and_tau(page: str) -> None:
    found = section(page, "network")
    svg = found.one("svg")
    places = {
        group.one("title").children[0]: [
            float(str(group.one("circle", r="15").attributes[key])) for key in ("cx", "cy")
        ]
        for group in svg.all("g")
        if str(group.attributes.get("class", "")).startswith("party")
    }
    assert set(places) == set(NAMES)
    assert len({round(math.hypot(*place), 1) for place in places.values()}) == 1
    assert len(list(svg.all("line"))) == len(list(svg.all("polygon"))) == len(NAMES)
    assert "every party is linked with every other" in found.text
    assert "κ = 2" in found.text
    assert "τ = 1" in found.text


def test_every_check_is_there(page: str, kept: Gathering) -> None:
    told = json.loads((kept.run_folder("north") / "evidence.json").read_text())["checks"]
    found = section(page, "checks")
    passed = [td for td in found.all("td") if td.text in ("passed", "REFUSED", "not reached")]
    assert len(passed) == len(told) > 30
    assert {td.text for td in passed} == {"passed"}
    numbers = [n for each in told for n in (each["limit"], each["found"]) if n is not None]
    assert found.numbers == [n for n in numbers if not isinstance(n, str)]


def test_what_was_opened_cost_and_signed(page: str, kept: Gathering) -> None:
    results = json.loads((kept.run_folder("north") / "result.json").read_text())
    opened = section(page, "opened").text
    assert "1. counts" in opened
    assert "sums" in opened
    assert "a curious party learns nothing else about the others' rows" in opened
    cost = section(page, "cost")
    assert {results["cost"]["rounds"], results["cost"]["messages"]} <= set(cost.numbers)
    signed = section(page, "fingerprints").text
    digest = hashlib.sha256((kept.run_folder("north") / "result.json").read_bytes()).hexdigest()
    for each in (kept.study.digest, digest, kept.study.card("north").fingerprint):
        assert in_groups(each) in signed
    assert "right, and matches the study's card" in signed
    assert "titan verify north-run1 --study study.toml" in section(page, "verify").text
    assert str(kept.folder) not in page, "the machine's own folders are nobody's business"


def test_the_same_files_give_the_same_page(page: str, kept: Gathering) -> None:
    done = titan("report", kept.run_folder("north") / "result.json", "--out", "again.html",
                 "--study", "study.toml", cwd=kept.folder)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (kept.folder / "again.html").read_text(encoding="utf-8") == page
    (kept.folder / "again.html").unlink()


def test_the_folders_of_a_rehearsal_are_one_report(kept: Gathering, tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / "kept" / "runs" / name).mkdir(parents=True)
        (tmp_path / "kept" / "runs" / name / "run1").symlink_to(kept.run_folder(name))
    told = answer("report", "kept", "--out", "r.html", cwd=tmp_path)
    assert told["study"] == kept.study.digest
    assert told["left_out"] == []
    found = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert section(found, "parties").text.count("is here") == len(NAMES)
    assert "All 3 transcripts agree" in section(found, "fingerprints").text
    assert "The records of east, south say the same" in section(found, "checks").text
    assert "A rehearsal: all parties ran on one machine" in parsed(found).text


def test_a_transcript_is_verified_as_the_docs_say_without_titan(kept: Gathering) -> None:
    folder = kept.run_folder("north")
    whole = json.loads((folder / "transcript.json").read_bytes())
    body = json.dumps(whole["body"], sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    raw = bytes.fromhex(whole["signature"])
    r, s = (int.from_bytes(half, "big") for half in (raw[:32], raw[32:]))
    certificate = x509.load_pem_x509_certificate(whole["body"]["certificate"].encode())
    key = certificate.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    signed = b" " * 64 + b"titan signature 2\0" + b"titan transcript v3\n" + body.encode()
    key.verify(utils.encode_dss_signature(r, s), signed, ec.ECDSA(hashes.SHA256()))
    assert certificate.fingerprint(hashes.SHA256()).hex() == kept.study.card("north").fingerprint
    digest = hashlib.sha256((folder / "result.json").read_bytes()).hexdigest()
    assert whole["body"]["result_sha256"] == digest
