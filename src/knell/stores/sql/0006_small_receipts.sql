-- Receipts are packed from now on (stores/packing.py); older ones stay as they are. What a search
-- looks at stands beside them in plain text, so that it reads one table and unpacks only what it found.
ALTER TABLE receipts ADD COLUMN words TEXT NOT NULL DEFAULT '';
ALTER TABLE receipts ADD COLUMN worktree TEXT NOT NULL DEFAULT '';  -- empty: none was looked at

-- Words are no news: only what a receipt says is published again.
DROP TRIGGER amended_receipts_go_out;
CREATE TRIGGER amended_receipts_go_out AFTER UPDATE OF data ON receipts
WHEN EXISTS (SELECT 1 FROM fleet_link)
BEGIN
    INSERT INTO fleet_outbox (receipt) VALUES (NEW.id);
END;

UPDATE receipts SET
    words = (
        SELECT r.agent || ' ' || a.kind || ' ' || a.tag || ' ' || a.team || ' ' || a.task || ' '
            || a.cwd || ' ' || r.id || ' ' || coalesce(r.outcome, '') || ' ' || r.ended_by || ' '
            || r.reason || ' ' || coalesce(json_extract(receipts.data, '$.proof'), '') || ' '
            || coalesce(json_extract(receipts.data, '$.death.sentence'), '')
        FROM runs r JOIN agents a ON a.name = r.agent WHERE r.id = receipts.run),
    worktree = coalesce(json_extract(receipts.data, '$.cleaning.worktree'), '')
WHERE json_valid(data);
