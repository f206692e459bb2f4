"""Django's PostgreSQL backend, with a pool that gets over many broken connections at once."""
