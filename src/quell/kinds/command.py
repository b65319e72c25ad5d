"""Any other command: it brings its own argv, and all that is known is that it can be ended."""

from quell.core.kind import Kind
from quell.kinds.enclosing import ENCLOSING

KIND = Kind("command", strip_env=ENCLOSING)
