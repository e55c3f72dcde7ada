"""nbgrader on this course: its commands and Formgrader's buttons, with our release and our judge. Trusted process.

In: nbgrader_config.py calls ``configure``. Out: nbgrader's settings; from then on nbgrader calls what is here.

nbgrader's own converters do the work, on folders that were staged for them: ``generate`` for releases. ``guard`` keeps
any other converter away, ``settings`` brings all of it together, ``workplace`` has the folders and the lock.
"""

from __future__ import annotations

from grader.nbgrader_plugin.settings import configure, install

__all__ = ["configure", "install"]
