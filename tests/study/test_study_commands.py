"""titan keys and titan study as people meet them, from keys to a checked study."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.cli.test_commands import answer, titan
from tests.study.parties import EXPIRED, identity, save_cards
from tests.study.studies import NAMES, study
from titan import Network
from titan.listing import in_groups
from titan.release import Dictionary, Number
from titan.study import Identity, Link, Study

CARDS = [word for name in NAMES for word in ("--card", f"{name}.card")]
MADE = ["--tau", 1, "--out", "study.toml"]
OF_Y = ["--formula", "y ~ age", "--range", "y=0:100", "--step", "y=0.5"]
REST = [*OF_Y, "--range", "age=0:120", "--step", "age=1", *MADE]


@pytest.fixture
def cards(tmp_path: Path) -> Path:
    save_cards(tmp_path, *NAMES)
    return tmp_path


def test_new_keys(tmp_path: Path) -> None:
    words = ["keys", "new", "--name", "north", "--address", "north.example.org:7443"]
    made = answer(*words, cwd=tmp_path)
    key = tmp_path / "north.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    it = Identity.load(key)
    assert made["fingerprint"] == it.card.fingerprint
    assert (it.card.not_after - it.card.not_before).days == 731
    again = titan(*words, cwd=tmp_path)
    assert again.returncode == 1
    assert "exists already" in again.stderr
    assert Identity.load(key).card == it.card
    forced = titan(*words, "--force", "--days", 10, cwd=tmp_path)
    assert forced.returncode == 0
    assert "BEGIN" not in forced.stdout
    assert Identity.load(key).card.fingerprint in forced.stdout
    assert Identity.load(key).card != it.card


def test_new_keys_elsewhere_and_what_is_refused(tmp_path: Path) -> None:
    words = ["keys", "new", "--name", "north", "--address", "north:1"]
    assert titan(*words, "--out", tmp_path).returncode == 0
    done = titan(*words, "--out", tmp_path / "absent")
    assert (done.returncode, "no such file" in done.stderr) == (1, True)
    for name, address in (("../x", "x:1"), ("x", "x"), ("", "x:1")):
        done = titan("keys", "new", "--name", name, "--address", address, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.startswith("titan: error: ")
    for words, said in (([], "--address is missing"), (["--address", "0.0.0.0:1"], "nobody can")):
        done = titan("keys", "new", "--name", "x", *words, cwd=tmp_path)
        assert (done.returncode, said in done.stderr) == (2, True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["north.card", "north.key"]


def test_show_a_card(cards: Path) -> None:
    card = identity("north").card
    assert answer("keys", "show", "north.card", cwd=cards)["fingerprint"] == card.fingerprint
    assert card.fingerprint in titan("keys", "show", "north.card", cwd=cards).stdout
    assert titan("keys", "show", "absent.card", cwd=cards).returncode == 1


def test_gather_and_check(cards: Path) -> None:
    made = answer(
        "study", "new", *CARDS, "--network", "cycle", "--range", "age=-1.50:120", "--step",
        "age=0.50", "--pull", "north,east", "--min-rows", 7, "--title", "A trial", "--missing",
        "drop", *OF_Y, *MADE, cwd=cards,
    )  # fmt: skip
    it = Study.load(cards / "study.toml")
    assert made["digest"] == it.digest
    assert it.network == Network.cycle(list(NAMES))
    assert [link for link in it.links if link.dial == "pull"] == [Link("north", "east", "pull")]
    described = {"age": Number.read("-1.5", "120", ".5"), "y": Number.read("0", "100", "0.5")}
    assert it.columns == Dictionary.of(described)
    assert [str(question) for question in it.questions] == ["regression: y ~ 1 + age"]
    assert (it.title, it.missing, it.min_rows_party) == ("A trial", "drop", 7)
    found = answer("study", "check", "study.toml", cwd=cards)
    assert found["ok"]
    assert found["digest"] == it.digest
    assert set(found["bytes_sent"]) == set(NAMES)
    assert {"strongly_connected", "diameter", "weak_connectivity", "rounds", "learned", "warnings",
            "problems", "hidden"} <= set(found)  # fmt: skip
    shown = titan("study", "check", "study.toml", cwd=cards)
    assert shown.returncode == 0
    assert it.digest in shown.stdout
    assert f"sends {found['bytes_sent']['west']} and receives" in shown.stdout
    assert all(item["sentence"][:40] in shown.stdout for item in found["learned"])
    assert "note: " in shown.stdout


def test_lines_and_the_time_they_take(cards: Path) -> None:
    lines = ("--latency-ms", 100, "--bandwidth-mbit", 50)
    answer("study", "new", *CARDS, *lines, *REST, cwd=cards)
    it = Study.load(cards / "study.toml")
    assert (it.latency_ms, it.bandwidth_mbit) == (100, 50)
    found = answer("study", "check", "study.toml", cwd=cards)
    assert (found["latency_ms"], found["bandwidth_mbit"]) == (100, 50)
    trips = 5 * it.network.diameter + 3
    assert trips / 10 <= found["predicted_seconds"] < trips / 10 + 0.1
    shown = titan("study", "check", "study.toml", cwd=cards).stdout
    assert f"{found['predicted_seconds']:.3g} s from all connected to the answer" in shown


def test_one_word_for_what_is_read_out(cards: Path) -> None:
    """A study's fingerprint as `titan keys` shows a party's; in JSON it is the digest."""
    made = titan("study", "new", *CARDS, *REST, cwd=cards).stdout
    digest = Study.load(cards / "study.toml").digest
    assert Study.load(cards / "study.toml").title == "How y depends on age", "nobody gave one"
    sheet = titan("study", "sheet", "study.toml", "--out", "sheet.html", cwd=cards).stdout
    for shown in (made, sheet, titan("study", "check", "study.toml", cwd=cards).stdout):
        lines = [line.split(maxsplit=1) for line in shown.splitlines()]
        assert ["fingerprint", digest] in lines
        assert "digest" not in shown
        assert in_groups(digest) in " ".join(shown.split())


@pytest.mark.parametrize("network", ["design", "complete", "links.csv"])
def test_networks_of_a_study(cards: Path, network: str) -> None:
    Network.cycle(["west", "south", "east", "north"]).to_csv(cards / "links.csv")
    assert titan("study", "new", *CARDS, "--network", network, *REST, cwd=cards).returncode == 0
    it = Study.load(cards / "study.toml")
    assert it.network.parties == NAMES, "in the order of the cards"
    assert it.network.tolerates(1)
    if network == "links.csv":
        assert ("west", "south") in it.network.edges


def test_a_study_is_not_overwritten_by_accident(cards: Path) -> None:
    words = ["study", "new", *CARDS, *REST]
    assert titan(*words, cwd=cards).returncode == 0
    kept = (cards / "study.toml").read_bytes()
    done = titan(*words, "--title", "other", cwd=cards)
    assert done.returncode == 1
    assert "exists already" in done.stderr
    assert (cards / "study.toml").read_bytes() == kept
    assert titan(*words, "--title", "other", "--force", cwd=cards).returncode == 0
    assert Study.load(cards / "study.toml").title == "other"


@pytest.mark.parametrize(
    ("words", "message", "status"),
    [
        (["--tau", 2, "--network", "cycle"], "does not tolerate τ = 2", 1),
        (["--tau", 3], "τ = 3", 1),
        (["--network", "links.csv"], "links.csv cannot be read: no such file", 1),
        (["--network", "star"], "'star' is neither a file nor a family of networks", 2),
        (["--network", "star"], "one of design, cycle, complete", 2),
        (["--range", "age"], "not a range", 2),
        (["--range", "age=0:x"], "not a decimal number", 2),
        (["--range", "shoe=0:1"], "'shoe' is not a column", 2),
        (["--range", "a=0:1", "--step", "a=0.3"], "its step does not divide its range", 2),
        (["--step", "a=1"], "the range of 'a' is missing", 2),
        (["--levels", "a=a,a"], "two of its levels are 'a'", 2),
        (["--flag", "age"], "'age' is described twice", 2),
        (["--range", "age=0:9"], "'age' is described twice", 2),
        (["--ask", "regression: y ~ a"], "the data dictionary does not say what 'a' is", 2),
        (["--ask", "guess"], "there is no question of kind 'guess'", 2),
        (["--ask", "ridge: y ~ a; alpha=-1"], "the penalty -1 is negative", 2),
        (["--ask", "ridge: y ~ a; alpha=1e-999999999"], "a number of more than", 2),
        (["--ask", "ridge: y ~ a; alpha=1e500"], "a number of more than", 2),
        (["--ask", "ridge: y ~ a; alpha=1/3"], "not a decimal number", 2),
        (["--ask", "describe: age; bins=age=0:1e30:1"], "too many", 2),
        (["--ask", "regression: y ~ a; name=q1"], "another question is called 'q1'", 2),
        (["--pull", "north"], "no such link", 2),
        (["--pull", "north,north"], "no such link", 2),
        (["--release", "rows"], "release is 'rows'", 2),
        (["--formula", "y ~ C(sex)"], "levels", 2),
        (["--card", "north.card"], 'called "north"', 1),
        (["--card", "absent.card"], "absent.card cannot be read: no such file", 1),
        (["--rounds", 1, "--network", "cycle"], "below the network's diameter", 2),
    ],
)
def test_a_study_that_cannot_be_is_not_written(
    cards: Path, words: list[object], message: str, status: int
) -> None:
    done = titan("study", "new", *CARDS, *REST, *words, cwd=cards)
    assert done.returncode == status
    assert message in done.stderr
    assert not (cards / "study.toml").exists()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--ask", "guess"], "glm, regression, ridge, solve, survival; a colon follows"),
        (["--ask", "regression y ~ a"], "a colon follows, as in 'describe: age'"),
        (["--ask", "ridge: y ~ a"], "its options are formula, weights, alphas"),
        (["--range", "shoe=0:1", "--step", "shoe=1"], "check its spelling, or say nothing about"),
    ],
)
def test_what_to_do_about_it_is_said(cards: Path, words: list[str], hint: str) -> None:
    done = titan("study", "new", *CARDS, *REST, *words, cwd=cards)
    assert done.returncode == 2
    assert hint in done.stderr.partition("titan: hint: ")[2]


def test_what_a_rule_of_release_forbids_has_its_own_status(cards: Path) -> None:
    asked = ["--ask", "regression: y ~ a; cov_type=cluster"]
    done = titan("study", "new", *CARDS, *REST, *asked, cwd=cards)
    assert done.returncode == 3
    assert "not offered over a network of 4 parties" in done.stderr
    assert "hint: cov_type=HC0, or at least 5 parties" in done.stderr
    assert not (cards / "study.toml").exists()


def test_check_tells_by_its_status(cards: Path) -> None:
    identity("north", made=EXPIRED, days=1).card.save(cards / "north.card", force=True)
    done = titan("study", "new", *CARDS, *REST, cwd=cards)
    assert (done.returncode, "expired on 2000-01-02" in done.stderr) == (1, True)
    links = tuple(Link(a, b) for a, b in Network.cycle(list(NAMES)).edges[:-1])
    good = study(formula="y ~ a", ranges=(), links=links)
    good.save(cards / "study.toml")
    done = titan("study", "check", "study.toml", "--json", cwd=cards)
    assert done.returncode == 1
    assert '"ok": false' in done.stdout
    assert "not strongly connected" in done.stderr
    assert titan("study", "check", "absent.toml", cwd=cards).returncode == 1


# -- the wrong file, and what cannot be kept --------------------------------------------------


def test_the_wrong_file_is_told_what_it_is(cards: Path) -> None:
    identity("north").save(cards, force=True)
    (cards / "north.csv").write_text("y,a\n1,2\n")
    assert titan("study", "new", *CARDS, *REST, cwd=cards).returncode == 0
    two = ["--card", "east.card", "--card", "north.key"]
    for words, message, hint in (
        (["keys", "show", "north.key"], "a private key, not a card", "never send the key"),
        (["study", "new", *two, *REST], "a private key, not a card", "never send the key"),
        (["study", "check", "north.key"], "a private key, not a study", "never send the key"),
        (["study", "check", "north.card"], "this is a card, not a study", "titan study new"),
        (["study", "check", "north.csv"], "not a study", "titan study new"),
        (["keys", "show", "study.toml"], "this is a study, not a card", "titan keys new"),
        (["keys", "show", "north.csv"], "not a card", "titan keys new"),
    ):
        done = titan(*words, cwd=cards)
        error, advice = done.stderr.splitlines()
        assert (done.returncode, message in error, hint in advice) == (1, True, True), words
        assert "BEGIN" not in done.stderr


def test_a_study_that_does_not_hide_promises_nothing(cards: Path) -> None:
    assert titan("study", "new", *CARDS, "--network", "cycle", *REST, cwd=cards).returncode == 0
    file = cards / "study.toml"
    file.write_text(file.read_text().replace("tau = 1", "tau = 2"))
    done = titan("study", "check", "study.toml", cwd=cards)
    assert done.returncode == 1
    assert "warning: this network does not hide" in done.stdout
    assert "nothing else" not in done.stdout
    assert "titan network design 4 --tau 2" in done.stderr
    assert "Network.design" not in done.stderr
    told = titan("study", "check", "study.toml", "--json", cwd=cards).stdout
    assert "titan network design 4 --tau 2" in told


def test_a_check_shows_what_the_study_says_of_rows(cards: Path) -> None:
    of_w = ["--range", "w=0.5:9", "--step", "w=0.5"]
    words = ["--missing", "drop", "--weights", "w", *of_w, "--masks", "seeded"]
    assert titan("study", "new", *CARDS, *words, *REST, cwd=cards).returncode == 0
    told = titan("study", "check", "study.toml", cwd=cards).stdout
    lines, shown = told.splitlines(), " ".join(told.split())
    assert max(map(len, lines)) <= 80
    for label, text in {
        "columns": "age from 0 to 120 by 1; w from 0.5 to 9 by 0.5; y from 0 to 100 by 0.5",
        "missing values": "drop", "masks": "seeded", "bits of each sum": "48, 64 (2 times)",
        "rows needed of a cell that occurs": "3",
    }.items():  # fmt: skip
        assert f" {label} {text}" in shown
    assert "q1, regression: y ~ 1 + age; weights w" in lines
    assert "bytes inside the sums are those of their encoded envelopes" in shown


# -- several questions ------------------------------------------------------------------------

DESCRIBED = [
    "--range", "age=0:120", "--step", "age=1", "--unit", "age=years", "--range", "y=0:9.9",
    "--step", "y=0.1", "--levels", "sex=f,m", "--flag", "died",
]  # fmt: skip
ASKED = [
    "--ask", "regression: y ~ age + sex; cov_type=HC0; name=main",
    "--ask", "ridge: y ~ age + died; alpha=0.1,1,10",
    "--ask", "solve: age, died; response=y",
    "--ask", "describe: age, y, sex",
    "--ask", "average; name=mean",
]  # fmt: skip


def test_a_study_of_several_questions(cards: Path) -> None:
    words = [*CARDS, *DESCRIBED, *ASKED, "--tau", 1, "--out", "study.toml"]
    assert titan("study", "new", *words, cwd=cards).returncode == 0
    it = Study.load(cards / "study.toml")
    assert [(question.name, str(question)) for question in it.questions] == [
        ("main", 'regression: y ~ 1 + age + sex["f", "m"]; cov_type HC0'),
        ("q2", "ridge: y ~ 1 + age + died; alphas 0.1, 1, 10"),
        ("q3", "solve: age, died; response y"),
        ("q4", "describe: age, y, sex"),
        ("mean", "average: age, y"),
    ]
    assert it.columns.content() == {
        "age": {"kind": "number", "range": ["0", "120"], "step": "1", "unit": "years"},
        "died": {"kind": "flag"},
        "sex": {"kind": "category", "levels": ["f", "m"]},
        "y": {"kind": "number", "range": ["0", "9.9"], "step": "0.1"},
    }
    text = (cards / "study.toml").read_text()
    assert '[columns.sex]\nkind = "category"\nlevels = [\n    "f",\n    "m",\n]\n' in text
    assert text.count("[[questions]]") == 5


def test_a_check_tells_question_by_question_what_is_opened(cards: Path) -> None:
    words = [*CARDS, *DESCRIBED, *ASKED, "--tau", 1, "--out", "study.toml"]
    assert titan("study", "new", *words, cwd=cards).returncode == 0
    found = answer("study", "check", "study.toml", cwd=cards)
    assert [question["name"] for question in found["questions"]] == [
        "main", "q2", "q3", "q4", "mean",
    ]  # fmt: skip
    for question in found["questions"]:
        assert {"name", "kind", "asked", "sums"} <= set(question)
        for each in question["sums"]:
            assert set(each) == {"name", "entries", "bits", "opens"}
    assert [each["name"] for each in found["questions"][0]["sums"]] == [
        "counts", "regressors", "response", "robust errors",
    ]  # fmt: skip
    shown = titan("study", "check", "study.toml", cwd=cards).stdout
    assert "sum 2 opens, in 6 × " in shown
    cells = "the rows in every cell of sex; how many parties have rows in those of sex; "
    told = f"{cells}the rows and parties off coarser grids of age, y"
    assert told in " ".join(shown.split())
    assert "age from 0 to 120 by 1 (years); died 0 or 1; sex one of f, m" in " ".join(shown.split())
    heads = ("main, regression", "q2, ridge", "q3, solve", "q4, describe", "mean, average")
    order = [shown.index(head) for head in heads]
    assert order == sorted(order)


def test_columns_that_are_said_are_those_of_an_unnamed_system(cards: Path) -> None:
    ranges = [word for c in "acb" for word in ("--range", f"{c}=0:1", "--step", f"{c}=0.01")]
    words = [*CARDS, *ranges, "--ask", "solve"]
    assert titan("study", "new", *words, *MADE, cwd=cards).returncode == 0
    (question,) = Study.load(cards / "study.toml").questions
    assert question.options == {"columns": ("a", "c"), "response": "b"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no question is asked"),
        (["--ask", "solve"], "a solve question does not say its columns"),
        (["--weights", "w"], "--weights goes with --formula"),
        (["--release", "solution", "--ask", "regression: y ~ a"], "--release goes with --formula"),
    ],
)
def test_what_is_asked_must_be_said(cards: Path, words: list[str], message: str) -> None:
    done = titan("study", "new", *CARDS, *MADE, *words, cwd=cards)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    done = titan("keys", "new", "--name", "a", "--address", "a:1", "--out", absent)
    assert f"make the folder first: mkdir -p {absent}" in done.stderr
