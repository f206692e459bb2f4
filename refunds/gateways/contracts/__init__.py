"""One record for each provider: what it promises, where it says so, and what the operator decided instead."""
