"""Files of other programs that quell keeps in step with its own store."""
