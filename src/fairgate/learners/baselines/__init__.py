"""Baselines: what the recommended learners are compared with, one file per algorithm."""
