-- Ended runs that lack the steps after an ending: the command that was to take them ended with the
-- agent that gave it, and the look that recorded the end sends no signal.
CREATE TABLE owed (
    run   TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    taker TEXT NOT NULL DEFAULT ''  -- the process that takes the steps; empty: none does
);
