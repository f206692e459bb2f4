"""A server that speaks OpenAI's chat completions and answers by rule: the demo's model.

Its own process with its own book, spoken to over HTTP only; it imports nothing from the product. It serves this
machine only. Source of the shapes: platform.openai.com/docs/api-reference/chat.
"""
