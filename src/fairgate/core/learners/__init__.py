"""Learners: the learners of one loop."""
