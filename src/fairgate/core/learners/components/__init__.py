"""Parts that several learners are made of. They know nothing of the learners."""
