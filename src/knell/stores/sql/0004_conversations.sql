-- By whose word an agent's conversation is known, and since when: given, noted, told, held, printed.
-- Empty: not surely. And the directory of its program's conversations, as the agent was started.
ALTER TABLE agents ADD COLUMN conversation_source TEXT NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN conversation_since TEXT NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN conversation_root TEXT NOT NULL DEFAULT '';

-- The newest receipt of an agent says how an earlier knell had learnt the id. What it had searched
-- for stays a candidate.
CREATE TEMP TABLE learnt AS
SELECT r.agent, t.at, CASE WHEN json_valid(t.data) THEN t.data ELSE '{}' END AS data
FROM runs r JOIN receipts t ON t.run = r.id
WHERE t.id IN (SELECT max(t.id) FROM receipts t JOIN runs r ON r.id = t.run GROUP BY r.agent);

UPDATE agents SET
    conversation_source = (
        SELECT CASE json_extract(data, '$.conversation.found_by')
            WHEN 'live' THEN 'noted' WHEN 'hook' THEN 'told' ELSE 'given' END
        FROM learnt WHERE agent = agents.name),
    conversation_since = (SELECT at FROM learnt WHERE agent = agents.name)
WHERE conversation != '' AND EXISTS (
    SELECT 1 FROM learnt WHERE agent = agents.name
    AND json_extract(data, '$.conversation.id') = agents.conversation
    AND json_extract(data, '$.conversation.found_by') IN ('live', 'hook', 'spawn'));

DROP TABLE learnt;
