"""Components: parts that several learners share, and that do not depend on any learner."""
