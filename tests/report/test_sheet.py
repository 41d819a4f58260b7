"""titan study sheet: all that a board must know on one page, which loads and runs nothing."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.cli.test_commands import answer, titan
from tests.study.parties import EXPIRED, NOW, identity
from tests.study.studies import regression, study
from titan.joint.kinds import Question
from titan.listing import in_groups
from titan.release import Category, Dictionary, Flag, Number
from titan.report.sheet import sheet
from titan.study import Study
from titan.study.preflight import check
from titan.study.shares import shares

COLUMNS = Dictionary.of(
    {
        "age": Number.read("0", "120", "1", "years"),
        "y": Number.read("0", "300", "0.1"),
        "sex": Category(("f", "m")),
        "died": Flag(),
    }
)
QUESTIONS = (
    regression("y ~ log(1 + age) + sex", name="main", cov_type="HC0"),
    regression("y ~ age", name="bare", release="solution"),
    Question("ridge", "shrunk", (("formula", "y ~ age"), ("alphas", ("0.1", "1")))),
    Question("describe", "table", (("columns", ("age", "sex", "died")),)),
    Question("average", "means", (("columns", ("y",)),)),
    Question("solve", "equations", (("columns", ("age",)), ("response", "y"))),
)
ALL = study(columns=COLUMNS, questions=QUESTIONS)


class Page(HTMLParser):
    """Elements with their attributes, and the text of each."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.alarm: list[str] = []
        self._within: list[bool] = []
        self.feed(text)
        self.close()
        assert not self.open, "every element ends"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)
            self._within.append(any(self._within[-1:]) or ("class", "alarm") in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self._within.pop()

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)
            if any(self._within[-1:]):
                self.alarm.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def page(it: Study) -> Page:
    return Page(sheet(it, check(it, NOW), shares(it), NOW))


def test_who_what_in_which_order_and_lines_to_sign() -> None:
    found = page(ALL).text
    assert ALL.title in found
    assert in_groups(ALL.digest) in found
    for card in ALL.parties:
        assert card.name in found
        assert in_groups(card.fingerprint) in found
    for words in (
        "how y depends on age, sex: least squares with standard errors",
        "how y depends on age: least squares, the coefficients alone",
        "least squares with penalties 0.1, 1",
        "counts, means and standard deviations of age, sex, died",
        "the average over the parties of y",
        "linear equations in age, with the right side y",
        "age from 0 to 120 by 1 (years)", "sex one of f, m", "died 0 or 1",
        "rounded to 20 bits", "10 rows from each party, 40 in all, 3 for each parameter",
        "at least 3 rows, even without any one party's. Those that are summed over have rows "
        "from at least 3 parties. No row has a leverage above 1/3",
        "a curious party learns nothing else about the others' rows", "signature",
    ):  # fmt: skip
        assert words in found, words
    steps = [found.index(step) for step in ("1. counts", "2. what", "3. outcomes", "4. robust")]
    assert steps == sorted(steps)
    product = found.index("the sum over all parties' rows of its product with y")
    assert steps[2] < product < steps[3], "what has an outcome in it comes after the regressors"
    assert steps[0] < found.index("the rows in every cell of sex") < steps[1]


def test_words_that_a_board_may_not_know_are_explained_where_they_occur() -> None:
    found = page(ALL).text
    assert "which is how far that row's outcome is from what the fit expects" in found
    assert "values that are not multiples of 2, 5, 10 or more steps" in found
    assert "“Leverage” is how much a single row decides the fit" in found
    plain = page(study(columns=COLUMNS, questions=(regression("y ~ 1"),))).text
    assert "e²" not in plain, "nobody asked for robust errors"
    assert "the mean of y: least squares with standard errors" in plain


def test_that_small_counts_are_seen_stands_on_it() -> None:
    said = "Counts of cells, small ones too, are opened before anything is refused"
    assert said in page(ALL).text
    assert said not in page(replace(ALL, cells="local")).text


def test_the_red_box_is_there_only_if_something_is_lowered() -> None:
    assert page(ALL).alarm == []
    assert "Nothing is below what the policy “titan” asks for" in page(ALL).text
    lowered = page(replace(ALL, precision="exact", min_cell=2))
    said = " ".join(lowered.alarm)
    assert "EXACTLY, to the last digit" in said
    assert "cells of 2 rows may be opened" in said
    assert "taken EXACTLY" in lowered.text
    without = page(replace(ALL, min_cell=0))
    assert "NOTHING is checked" in " ".join(without.alarm)
    assert "rows of any leverage may be opened" in without.text
    assert "is refused" not in without.text, "no promise where nothing is checked"


def test_from_how_many_rows_on_made_columns_tell_little_enough() -> None:
    one = study(columns=COLUMNS, questions=(regression("y ~ log(1 + age)"),))
    least = max(each["least_rows"] * each["cells"] for each in shares(one))
    assert f"fewer than about {least} rows in all, this study is refused" in page(one).text
    powers = " + ".join(f"I(age ** {n})" for n in range(2, 21))
    ladder = study(columns=COLUMNS, questions=(regression(f"y ~ {powers}"),))
    told = {each["least_rows"] for each in shares(ladder)}
    assert ("this is refused whatever the rows" in page(ladder).text) is (None in told)


def test_what_others_wrote_is_text() -> None:
    odd = "<script>alert(1)</script> & <b>\"'"
    columns = Dictionary.of({**COLUMNS, "sex": Category((odd, "m"))})
    it = replace(
        study(columns=columns, questions=(regression("y ~ age + sex", name=odd),)), title=odd
    )
    found = page(it)
    assert found.text.count(odd) >= 3
    assert {tag for tag, _ in found.tags} <= {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "div", "span", "b",
        "code", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td",
    }  # fmt: skip


def test_nothing_is_loaded_and_nothing_runs() -> None:
    text = sheet(ALL, check(ALL, NOW), shares(ALL), NOW)
    attributes = {name for _, named in Page(text).tags for name in named}
    assert attributes == {"lang", "charset", "http-equiv", "content", "name", "class", "scope"}
    assert not any(word in text for word in ("http://", "https://", "url(", "@import", "<script"))
    assert "default-src 'none'" in text
    assert "unsafe" not in text
    assert "size: A4" in text


def test_one_row_and_more_opened_than_rows_hold() -> None:
    asked = (Question("describe", "table", (("columns", ("age",)),)),)
    few = study(columns=COLUMNS, questions=asked, min_rows_party=1, min_rows_total=1)
    text = page(few).text
    assert "at least 1 row from each party" in text
    assert "1 rows" not in text
    assert "that is more than so few rows hold" in text
    many = page(replace(few, min_rows_party=10, min_rows_total=10_000)).text
    assert "more than so few rows hold" not in many


# -- the command ------------------------------------------------------------------------------


def test_the_command_writes_it_once(tmp_path: Path) -> None:
    replace(ALL, min_cell=2).save(tmp_path / "study.toml")
    words = ["study", "sheet", "study.toml", "--out", "sheet.html"]
    made = answer(*words, cwd=tmp_path)
    assert (made["sheet"], [each["rule"] for each in made["lowered"]]) == (
        "sheet.html",
        ["rows_per_cell"],
    )
    assert in_groups(made["digest"]) in (tmp_path / "sheet.html").read_text()
    again = titan(*words, cwd=tmp_path)
    assert (again.returncode, "exists already" in again.stderr) == (1, True)
    assert titan(*words, "--force", cwd=tmp_path).returncode == 0
    over = titan("study", "sheet", "study.toml", "--out", "study.toml", "--force", cwd=tmp_path)
    assert (over.returncode, "is one of the inputs" in over.stderr) == (2, True)
    pdf = titan("study", "sheet", "study.toml", "--out", "sheet.pdf", cwd=tmp_path)
    assert (pdf.returncode, "does not end in .html" in pdf.stderr) == (2, True)
    assert not (tmp_path / "sheet.pdf").exists()
    assert Study.load(tmp_path / "study.toml") == replace(ALL, min_cell=2)


@pytest.mark.parametrize("at", [0, 2])
def test_a_study_that_nobody_could_join_is_not_to_be_signed(tmp_path: Path, at: int) -> None:
    cards = list(ALL.parties)
    cards[at] = identity(cards[at].name, EXPIRED, 30).card
    replace(ALL, parties=tuple(cards)).save(tmp_path / "study.toml")
    done = titan("study", "sheet", "study.toml", "--out", "sheet.html", cwd=tmp_path)
    assert done.returncode == 1
    assert "expired" in done.stderr
    assert not (tmp_path / "sheet.html").exists()


def test_many_steps_that_open_the_same_are_one_row() -> None:
    """A logistic regression may take 22 steps, and a board reads the sheet on paper."""
    asked = Question("glm", "risk", (("formula", "died ~ age"), ("family", "binomial")))
    found = page(study(columns=COLUMNS, questions=(asked,)))
    assert "how died depends on age: logistic regression" in found.text
    assert "3. outcomes" in found.text
    assert "4 to 24. step 2 to step 22" in found.text
    assert found.text.count("the score and the Hessian") == 2
    assert found.text.count("(the last one)") == 1
