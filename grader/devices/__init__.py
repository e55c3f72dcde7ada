"""Devices that a launch plan can be carried out on: ``simulated`` and ``cuda``, each the other's peer."""
