"""Parts of the learners that predict steady states: each has one job, and :class:`Forecast` puts them together."""
