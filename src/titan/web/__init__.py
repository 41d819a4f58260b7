"""Pages for one party, on its own machine and in its own browser.

    the browser ──► guard ──► app ──► a page ──► the library calls that the command line makes
                     who may?          forms in, HTML out

`place` is the folder with this party's keys, cards, studies, tables and runs; `running` is a run
that goes on whether or not somebody looks.
"""
