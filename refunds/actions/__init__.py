"""What reaches a request from outside: its customer's own actions, and the provider's events.

A customer may name the order, write more, withdraw, or ask for a person; each runs in one transaction under the
workflow's lock, may be repeated, and refuses with a typed error.
"""
