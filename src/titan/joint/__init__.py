"""Joint computations: methods written once, each as a fold over private sums.

computation   what a method is
settings      how its sums are made
together      all parties in this process
task          one party of a session
meeting       several computations in one run: their sums of one stage travel together
average       one number or vector of every party; `averaged` is its answer, `average_question` the
              same on a study's grid
counts        how many parties there are
equations     pooled normal equations, with scales found or given
pooled_model  what regression, ridge and systems share; `checking` is what is looked at in between
regression    least squares with standard errors, robust ones too
ridge         least squares with a penalty
glm           logistic and Poisson regression, step by step; `glm_question` as a study asks it
cox           proportional hazards, stratified by party, by the same steps: `cox_asked` is the
              question in words, `cox_rows` one party's rows, `cox_steps` its sums, `cox_leverage`
              what it looks at before them, `cox_question` as a study asks it
system        the paper's own question: A x = b
describe      counts, means, standard deviations, histograms: a Table 1; `description` is its answer
on_grid       a column of numbers as a study knows it, and the bins of its histogram
survival      who leaves when, with or without the event: survival curves by group. `times_asked` is
              the question, `exits` one party's rows, `coarser_grid` what would do where a grid is
              too fine; `survived` is the answer, `survival_curve` one group of it, `kaplan_meier`
              its numbers, `curve_picture` its picture
kinds         what a study can ask, by name
explanations  what a computation tells everybody, in sentences
"""

from titan.joint.computation import Computation, Fold, Sum
from titan.joint.settings import SumOptions, SumSettings
from titan.joint.task import Task
from titan.joint.together import Computed, together

__all__ = [
    "Computation",
    "Computed",
    "Fold",
    "Sum",
    "SumOptions",
    "SumSettings",
    "Task",
    "together",
]
