"""nbgrader's settings for this course. They come from course.yml; what you add below them counts for your course."""

from pathlib import Path

c = get_config()  # noqa: F821  (nbgrader defines it)
try:
    from grader.nbgrader_plugin import configure

    configure(c, Path(__file__).parent)
except Exception as error:
    # nbgrader would go on with its own settings, and run students' notebooks: end it instead.
    raise SystemExit(f"{__file__}: {error}") from error
