"""What a customer may do with an own request: name its order, write more, withdraw, ask for a person.

Each runs in one transaction under the workflow's lock, may be repeated, and refuses with a typed error.
"""
