-- What this host remembers of its fleet: its link, the orders that it took, and what to publish.

-- One row while the host belongs to a fleet.
CREATE TABLE fleet_link (
    one           INTEGER PRIMARY KEY CHECK (one = 1),
    epoch         TEXT NOT NULL,     -- of the numbers that are published
    start_event   INTEGER NOT NULL,  -- what is older than the epoch is not published
    start_receipt INTEGER NOT NULL,
    contact_up    REAL NOT NULL DEFAULT 0,   -- when the database last answered: seconds since boot
    contact_boot  TEXT NOT NULL DEFAULT '',
    latest        REAL NOT NULL DEFAULT 0  -- the latest time that the database told
);

CREATE TABLE fleet_boots (
    boot TEXT PRIMARY KEY,
    at   TEXT NOT NULL
);

-- Every order that came, written down before anything is done: none is carried out twice.
CREATE TABLE fleet_orders (
    id     TEXT PRIMARY KEY,
    at     TEXT NOT NULL,
    body   TEXT NOT NULL,
    state  TEXT NOT NULL CHECK (state IN ('taken', 'done', 'refused')),
    plan   TEXT NOT NULL DEFAULT '',  -- JSON: what was decided before it was done, as a new name
    answer TEXT NOT NULL DEFAULT ''   -- JSON
);

CREATE TRIGGER closed_orders_are_final BEFORE UPDATE ON fleet_orders WHEN OLD.state != 'taken'
BEGIN
    SELECT RAISE(ABORT, 'a closed order is final');
END;

-- Receipts to publish, in order. An amended one is published again. Events need no such table,
-- because they never change.
CREATE TABLE fleet_outbox (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    receipt INTEGER NOT NULL
);
CREATE INDEX outbox_of_receipt ON fleet_outbox (receipt);

CREATE TRIGGER new_receipts_go_out AFTER INSERT ON receipts
WHEN EXISTS (SELECT 1 FROM fleet_link)
BEGIN
    INSERT INTO fleet_outbox (receipt) VALUES (NEW.id);
END;

CREATE TRIGGER amended_receipts_go_out AFTER UPDATE ON receipts
WHEN EXISTS (SELECT 1 FROM fleet_link)
BEGIN
    INSERT INTO fleet_outbox (receipt) VALUES (NEW.id);
END;

CREATE TRIGGER removed_receipts_stay_in AFTER DELETE ON receipts
WHEN EXISTS (SELECT 1 FROM fleet_link)
BEGIN
    DELETE FROM fleet_outbox WHERE receipt = OLD.id;
END;

-- Seconds without the fleet's database after which the watch stops the agent; 0: it goes on.
ALTER TABLE agents ADD COLUMN cut_off_after INTEGER NOT NULL DEFAULT 0;
