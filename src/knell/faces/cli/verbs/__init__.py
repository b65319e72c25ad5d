"""The command line's verbs by subject: the table in group.py says in which file each is."""
