-- Agents, their runs, the runs that live now, and the events.
-- Times are ISO 8601 text in UTC. A process is pid:start:boot:inode, empty when unknown.
-- SQLite stores the comments inside of a statement with the table, so those here never change.

-- The durable identity of an agent. An ending never deletes it.
CREATE TABLE agents (
    name         TEXT PRIMARY KEY,
    kind         TEXT NOT NULL,
    cwd          TEXT NOT NULL,
    args         TEXT NOT NULL,  -- JSON: ["--model", "x"]
    env          TEXT NOT NULL,  -- JSON: [["NAME", "value"]]
    place        TEXT NOT NULL,
    server       TEXT NOT NULL,
    team         TEXT NOT NULL,
    tag          TEXT NOT NULL,
    role         TEXT NOT NULL,
    task         TEXT NOT NULL,
    keep         TEXT NOT NULL,  -- JSON: ["node *dev*"]
    conversation TEXT NOT NULL,
    created_at   TEXT NOT NULL
);

-- One row per run, final once it has an outcome.
CREATE TABLE runs (
    seq         INTEGER PRIMARY KEY,  -- the order in which lives began
    id          TEXT NOT NULL UNIQUE,
    agent       TEXT NOT NULL REFERENCES agents (name),
    host        TEXT NOT NULL,
    place       TEXT NOT NULL,
    pane        TEXT NOT NULL,
    server      TEXT NOT NULL,
    server_pid  INTEGER NOT NULL,
    session     TEXT NOT NULL,
    log         TEXT NOT NULL,
    started_at  TEXT NOT NULL,
    parent      TEXT NOT NULL,
    keeper      TEXT NOT NULL,
    process     TEXT NOT NULL,
    cgroup      TEXT NOT NULL,
    rung        TEXT NOT NULL DEFAULT '',
    outcome     TEXT,                 -- NULL while it lives
    ended_by    TEXT NOT NULL DEFAULT '',
    reason      TEXT NOT NULL DEFAULT '',
    detail      TEXT NOT NULL DEFAULT '',
    exit_code   INTEGER,
    exit_signal INTEGER,
    ended_at    TEXT NOT NULL DEFAULT ''
);
CREATE INDEX runs_of_agent ON runs (agent, seq);

CREATE TRIGGER ended_runs_are_final BEFORE UPDATE ON runs WHEN OLD.outcome IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'an ended run is final');
END;

-- What only a live run has. The transaction that ends the run deletes the row.
CREATE TABLE instances (
    run    TEXT PRIMARY KEY REFERENCES runs (id),
    agent  TEXT NOT NULL UNIQUE REFERENCES agents (name),
    state  TEXT NOT NULL CHECK (state IN ('spawning', 'running', 'stopping')),
    owner  TEXT NOT NULL,             -- the knell that is spawning or ending it
    ending TEXT NOT NULL DEFAULT '',  -- JSON, while stopping: what was asked for, by whom and why
    rung   TEXT NOT NULL DEFAULT ''
);

-- Processes that outlived their run. No reference to runs: a leftover may come from elsewhere.
CREATE TABLE orphans (
    pid        INTEGER NOT NULL,
    start      INTEGER NOT NULL,
    boot       TEXT NOT NULL,
    inode      INTEGER NOT NULL,
    run        TEXT NOT NULL,
    agent      TEXT NOT NULL,
    tag        TEXT NOT NULL,
    command    TEXT NOT NULL,
    why        TEXT NOT NULL,
    tracked_at TEXT NOT NULL,
    PRIMARY KEY (pid, start, boot)
);

-- The audit trail. AUTOINCREMENT: no number is used twice, so that a follower misses no event.
CREATE TABLE events (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    at    TEXT NOT NULL,
    type  TEXT NOT NULL,
    agent TEXT NOT NULL,
    run   TEXT NOT NULL,
    data  TEXT NOT NULL  -- JSON
);
CREATE INDEX events_of_agent ON events (agent, id);

-- The receipt of each ending, and of each attempt that left survivors.
CREATE TABLE receipts (
    id   INTEGER PRIMARY KEY,
    run  TEXT NOT NULL REFERENCES runs (id),
    at   TEXT NOT NULL,
    data TEXT NOT NULL  -- JSON
);
CREATE INDEX receipts_of_run ON receipts (run, id);
