"""How people and programs reach quell; nothing below knows of them."""
