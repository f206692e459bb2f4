"""Reads for interfaces: scoped, bounded, and never a change."""
