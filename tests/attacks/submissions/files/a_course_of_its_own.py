"""Brings a course.yml, a problem.py and checks that are easily passed."""

# seen as: wrong-values
# trick
@cuda.jit
def zeros(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 0

def double(x, out):
    zeros[(x.size + 63) // 64, 64](x, out)

def total(x, out):
    zeros[1, 32](x, out)
# end

# file: course.yml
#| course: {id: easy, title: Easy}
#| assignments:
#|   "01": {title: Easy, parts: {correctness: 1000}}
# file: problem.py
#| from grader.problem import Output, Problem
#| class Double(Problem):
#|     entry = "double"
# file: test_hidden.py
#| import pytest
#| @pytest.mark.part("correctness")
#| def test_all_is_well(submission):
#|     pass
# file: test_public.py
#| import pytest
#| @pytest.mark.part("technique")
#| def test_all_is_well_here_too(submission):
#|     pass
