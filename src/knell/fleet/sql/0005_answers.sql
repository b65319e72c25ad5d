-- Answers and receipts that their host has signed; the list of many agents as text; hosts that leave.

ALTER TABLE knell.orders ADD COLUMN proof text NOT NULL DEFAULT '';
ALTER TABLE knell.receipts ADD COLUMN proof text NOT NULL DEFAULT '';

CREATE FUNCTION knell.finish(p_incarnation text, p_id uuid, p_state text, p_answer jsonb, p_proof text)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
DECLARE
    me text := check_link(p_incarnation);
BEGIN
    UPDATE orders SET proof = p_proof WHERE id = p_id AND host = me AND state IN ('issued', 'taken');
    RETURN finish(p_incarnation, p_id, p_state, p_answer);
END $$;

-- As before, and with the signature of each receipt.
CREATE OR REPLACE FUNCTION knell.publish(p_incarnation text, p jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
DECLARE
    me text := check_link(p_incarnation);
    it hosts;
BEGIN
    SELECT * INTO it FROM hosts WHERE name = me FOR UPDATE;
    IF p->>'epoch' IS DISTINCT FROM it.epoch THEN
        RAISE EXCEPTION 'another epoch' USING ERRCODE = 'KN001';
    END IF;
    IF p ? 'agents' THEN
        IF (p->>'all')::boolean THEN
            UPDATE agents SET live = false, view = view || '{"state": "ended"}' WHERE host = me AND live
                AND NOT EXISTS (SELECT 1 FROM jsonb_array_elements(p->'agents') one
                    WHERE one->>'name' = agents.name);
        END IF;
        INSERT INTO agents (host, name, run, live, tag, team, view)
        SELECT me, one->>'name', one->>'run', one->>'state' != 'ended', one->>'tag', one->>'team', one
        FROM jsonb_array_elements(p->'agents') one
        ON CONFLICT (host, name) DO UPDATE SET run = excluded.run, live = excluded.live,
            tag = excluded.tag, team = excluded.team, view = excluded.view, updated_at = now();
    END IF;
    IF p ? 'receipts' THEN
        INSERT INTO receipts (host, run, number, agent, receipt, proof)
        SELECT DISTINCT ON (one->>'run', one->>'number') me, one->>'run', (one->>'number')::bigint,
            one->'receipt'->>'agent', one->'receipt', coalesce(one->>'proof', '')
        FROM jsonb_array_elements(p->'receipts') one
        WHERE (one->>'seq')::bigint > it.receipt_seq
        ORDER BY one->>'run', one->>'number', (one->>'seq')::bigint DESC
        ON CONFLICT (host, run, number) DO UPDATE SET receipt = excluded.receipt, proof = excluded.proof;
        it.receipt_seq := greatest(it.receipt_seq, (SELECT max((one->>'seq')::bigint)
            FROM jsonb_array_elements(p->'receipts') one));
    END IF;
    IF p ? 'events' THEN
        PERFORM make_room(now());
        INSERT INTO events (host, seq, at, type, agent, run, data)
        SELECT me, (one->>'id')::bigint, one->>'at', one->>'type', one->>'agent', one->>'run', one->'data'
        FROM jsonb_array_elements(p->'events') one
        WHERE (one->>'id')::bigint > it.event_seq ORDER BY (one->>'id')::bigint;
        it.event_seq := greatest(it.event_seq, (SELECT max((one->>'id')::bigint)
            FROM jsonb_array_elements(p->'events') one));
    END IF;
    UPDATE hosts SET receipt_seq = it.receipt_seq, event_seq = it.event_seq WHERE name = me
        AND (receipt_seq, event_seq) IS DISTINCT FROM (it.receipt_seq, it.event_seq);
    RETURN jsonb_build_object('event_seq', it.event_seq, 'receipt_seq', it.receipt_seq);
END $$;

-- As before, with the signature and with the key that the host has published; whoever reads it knows
-- the host's key already, or takes it for the host's at first sight.
CREATE OR REPLACE FUNCTION knell.order_json(o knell.orders) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = knell, pg_catalog, pg_temp AS $$
    SELECT jsonb_build_object('id', o.id, 'host', o.host, 'state',
        CASE WHEN o.state = 'issued' AND o.expires_at <= clock_timestamp() THEN 'expired' ELSE o.state END,
        'body', o.body, 'issued_by', o.issued_by, 'issued_at', seconds(o.issued_at),
        'expires_at', seconds(o.expires_at), 'taken_at', seconds(o.taken_at),
        'finished_at', seconds(o.finished_at), 'answer', o.answer, 'proof', o.proof,
        'key', (SELECT h.key FROM hosts h WHERE h.name = o.host))
$$;

-- As before, and with the operator's name.
CREATE OR REPLACE FUNCTION knell.schema_of() RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
    SELECT jsonb_build_object('major', major, 'minor', minor, 'fleet', fleet,
        'now', seconds(clock_timestamp()), 'host', my_host(), 'operator', is_operator(),
        'operator_name', (SELECT o.name FROM operators o WHERE o.role = session_user))
    FROM meta
$$;

CREATE FUNCTION knell.signed_receipt(p_host text, p_agent text) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
BEGIN
    PERFORM check_operator();
    RETURN (SELECT jsonb_build_object('run', r.run, 'number', r.number, 'receipt', r.receipt,
            'proof', r.proof, 'key', h.key)
        FROM receipts r JOIN hosts h ON h.name = r.host
        WHERE r.host = p_host AND (r.agent = p_agent OR r.run = p_agent)
        ORDER BY r.at DESC, r.number DESC LIMIT 1);
END $$;

-- The agents that are meant, as the text of a JSON array with a line for each. One value of all of them
-- is built several times as long, and whoever prints it would take it apart again.
CREATE FUNCTION knell.fleet_list(p jsonb) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
BEGIN
    PERFORM check_operator();
    RETURN (SELECT '[' || coalesce(string_agg(left((a.view - 'host')::text, -1) || ', ' || h.more, E',\n'
            ORDER BY a.host, a.name), '') || ']'
        FROM agents a JOIN (
            SELECT name, '"host": ' || to_json(name)::text || '}' AS more
            FROM hosts WHERE left_at IS NULL) h ON h.name = a.host
        WHERE (a.live OR coalesce((p->>'ended')::boolean, false))
            -- A host may publish anything: what is no row would spoil the text of all the others.
            AND jsonb_typeof(a.view) = 'object' AND a.view ? 'name'
            AND (p->>'host' IS NULL OR a.host = p->>'host') AND (p->>'name' IS NULL OR a.name = p->>'name')
            AND (p->>'tag' IS NULL OR a.tag = p->>'tag') AND (p->>'team' IS NULL OR a.team = p->>'team'));
END $$;

-- The host that calls leaves: it is shown as such, and nobody waits for it any more.
CREATE FUNCTION knell.leave() RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
DECLARE
    me text := my_host();
BEGIN
    IF me IS NULL THEN
        RAISE EXCEPTION 'role % is no host of this fleet', session_user USING ERRCODE = 'KN002';
    END IF;
    PERFORM take_out(me);
    RETURN to_jsonb(me);
END $$;

CREATE FUNCTION knell.take_out(p_host text) RETURNS void
LANGUAGE sql SET search_path = knell, pg_catalog, pg_temp AS $$
    UPDATE orders SET state = 'cancelled', finished_at = clock_timestamp()
    WHERE host = p_host AND state = 'issued';
    UPDATE hosts SET left_at = clock_timestamp(), incarnation = '', backend = 0
    WHERE name = p_host AND left_at IS NULL;
$$;

REVOKE ALL ON FUNCTION knell.finish(text, uuid, text, jsonb, text), knell.signed_receipt(text, text),
    knell.fleet_list(jsonb), knell.leave(), knell.take_out(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION knell.finish(text, uuid, text, jsonb, text), knell.leave() TO knell_host;
GRANT EXECUTE ON FUNCTION knell.signed_receipt(text, text), knell.fleet_list(jsonb) TO knell_operator;
