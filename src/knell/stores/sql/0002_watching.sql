-- What the watch knows and decides, and the tables that an orchestrator reads and writes.

ALTER TABLE agents ADD COLUMN restart INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN task TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN restarted_from TEXT NOT NULL DEFAULT '';  -- the run it replaces
ALTER TABLE runs ADD COLUMN attempt INTEGER NOT NULL DEFAULT 0;       -- restarts before this one
ALTER TABLE runs ADD COLUMN last_heartbeat TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT '';            -- how others explain its end
ALTER TABLE instances ADD COLUMN memory TEXT NOT NULL DEFAULT '';     -- JSON, of the watch

DROP TRIGGER ended_runs_are_final;

-- Until now only agents had a task. An agent's task becomes the task of its newest run.
UPDATE runs SET task = (SELECT task FROM agents WHERE name = runs.agent)
WHERE seq = (SELECT max(seq) FROM runs newest WHERE newest.agent = runs.agent);

CREATE UNIQUE INDEX a_run_is_restarted_once ON runs (restarted_from) WHERE restarted_from != '';

-- Every column but the note is final.
CREATE TRIGGER ended_runs_are_final
BEFORE UPDATE OF seq, id, agent, host, place, pane, server, server_pid, session, log, started_at,
    parent, keeper, process, cgroup, rung, outcome, ended_by, reason, detail, exit_code,
    exit_signal, ended_at, task, restarted_from, attempt, last_heartbeat
ON runs WHEN OLD.outcome IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'an ended run is final');
END;

-- Decisions about restarting the agents of ended runs.
CREATE TABLE restarts (
    run        TEXT PRIMARY KEY REFERENCES runs (id),
    agent      TEXT NOT NULL,
    decision   TEXT NOT NULL CHECK (decision IN ('planned', 'refused', 'failed', 'started')),
    why        TEXT NOT NULL,
    attempt    INTEGER NOT NULL,
    due_at     TEXT NOT NULL,
    decided_at TEXT NOT NULL
);

-- The process that watches over each host, and when it last looked.
CREATE TABLE watchers (
    host     TEXT PRIMARY KEY,
    process  TEXT NOT NULL,
    round_at TEXT NOT NULL
);

-- -- an orchestrator's tables -------------------------------------------------------------------
-- Other programs write here too, and often fill only a few columns, so most columns have a default
-- or may be NULL. Times are text as CURRENT_TIMESTAMP writes it.

CREATE TABLE orchestrator_task (
    task_id                  TEXT PRIMARY KEY NOT NULL,
    spec_id                  TEXT,
    status                   TEXT NOT NULL DEFAULT 'spawned',
    priority                 TEXT NOT NULL DEFAULT 'medium',
    estimated_hours          INTEGER,
    assigned_agent           TEXT,
    created_at               TEXT DEFAULT CURRENT_TIMESTAMP,
    started_at               TEXT,
    completed_at             TEXT,
    orchestrator_instance_id TEXT,
    retry_count              INTEGER NOT NULL DEFAULT 0,
    error_message            TEXT
);
CREATE INDEX tasks_of_agent ON orchestrator_task (assigned_agent);

CREATE TABLE orchestrator_state (
    task_id                  TEXT,
    worktree_path            TEXT NOT NULL,
    branch_name              TEXT,
    status                   TEXT NOT NULL DEFAULT 'created',
    created_at               TEXT DEFAULT CURRENT_TIMESTAMP,
    git_commit_ref           TEXT,
    orchestrator_instance_id TEXT,
    merged_at                TEXT,
    merge_commit_ref         TEXT,
    cleaned_at               TEXT
);
CREATE INDEX worktrees_by_path ON orchestrator_state (worktree_path);

CREATE TABLE specs_task_dependency (
    dependency_id     TEXT PRIMARY KEY,
    task_id           TEXT NOT NULL,
    dependency_id_ref TEXT NOT NULL,  -- the task that must be done first
    dependency_type   TEXT NOT NULL DEFAULT 'hard',
    dependency_status TEXT NOT NULL DEFAULT 'pending',
    created_at        TEXT DEFAULT CURRENT_TIMESTAMP,
    resolved_at       TEXT
);
CREATE INDEX dependencies_of_task ON specs_task_dependency (task_id);

-- A program that did not look may write "failed" after the task was finished. That is ignored, and
-- is no error, because the program's statement must not fail.
CREATE TRIGGER finished_tasks_stay_finished BEFORE UPDATE ON orchestrator_task
WHEN OLD.status IN ('completed', 'merged') AND NEW.status IS NOT OLD.status
    AND NEW.status IS NOT 'merged'
BEGIN
    SELECT RAISE(IGNORE);
END;

CREATE TRIGGER finished_tasks_are_not_replaced BEFORE INSERT ON orchestrator_task
WHEN NEW.status NOT IN ('completed', 'merged') AND EXISTS (
    SELECT 1 FROM orchestrator_task
    WHERE task_id = NEW.task_id AND status IN ('completed', 'merged'))
BEGIN
    SELECT RAISE(ABORT, 'the task is finished: it is not begun again under the same id');
END;

CREATE TRIGGER task_changes_are_told AFTER UPDATE ON orchestrator_task
WHEN NEW.status IS NOT OLD.status
BEGIN
    INSERT INTO events (at, type, agent, run, data) VALUES (
        strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), 'task.changed',
        coalesce(NEW.assigned_agent, OLD.assigned_agent, ''), '',
        json_object('task', NEW.task_id, 'was', OLD.status, 'now', NEW.status,
            'retry_count', NEW.retry_count, 'error_message', NEW.error_message));
END;

CREATE TRIGGER worktree_changes_are_told AFTER UPDATE ON orchestrator_state
WHEN NEW.status IS NOT OLD.status
BEGIN
    INSERT INTO events (at, type, agent, run, data) VALUES (
        strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), 'worktree.changed', '', '',
        json_object('task', NEW.task_id, 'path', NEW.worktree_path, 'branch', NEW.branch_name,
            'was', OLD.status, 'now', NEW.status));
END;

-- One row per run. The newest run has the agent's name as its id, so that an id which a program
-- keeps stays valid after a restart; an earlier run has name#run.
CREATE VIEW agent_lifecycle AS
SELECT
    CASE WHEN r.seq = (SELECT max(seq) FROM runs newest WHERE newest.agent = r.agent)
        THEN r.agent ELSE r.agent || '#' || r.id END AS agent_id,
    CASE WHEN a.role != '' THEN a.role ELSE a.kind END AS agent_type,
    CASE
        WHEN r.outcome IS NULL THEN CASE i.state WHEN 'spawning' THEN 'spawned' ELSE 'running' END
        WHEN p.decision IN ('planned', 'started') THEN 'pending_restart'
        WHEN r.outcome IN ('completed', 'stopped', 'archived') THEN 'completed'
        WHEN r.reason = 'timeout' THEN 'timeout'
        WHEN r.outcome IN ('killed', 'terminated') THEN 'killed'
        ELSE 'failed'
    END AS status,
    nullif(r.task, '') AS task_id,
    CASE WHEN r.process != ''
        THEN CAST(substr(r.process, 1, instr(r.process, ':') - 1) AS INTEGER) END AS pid,
    datetime(r.started_at) AS created_at,
    CASE WHEN i.state IS NOT 'spawning' THEN datetime(r.started_at) END AS started_at,
    datetime(nullif(r.ended_at, '')) AS completed_at,
    CASE
        WHEN r.note != '' THEN r.note
        WHEN r.outcome IN ('failed', 'lost', 'killed', 'terminated')
            THEN coalesce(nullif(r.detail, ''), nullif(r.reason, ''), r.outcome)
    END AS error_message,
    datetime(nullif(r.last_heartbeat, '')) AS last_heartbeat,
    r.attempt + (p.decision IS 'started') AS retry_count,
    coalesce(r.exit_code, -r.exit_signal) AS exit_code,
    r.host AS host,
    r.id AS run_id
FROM runs r
JOIN agents a ON a.name = r.agent
LEFT JOIN instances i ON i.run = r.id
LEFT JOIN restarts p ON p.run = r.id;

CREATE TRIGGER a_life_begins_with_knell INSTEAD OF INSERT ON agent_lifecycle
BEGIN
    SELECT RAISE(ABORT, 'an agent is not started by writing so: use knell spawn or knell adopt');
END;

CREATE TRIGGER a_life_is_not_forgotten INSTEAD OF DELETE ON agent_lifecycle
BEGIN
    SELECT RAISE(ABORT, 'what knell knows of an agent is not deleted: use knell kill to end one');
END;

-- Other programs may write why an ended run ended, and heartbeats of a live run, and nothing else.
CREATE TRIGGER what_others_may_say INSTEAD OF UPDATE ON agent_lifecycle
BEGIN
    SELECT RAISE(ABORT, 'an agent is not killed by writing so: use knell kill')
    FROM instances
    WHERE run = OLD.run_id
        AND (NEW.status IS NOT OLD.status OR NEW.completed_at IS NOT OLD.completed_at);

    SELECT RAISE(ABORT, 'of a live agent only last_heartbeat can be written')
    FROM instances
    WHERE run = OLD.run_id AND NOT (
        NEW.agent_id IS OLD.agent_id AND NEW.agent_type IS OLD.agent_type
        AND NEW.task_id IS OLD.task_id AND NEW.pid IS OLD.pid
        AND NEW.created_at IS OLD.created_at AND NEW.started_at IS OLD.started_at
        AND NEW.error_message IS OLD.error_message AND NEW.retry_count IS OLD.retry_count
        AND NEW.exit_code IS OLD.exit_code AND NEW.host IS OLD.host
        AND NEW.run_id IS OLD.run_id);

    SELECT RAISE(ABORT, 'last_heartbeat has to be a time, such as CURRENT_TIMESTAMP')
    FROM instances
    WHERE run = OLD.run_id AND NEW.last_heartbeat IS NOT OLD.last_heartbeat
        AND julianday(NEW.last_heartbeat) IS NULL;

    -- A heartbeat in the future would hide a stall; one older than the last changes nothing.
    UPDATE runs SET last_heartbeat = strftime(
        '%Y-%m-%dT%H:%M:%fZ', min(julianday(NEW.last_heartbeat), julianday('now')))
    WHERE id = OLD.run_id AND outcome IS NULL AND NEW.last_heartbeat IS NOT OLD.last_heartbeat
        AND julianday(NEW.last_heartbeat) > ifnull(julianday(nullif(last_heartbeat, '')), 0);

    UPDATE runs SET note = ifnull(NEW.error_message, '')
    WHERE id = OLD.run_id AND outcome IS NOT NULL
        AND NEW.error_message IS NOT OLD.error_message;

    -- Heartbeats are too many for the audit trail, so only ended runs are recorded.
    INSERT INTO events (at, type, agent, run, data)
    SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), 'sql.updated', agent, id,
        json_object('status', NEW.status, 'completed_at', NEW.completed_at,
            'error_message', NEW.error_message, 'kept', 'error_message')
    FROM runs WHERE id = OLD.run_id AND outcome IS NOT NULL;
END;

CREATE VIEW agent_lifecycle_events AS
SELECT
    CASE WHEN e.run = '' OR e.run = (
            SELECT id FROM runs newest WHERE newest.agent = e.agent ORDER BY seq DESC LIMIT 1)
        THEN e.agent ELSE e.agent || '#' || e.run END AS agent_id,
    e.type AS event_type,
    CASE
        WHEN json_extract(e.data, '$.health_status') IS NOT NULL
            THEN json_extract(e.data, '$.health_status')
        WHEN e.type = 'life.started' THEN 'healthy'
        WHEN e.type = 'life.stopped' THEN CASE json_extract(e.data, '$.outcome')
            WHEN 'completed' THEN 'completed' WHEN 'stopped' THEN 'completed'
            WHEN 'archived' THEN 'completed' WHEN 'failed' THEN 'failed' ELSE 'dead' END
    END AS health_status,
    json_extract(e.data, '$.cpu_percent') AS cpu_percent,
    json_extract(e.data, '$.memory_mb') AS memory_mb,
    datetime(e.at) AS recorded_at
FROM events e
WHERE e.agent != '';
