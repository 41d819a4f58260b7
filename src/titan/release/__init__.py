"""What may be opened: the data dictionary of a study, and the sizes that follow from it.

dictionary    what every column is: a number with range and step, a category, a flag, a time
grid          numbers on a public grid, each at its nearest point
draft         a dictionary made up from rows that one holds oneself
sizes         how large a model's columns can be, by interval arithmetic over the dictionary
made          which columns a formula makes, and to how many bits they are rounded
opened        every sum that a model opens, as a function of the columns
budget        how much of a table such sums may tell
"""

from titan.release.dictionary import Category, Column, Dictionary, Flag, Number, Time

__all__ = ["Category", "Column", "Dictionary", "Flag", "Number", "Time"]
