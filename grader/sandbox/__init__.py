"""The wall between the trusted process and its two children: frames, limits, start and end of jobs."""
