"""What every room of life stands on: caller, authority, targets, conversations, receipts."""
