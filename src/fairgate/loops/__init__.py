"""Loops: many loops of the core side by side, compiled by JAX or in NumPy, with learners of plain Python among them."""
