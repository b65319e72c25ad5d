"""How people and programs reach knell; nothing below knows of them."""
