-- The fleet: who runs where and how they are (a mirror that each host writes of itself), receipts,
-- events, and orders with their answers. Nobody has rights on a table: every host and every operator
-- calls the functions below, which go by session_user. Row security is the second wall, for the day
-- when somebody grants rights on a table by mistake. All times are by this database's clock.

CREATE SCHEMA knell;

CREATE TABLE knell.meta (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    major   integer NOT NULL,  -- a host refuses a higher one
    minor   integer NOT NULL,  -- the number of the last file that was applied
    fleet   uuid NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now()
);

-- When any host was last heard, and since when without a long gap: after the database itself was
-- away, nobody is judged for a while.
CREATE TABLE knell.pulse (
    one   boolean PRIMARY KEY DEFAULT true CHECK (one),
    at    timestamptz NOT NULL,
    since timestamptz NOT NULL
);
INSERT INTO knell.pulse (at, since) VALUES ('-infinity', now());

CREATE TABLE knell.operators (
    role      name PRIMARY KEY,
    name      text NOT NULL,
    key       text NOT NULL DEFAULT '',
    joined_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE knell.hosts (
    name        text PRIMARY KEY,
    role        name NOT NULL UNIQUE,
    key         text NOT NULL DEFAULT '',
    joined_at   timestamptz NOT NULL DEFAULT now(),
    left_at     timestamptz,
    incarnation text NOT NULL DEFAULT '',
    boot        text NOT NULL DEFAULT '',
    seat        text NOT NULL DEFAULT '',  -- the boot and the directory of the link's home
    backend     integer NOT NULL DEFAULT 0,  -- the link's server process
    seen_at     timestamptz,
    skew        double precision NOT NULL DEFAULT 0,  -- seconds by which its clock is ahead
    version     text NOT NULL DEFAULT '',
    epoch       text NOT NULL DEFAULT '',  -- of the numbers below: a store that was lost begins anew
    event_seq   bigint NOT NULL DEFAULT 0,
    receipt_seq bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE knell.agents (
    host       text NOT NULL REFERENCES knell.hosts (name) ON DELETE CASCADE,
    name       text NOT NULL,
    run        text NOT NULL,
    live       boolean NOT NULL,
    tag        text NOT NULL,
    team       text NOT NULL,
    view       jsonb NOT NULL,  -- as `list --json` has it
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (host, name)
);

CREATE TABLE knell.receipts (
    host    text NOT NULL REFERENCES knell.hosts (name) ON DELETE CASCADE,
    run     text NOT NULL,
    number  bigint NOT NULL,
    agent   text NOT NULL,
    at      timestamptz NOT NULL DEFAULT now(),
    receipt jsonb NOT NULL,
    proof   text NOT NULL DEFAULT '',  -- the host's signature
    PRIMARY KEY (host, run, number)
);
CREATE INDEX receipts_of_agent ON knell.receipts (host, agent, at);

-- By month, so that old ones are dropped at once. `tx` orders them for those who follow: a number
-- alone does not, because a transaction with a lower number may commit later.
CREATE TABLE knell.events (
    id          bigint GENERATED ALWAYS AS IDENTITY,
    tx          xid8 NOT NULL DEFAULT pg_current_xact_id(),
    received_at timestamptz NOT NULL DEFAULT now(),
    host        text NOT NULL,
    seq         bigint NOT NULL,
    at          text NOT NULL,  -- by the host's clock
    type        text NOT NULL,
    agent       text NOT NULL,
    run         text NOT NULL,
    data        jsonb NOT NULL
) PARTITION BY RANGE (received_at);
CREATE INDEX events_in_order ON knell.events (tx, id);

CREATE TABLE knell.orders (
    id          uuid PRIMARY KEY,
    host        text NOT NULL REFERENCES knell.hosts (name) ON DELETE CASCADE,
    state       text NOT NULL DEFAULT 'issued' CHECK (state IN
        ('issued', 'taken', 'done', 'refused', 'expired', 'cancelled')),
    body        text NOT NULL,       -- the very text that was signed
    signature   text NOT NULL,
    issued_by   name NOT NULL,
    issued_at   timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz NOT NULL,
    taken_at    timestamptz,
    finished_at timestamptz,
    answer      jsonb,
    proof       text NOT NULL DEFAULT ''  -- the host's signature of its answer
);
CREATE INDEX open_orders_of_host ON knell.orders (host, issued_at) WHERE state IN ('issued', 'taken');
CREATE INDEX orders_by_time ON knell.orders (issued_at);
