"""Random worlds: tasks that are drawn by number from a documented distribution, for tuning and for judging."""
