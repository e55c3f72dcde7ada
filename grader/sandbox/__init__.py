"""The wall between the trusted process and its two children: frames, limits, start and end of jobs.

In: requests of the trusted process. Out: a child's answers, held against what was asked for. ``frames``, ``protocol``,
``limits`` and ``job_processes`` run on both sides, all others on the trusted side.
"""
