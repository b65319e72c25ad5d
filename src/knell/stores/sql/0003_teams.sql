-- Teams: their members, tasks, messages and shutdown requests, and the servers that runs share.
-- There are no counters: the rows of live runs say what is held.

-- Only the digest of a live run's token is stored. It is deleted with the row.
ALTER TABLE instances ADD COLUMN token TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX a_token_is_one_runs ON instances (token) WHERE token != '';

CREATE TABLE teams (
    name         TEXT PRIMARY KEY,
    leader       TEXT NOT NULL,  -- empty: only the operator leads the team
    created_at   TEXT NOT NULL,
    topology     TEXT NOT NULL CHECK (topology IN ('flat', 'hierarchical')),
    description  TEXT NOT NULL,
    dissolved_at TEXT NOT NULL DEFAULT ''
);

-- One row per live membership; its colour is free again when the row is deleted.
CREATE TABLE members (
    seq       INTEGER PRIMARY KEY,  -- the order in which members joined
    team      TEXT NOT NULL REFERENCES teams (name),
    agent     TEXT NOT NULL UNIQUE,
    role      TEXT NOT NULL,
    colour    TEXT NOT NULL,
    joined_at TEXT NOT NULL,
    run       TEXT NOT NULL  -- empty: the agent was added before it was started
);
CREATE INDEX members_of_team ON members (team, seq);

-- AUTOINCREMENT: the id is made of this number, and no two tasks may ever have the same id.
CREATE TABLE team_tasks (
    seq          INTEGER PRIMARY KEY AUTOINCREMENT,
    id           TEXT NOT NULL UNIQUE,
    team         TEXT NOT NULL REFERENCES teams (name),
    title        TEXT NOT NULL,
    description  TEXT NOT NULL,
    priority     TEXT NOT NULL CHECK (priority IN ('high', 'normal', 'low')),
    status       TEXT NOT NULL CHECK (status IN ('pending', 'in_progress', 'completed')),
    owner        TEXT NOT NULL,  -- of a pending task: the agent that it is meant for
    owner_run    TEXT NOT NULL,
    token        INTEGER NOT NULL,  -- increases with every claim and hand-back
    created_at   TEXT NOT NULL,
    updated_at   TEXT NOT NULL,
    claimed_at   TEXT NOT NULL,
    completed_at TEXT NOT NULL,
    warning      TEXT NOT NULL,
    CHECK (status != 'in_progress' OR owner != '')
);
CREATE INDEX tasks_of_team ON team_tasks (team, seq);
CREATE INDEX tasks_of_owner ON team_tasks (owner);

CREATE TRIGGER completed_team_tasks_are_final BEFORE UPDATE ON team_tasks
WHEN OLD.status = 'completed'
BEGIN
    SELECT RAISE(ABORT, 'a completed task is final');
END;

CREATE TRIGGER an_older_claim_never_comes_back BEFORE UPDATE OF token ON team_tasks
WHEN NEW.token < OLD.token
BEGIN
    SELECT RAISE(ABORT, 'a token only grows');
END;

-- The tasks that an open task must wait for. A row is deleted when its `needs` is completed.
CREATE TABLE team_needs (
    task  TEXT NOT NULL REFERENCES team_tasks (id) ON DELETE CASCADE,
    needs TEXT NOT NULL REFERENCES team_tasks (id),
    PRIMARY KEY (task, needs)
);
CREATE INDEX needed_by ON team_needs (needs);

-- AUTOINCREMENT: no two messages may ever have the same id. Messages outlive the runs of their
-- recipient.
CREATE TABLE messages (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    team      TEXT NOT NULL,  -- empty: between agents of no team
    sender    TEXT NOT NULL,
    recipient TEXT NOT NULL,
    type      TEXT NOT NULL,
    body      TEXT NOT NULL,
    summary   TEXT NOT NULL,
    at        TEXT NOT NULL,
    read_at   TEXT NOT NULL DEFAULT ''
);
CREATE INDEX unread_messages ON messages (recipient, id) WHERE read_at = '';

CREATE TABLE shutdowns (
    seq          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    team         TEXT NOT NULL,
    agent        TEXT NOT NULL,
    run          TEXT NOT NULL REFERENCES runs (id),
    asked_by     TEXT NOT NULL,
    phase        TEXT NOT NULL CHECK (phase IN
        ('requested', 'approved', 'rejected', 'confirmed', 'force_killed', 'withdrawn')),
    reason       TEXT NOT NULL,
    force        INTEGER NOT NULL CHECK (force IN (0, 1)),
    requested_at TEXT NOT NULL,
    responded_at TEXT NOT NULL DEFAULT '',
    completed_at TEXT NOT NULL DEFAULT '',
    answer       TEXT NOT NULL DEFAULT '',
    deadline_at  TEXT NOT NULL,
    overdue      TEXT NOT NULL
);
CREATE UNIQUE INDEX a_run_is_asked_once ON shutdowns (run)
WHERE phase IN ('requested', 'approved');

-- Programs that several runs share, such as one `opencode serve` for a project.
CREATE TABLE servers (
    id         TEXT PRIMARY KEY,
    kind       TEXT NOT NULL,
    project    TEXT NOT NULL,
    process    TEXT NOT NULL,
    port       INTEGER NOT NULL,
    log        TEXT NOT NULL,
    started_at TEXT NOT NULL,
    retired_at TEXT NOT NULL DEFAULT ''  -- being ended: no run may begin to use it
);
CREATE UNIQUE INDEX a_project_has_one_server ON servers (kind, project) WHERE retired_at = '';

CREATE TABLE server_uses (
    server TEXT NOT NULL REFERENCES servers (id) ON DELETE CASCADE,
    run    TEXT NOT NULL REFERENCES instances (run) ON DELETE CASCADE,
    PRIMARY KEY (server, run)
);
CREATE INDEX uses_of_run ON server_uses (run);
