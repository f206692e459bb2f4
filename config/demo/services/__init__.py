"""Embedded PostgreSQL and Redis for the demo and the tests; standard library only, no Django."""
