"""Devices that a launch plan can be carried out on: ``simulated`` and ``cuda``, each the other's peer.

They run in the runner. In: a plan's operations, one at a time. Out: bytes of buffers, findings, launches (``base``).
"""
