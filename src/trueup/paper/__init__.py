"""The paper's experiments. The only home of seeded noise: what it makes is NOT PRIVATE."""
