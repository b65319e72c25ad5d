"""What many hosts need to agree on: orders and targets; pure."""
