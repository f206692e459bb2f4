"""One process runner for the demo: starts every part in order, tells the story, stops all of it again."""
