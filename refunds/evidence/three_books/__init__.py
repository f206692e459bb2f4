"""Compares three books of the same refunds: ours, the provider's list, and the settlement reports."""
