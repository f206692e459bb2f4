"""A real, small instruct model on this machine's CPU, behind OpenAI's chat completions: `make demo MODEL=local`.

Its answers have the right form and are often wrong, which is what it is here for.
"""
