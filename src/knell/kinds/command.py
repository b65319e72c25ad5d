"""Any other command: it brings its own argv, and all that is known is that it can be ended."""

from knell.core.kind import Kind

KIND = Kind("command")
