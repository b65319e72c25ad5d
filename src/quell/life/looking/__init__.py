"""Looks at runs: what the kernel, their files and their screens show of them."""
