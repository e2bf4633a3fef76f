"""The benchmark on random worlds: learners are judged by what they play, in worlds that nobody tuned them to."""
