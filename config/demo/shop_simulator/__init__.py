"""A shop's order system over HTTP: orders with their charges, in the format of docs/ledger-files.md.

Its own process with its own book, spoken to over HTTP only; it imports nothing from the product. It serves this
machine only. What it is asked and answers is described in docs/ledger-source.md.
"""
