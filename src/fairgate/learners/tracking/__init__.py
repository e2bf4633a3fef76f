"""Parts of the learners that follow people: who comes now, how they do, and what is safe for them now."""
