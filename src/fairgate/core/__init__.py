"""Core: pure functions of one closed loop, run directly by NumPy or compiled by JAX for a CPU or a GPU.

Each function here handles a single loop. :mod:`fairgate.loops.simulation` adds the loops (`vmap`), the rounds (`scan`)
and the compilation (`jit`). A function uses the library of its arrays (:func:`fairgate.arrays.namespace`). Random
numbers are a function of seed, loop, round and purpose (:class:`fairgate.random.Draws`).

An *environment* is a record of arrays (:func:`fairgate.arrays.record`) with

===================================  =================================================================================
``start()``                          the state of the population before the first round: an array or a record
``cells(state, policy)``             P(group, label, decision), (groups, 2, 2), sums to 1
``histogram(state, edges)``          P(group, bin, label), (groups, K + 1, 2), of scores binned by K edges; bin k
                                     holds the scores of at least edge k − 1 and below edge k
``update(state, policy, counts,      the state after a batch; a group without applicants does not move; random numbers
draws)``                             only from ``draws`` with purpose ``RESPONSE``
``of(described)``                    the record of an environment that a user described (a class method)
``alike(several)``                   the same environments with arrays of equal lengths, for stacking (a class method,
                                     if lengths depend on settings; see :mod:`fairgate.loops.cast`)
===================================  =================================================================================

A *learner* is a record of its settings with

===================================  =================================================================================
``level``                            the feedback that it sees, a class attribute: ``"bandit"`` to ``"full-labels"``
``learns_late``                      whether it learns from labels that arrive late; by default it does not
``init(setting)``                    its memory before the first round: a record of arrays, whose shapes never change
``propose(setting, memory, draws)``  the policy to play now; random numbers only with purpose ``LEARNER``
``observe(setting, memory, draws,    its memory after a round in which ``played`` was played: its own proposal or a
played, feedback)``                  policy that overrode it
``recommend(setting, memory)``       the policy that it recommends to keep (if it has one)
``traces(memory)``                   numbers to record each round, by name, before its proposal (if it has any)
===================================  =================================================================================
"""
