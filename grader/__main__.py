"""``python -m grader``: the command ``grader``, for whoever knows an interpreter and no PATH. Trusted process."""

from grader.cli import main

main()
