"""Sweeps: learners over many settings of a task, on one machine or a cluster."""
