"""Answers, kept: what every result has in common, several of them together, and their file."""

from titan.results.result import Result
from titan.results.result_file import decode, encode, save
from titan.results.results import QuestionOutcome, Results

__all__ = ["QuestionOutcome", "Result", "Results", "decode", "encode", "save"]
