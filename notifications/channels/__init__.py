"""How a message leaves: one port, and the channels behind it."""
