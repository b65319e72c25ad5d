"""`knell top`: every agent live on one screen, and the keys to act on them."""
