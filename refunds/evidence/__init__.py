"""The facts that decisions rest on, read the same way by every stage that needs them."""
