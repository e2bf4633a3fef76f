"""Attempts: how often log-ins failed of late."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable


class Attempts:
    """Counts log-ins that failed of late, whoever sent them: where a request says that it is from can be made up.

    >>> attempts = Attempts(most=1, seconds=60.0, clock=lambda: 0.0)
    >>> attempts.failed(), attempts.failed()
    (False, True)
    """

    def __init__(self, most: int = 20, seconds: float = 300.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.most = most
        self.seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._times: deque[float] = deque(maxlen=most)

    def failed(self) -> bool:
        """Note a failure, and say whether there were as many as are let pass already."""
        now = self._clock()
        with self._lock:
            too_many = len(self._times) == self.most and self._times[0] > now - self.seconds
            self._times.append(now)
        return too_many
