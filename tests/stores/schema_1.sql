-- A database of schema 1, as knell 0.1.0 left it.
PRAGMA user_version = 1;
PRAGMA application_id = 1802397036;
BEGIN TRANSACTION;
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
INSERT INTO "agents" VALUES('ada','claude','/srv/project','["--model", "x"]','[["A", "1"]]','headless','','core','dev','developer','TASK-31-1','["node *"]','c-1','2029-12-31T00:00:00Z');
INSERT INTO "agents" VALUES('bo','claude','/srv/project','[]','[]','headless','','','','','TASK-31-2','[]','','2029-12-31T00:00:00Z');
INSERT INTO "agents" VALUES('cy','claude','/srv/project','[]','[]','headless','','','','','','[]','','2029-12-31T00:00:00Z');
CREATE TABLE events (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    at    TEXT NOT NULL,
    type  TEXT NOT NULL,
    agent TEXT NOT NULL,
    run   TEXT NOT NULL,
    data  TEXT NOT NULL  -- JSON
);
INSERT INTO "events" VALUES(1,'2030-01-01T00:00:00Z','life.spawning','ada','run-1','{"kind": "claude", "place": "tmux"}');
INSERT INTO "events" VALUES(2,'2030-01-01T00:00:01Z','life.started','ada','run-1','{"pid": 4000, "place": "tmux"}');
INSERT INTO "events" VALUES(3,'2030-01-01T00:00:02Z','life.stopping','ada','run-1','{"by": "leader", "reason": "user_request", "outcome": "stopped", "owner": "200:2000:boot-a:77"}');
INSERT INTO "events" VALUES(4,'2030-01-01T00:00:03Z','life.rung','ada','run-1','{"rung": "term"}');
INSERT INTO "events" VALUES(5,'2030-01-01T00:00:07Z','life.stopped','ada','run-1','{"action": "stopped", "by": "leader", "reason": "user_request", "outcome": "stopped", "detail": "enough for today", "snapshot": {"agent": {"name": "ada", "kind": "claude", "cwd": "/srv/project", "args": ["--model", "x"], "env": ["A"], "place": "headless", "server": "", "team": "core", "tag": "dev", "role": "developer", "task": "TASK-31-1", "keep": ["node *"], "conversation": "c-1", "created_at": "2029-12-31T00:00:00Z"}, "run": {"id": "run-1", "host": "host-a", "parent": "", "place": {"name": "tmux", "pane": "%3", "server": "/tmp/tmux.sock", "server_pid": 99, "session": "work", "log": ""}, "started_at": "2029-12-31T00:00:00Z", "ended_at": "2030-01-01T00:00:04Z", "pid": 4000, "process": "4000:40000:boot-a:4001", "keeper": "4500:45000:boot-a:4501", "cgroup": ""}}}');
INSERT INTO "events" VALUES(6,'2030-01-01T00:00:08Z','life.spawning','ada','run-2','{"kind": "claude", "place": "tmux"}');
INSERT INTO "events" VALUES(7,'2030-01-01T00:00:09Z','life.started','ada','run-2','{"pid": 4000, "place": "tmux"}');
INSERT INTO "events" VALUES(8,'2030-01-01T00:00:10Z','life.stopping','ada','run-2','{"by": "operator", "reason": "killed", "outcome": "killed", "owner": "200:2000:boot-a:77"}');
INSERT INTO "events" VALUES(9,'2030-01-01T00:00:11Z','life.rung','ada','run-2','{"rung": "term"}');
INSERT INTO "events" VALUES(10,'2030-01-01T00:00:15Z','life.stopped','ada','run-2','{"action": "stopped", "by": "operator", "reason": "killed", "outcome": "killed", "detail": "it hung", "snapshot": {"agent": {"name": "ada", "kind": "claude", "cwd": "/srv/project", "args": ["--model", "x"], "env": ["A"], "place": "headless", "server": "", "team": "core", "tag": "dev", "role": "developer", "task": "TASK-31-1", "keep": ["node *"], "conversation": "c-1", "created_at": "2029-12-31T00:00:00Z"}, "run": {"id": "run-2", "host": "host-a", "parent": "", "place": {"name": "tmux", "pane": "%3", "server": "/tmp/tmux.sock", "server_pid": 99, "session": "work", "log": ""}, "started_at": "2029-12-31T00:00:00Z", "ended_at": "2030-01-01T00:00:12Z", "pid": 4000, "process": "4000:40000:boot-a:4001", "keeper": "4500:45000:boot-a:4501", "cgroup": ""}}}');
INSERT INTO "events" VALUES(11,'2030-01-01T00:00:16Z','life.spawning','ada','run-3','{"kind": "claude", "place": "headless"}');
INSERT INTO "events" VALUES(12,'2030-01-01T00:00:17Z','life.started','ada','run-3','{"pid": 4001, "place": "headless"}');
INSERT INTO "events" VALUES(13,'2030-01-01T00:00:18Z','life.spawning','bo','run-4','{"kind": "claude", "place": "headless"}');
INSERT INTO "events" VALUES(14,'2030-01-01T00:00:19Z','life.started','bo','run-4','{"pid": 4002, "place": "headless"}');
INSERT INTO "events" VALUES(15,'2030-01-01T00:00:20Z','life.stopping','bo','run-4','{"by": "leader", "reason": "user_request", "outcome": "stopped", "owner": "200:2000:boot-a:77"}');
INSERT INTO "events" VALUES(16,'2030-01-01T00:00:21Z','life.rung','bo','run-4','{"rung": "term"}');
INSERT INTO "events" VALUES(17,'2030-01-01T00:00:22Z','life.spawning','cy','run-5','{"kind": "claude", "place": "headless"}');
CREATE TABLE instances (
    run    TEXT PRIMARY KEY REFERENCES runs (id),
    agent  TEXT NOT NULL UNIQUE REFERENCES agents (name),
    state  TEXT NOT NULL CHECK (state IN ('spawning', 'running', 'stopping')),
    owner  TEXT NOT NULL,             -- the knell that is spawning or ending it
    ending TEXT NOT NULL DEFAULT '',  -- JSON, while stopping: what was asked for, by whom and why
    rung   TEXT NOT NULL DEFAULT ''
);
INSERT INTO "instances" VALUES('run-3','ada','running','','','');
INSERT INTO "instances" VALUES('run-4','bo','stopping','200:2000:boot-a:77','{"outcome": "stopped", "by": "leader", "reason": "user_request", "detail": "enough for today", "exit_code": null, "exit_signal": null}','term');
INSERT INTO "instances" VALUES('run-5','cy','spawning','100:1000:boot-a:0','','');
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
INSERT INTO "orphans" VALUES(5000,50000,'boot-a',5001,'run-1','ada','dev','node dev.js','kept','2030-01-01T00:00:14Z');
CREATE TABLE receipts (
    id   INTEGER PRIMARY KEY,
    run  TEXT NOT NULL REFERENCES runs (id),
    at   TEXT NOT NULL,
    data TEXT NOT NULL  -- JSON
);
INSERT INTO "receipts" VALUES(1,'run-1','2030-01-01T00:00:05Z','{"agent": "ada", "run": "run-1", "kind": "claude", "place": "tmux", "by": "leader", "reason": "user_request", "outcome": "stopped", "result": "ended", "pid": 4000, "started_at": "2030-01-01T00:00:00Z", "finished_at": "2030-01-01T00:00:01Z", "duration_ms": 1000, "proof": "proven", "rungs": [], "processes": [], "survivors": [], "kept": [], "pane": {"place": "headless", "id": "", "closed": null, "retry": ""}, "tasks": [], "worktree": "", "conversation": {"id": "", "exists": null, "complete": null, "resume": "", "found_by": "", "why": "", "purged": []}, "screen": "", "detail": "", "exit_code": null, "exit_signal": null, "max_rss_kb": null, "cpu_seconds": null, "warnings": []}');
INSERT INTO "receipts" VALUES(2,'run-2','2030-01-01T00:00:13Z','{"agent": "ada", "run": "run-2", "kind": "claude", "place": "tmux", "by": "operator", "reason": "killed", "outcome": "killed", "result": "ended", "pid": 4000, "started_at": "2030-01-01T00:00:00Z", "finished_at": "2030-01-01T00:00:01Z", "duration_ms": 1000, "proof": "proven", "rungs": [], "processes": [], "survivors": [], "kept": [], "pane": {"place": "headless", "id": "", "closed": null, "retry": ""}, "tasks": [], "worktree": "", "conversation": {"id": "", "exists": null, "complete": null, "resume": "", "found_by": "", "why": "", "purged": []}, "screen": "", "detail": "", "exit_code": null, "exit_signal": null, "max_rss_kb": null, "cpu_seconds": null, "warnings": []}');
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
INSERT INTO "runs" VALUES(1,'run-1','ada','host-a','tmux','%3','/tmp/tmux.sock',99,'work','','2029-12-31T00:00:00Z','','4500:45000:boot-a:4501','4000:40000:boot-a:4001','','term','stopped','leader','user_request','enough for today',NULL,NULL,'2030-01-01T00:00:04Z');
INSERT INTO "runs" VALUES(2,'run-2','ada','host-a','tmux','%3','/tmp/tmux.sock',99,'work','','2029-12-31T00:00:00Z','','4500:45000:boot-a:4501','4000:40000:boot-a:4001','','term','killed','operator','killed','it hung',NULL,9,'2030-01-01T00:00:12Z');
INSERT INTO "runs" VALUES(3,'run-3','ada','host-a','headless','','',0,'','','2029-12-31T00:00:00Z','run-1','4501:45010:boot-a:4502','4001:40010:boot-a:4002','','',NULL,'','','',NULL,NULL,'');
INSERT INTO "runs" VALUES(4,'run-4','bo','host-a','headless','','',0,'','','2029-12-31T00:00:00Z','','','4002:40020:boot-a:4003','','',NULL,'','','',NULL,NULL,'');
INSERT INTO "runs" VALUES(5,'run-5','cy','host-a','headless','','',0,'','','2029-12-31T00:00:00Z','','','','','',NULL,'','','',NULL,NULL,'');
CREATE INDEX runs_of_agent ON runs (agent, seq);
CREATE TRIGGER ended_runs_are_final BEFORE UPDATE ON runs WHEN OLD.outcome IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'an ended run is final');
END;
CREATE INDEX events_of_agent ON events (agent, id);
CREATE INDEX receipts_of_run ON receipts (run, id);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('events',17);
COMMIT;
