"""titan report: what a run was and found, as one page for a paper and for the data steward."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from titan.cli import options
from titan.cli.output import (
    ask_before_replacing,
    check_writable,
    give,
    html_name,
    refuse_inputs,
    show_pairs,
    show_wrapped,
)
from titan.errors import UsageError


def command(
    run: Annotated[
        Path,
        Argument(
            metavar="RUN|RESULT", help="A run's folder, a rehearsal's --out, or a saved result."
        ),
    ],
    out: Annotated[Path, Option(help="The page to write, such as report.html.")],
    study: Annotated[
        Path | None, Option(help="The study's file, if it is not in or beside the run's folder.")
    ] = None,
    pdf: Annotated[
        bool, Option("--pdf", help="Print it to a PDF of the same name, too, with a browser.")
    ] = False,
    browser: Annotated[
        str | None, Option(help="The browser that prints. [default: Chromium, Chrome or Edge]")
    ] = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Write a report: the study in words, who took part, what was opened, checked and found.

    It is one file that loads and runs nothing, for the appendix of a paper and for the data
    steward. It prints in black and white. Its tables have the numbers of titan show --json. What is
    not known (for a saved result, everything but the answers) is left out, and the report says so.

    \b
    Example:
      titan report kept --out report.html
      titan report runs/3f2a9c0d1e4b-run1-north --out report.html --pdf
      titan report main.json --out main.html --force
    """
    from titan import files
    from titan.report import pdf as printing
    from titan.reporting import gather, now, report, unknown

    html_name(out, "the report")
    if browser is not None and not pdf:
        raise UsageError("--browser goes with --pdf", hint="add --pdf, or leave --browser out")
    printed = out.with_suffix(".pdf") if pdf else None
    program = printing.browser(browser) if pdf else ""
    targets = [out, *([printed] if printed else [])]
    for target in targets:
        check_writable(target)
        refuse_inputs(target, [run, *([study] if study else [])])
    found = gather(run, study)
    force = ask_before_replacing(targets, force)
    page = report(found, now()).encode()
    files.write(out, page, mode=0o644, force=force)
    if printed is not None:
        files.write(printed, printing.to_pdf(page, program), mode=0o644, force=force)
    missing = unknown(found)
    answer = {
        "report": str(out),
        "pdf": None if printed is None else str(printed),
        "study": found.results.study,
        "questions": list(found.results.names),
        "left_out": missing,
    }

    def as_text() -> None:
        show_pairs([("report", str(out)), *([("pdf", str(printed))] if printed else [])])
        for said in missing:
            show_wrapped("left out: ", said)

    give(answer, as_text, json=json)
