"""The command line's verbs, one file each."""
