"""Random worlds: tasks that are drawn by number from a documented distribution, for tuning and for judging."""

from fairgate.worlds.distribution import World
from fairgate.worlds.loading import load_world, world_named, world_task
from fairgate.worlds.reference import Reference, reference_of
from fairgate.worlds.shapes import JUDGING, Shape

__all__ = ["JUDGING", "Reference", "Shape", "World", "load_world", "reference_of", "world_named", "world_task"]
