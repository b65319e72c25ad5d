"""`knell web`: every agent live in a browser, and a JSON API for the same."""
