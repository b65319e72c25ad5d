"""What is promised on which system: one sentence that README, docs and --help repeat."""

PROMISE = (
    "Linux: proven. macOS: written from its sources, not yet run there; proof is 'none found'."
)
