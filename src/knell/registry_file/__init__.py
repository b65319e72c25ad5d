"""Files of other programs that knell keeps in step with its own store."""
