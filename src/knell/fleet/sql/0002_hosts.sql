-- What a host may do: publish itself, take and finish its own orders.

-- -- who asks ----------------------------------------------------------------------------------

CREATE FUNCTION knell.my_host() RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
    SELECT name FROM hosts WHERE role = session_user AND left_at IS NULL
$$;

CREATE FUNCTION knell.is_operator() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT 1 FROM operators WHERE role = session_user)
$$;

CREATE FUNCTION knell.check_operator() RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
BEGIN
    IF NOT is_operator() THEN
        RAISE EXCEPTION 'role % is no operator of this fleet', session_user USING ERRCODE = 'KN002';
    END IF;
END $$;

-- The host that calls, if the link that calls is its current one. KN001: another link took over.
CREATE FUNCTION knell.check_link(p_incarnation text) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
DECLARE
    it hosts;
BEGIN
    SELECT * INTO it FROM hosts WHERE role = session_user AND left_at IS NULL;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'role % is no host of this fleet', session_user USING ERRCODE = 'KN002';
    END IF;
    IF it.incarnation IS DISTINCT FROM p_incarnation THEN
        RAISE EXCEPTION 'another link is host %', it.name USING ERRCODE = 'KN001';
    END IF;
    RETURN it.name;
END $$;

CREATE FUNCTION knell.seconds(p_at timestamptz) RETURNS double precision
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT extract(epoch FROM p_at)::double precision
$$;

CREATE FUNCTION knell.heard() RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
    UPDATE pulse SET at = clock_timestamp(),
        since = CASE WHEN at < clock_timestamp() - interval '20 s' THEN clock_timestamp() ELSE since END
    WHERE at < clock_timestamp() - interval '5 s'
$$;

CREATE FUNCTION knell.schema_of() RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
    SELECT jsonb_build_object('major', major, 'minor', minor, 'fleet', fleet,
        'now', seconds(clock_timestamp()), 'host', my_host(), 'operator', is_operator(),
        'operator_name', (SELECT o.name FROM operators o WHERE o.role = session_user))
    FROM meta
$$;

-- -- what a host may do: publish itself, and read its own orders ---------------------------------

-- A link begins. Refused (`held`) while another link of that name is heard and connected: a clone of
-- the host's disk has its name, its secrets and its memory, but is another process elsewhere.
CREATE FUNCTION knell.hello(p jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
DECLARE
    old hosts;
    age double precision;
BEGIN
    SELECT * INTO old FROM hosts WHERE role = session_user AND left_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'role % is no host of this fleet', session_user USING ERRCODE = 'KN002';
    END IF;
    age := extract(epoch FROM clock_timestamp() - old.seen_at);
    IF old.incarnation NOT IN ('', p->>'incarnation') AND old.seat != p->>'seat' AND age < 30
        AND EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid = old.backend AND pid != pg_backend_pid())
    THEN
        RETURN jsonb_build_object('held', true, 'age', age, 'boot', old.boot, 'host', old.name);
    END IF;
    IF old.epoch IS DISTINCT FROM p->>'epoch' THEN
        UPDATE hosts SET epoch = p->>'epoch', event_seq = (p->>'start_event')::bigint,
            receipt_seq = (p->>'start_receipt')::bigint WHERE name = old.name;
    END IF;
    UPDATE hosts SET incarnation = p->>'incarnation', boot = p->>'boot', seat = p->>'seat', backend = pg_backend_pid(),
        version = p->>'version', key = p->>'key', seen_at = clock_timestamp(),
        skew = (p->>'clock')::double precision - seconds(clock_timestamp())
    WHERE name = old.name;
    PERFORM heard();
    RETURN (SELECT jsonb_build_object('held', false, 'host', name, 'event_seq', event_seq,
            'receipt_seq', receipt_seq) FROM hosts WHERE name = old.name) || schema_of();
END $$;

-- The link ends in good order: its name is free at once.
CREATE FUNCTION knell.bye(p_incarnation text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
DECLARE
    me text := check_link(p_incarnation);
BEGIN
    UPDATE hosts SET incarnation = '', backend = 0 WHERE name = me;
    RETURN 'true';
END $$;

CREATE FUNCTION knell.lease(p_incarnation text, p_clock double precision) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
DECLARE
    me text := check_link(p_incarnation);
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    UPDATE hosts SET seen_at = clock_timestamp(), backend = pg_backend_pid(),
        skew = p_clock - seconds(clock_timestamp()) WHERE name = me;
    PERFORM heard();
    RETURN jsonb_build_object('now', seconds(clock_timestamp()));
END $$;

CREATE FUNCTION knell.make_room(p_at timestamptz) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
DECLARE
    first timestamptz := date_trunc('month', p_at, 'UTC');
    name text := 'events_' || to_char(first AT TIME ZONE 'UTC', 'YYYY_MM');
BEGIN
    IF to_regclass('knell.' || name) IS NULL THEN
        PERFORM pg_advisory_xact_lock(hashtext('knell.events'));
        IF to_regclass('knell.' || name) IS NULL THEN
            EXECUTE format('CREATE TABLE knell.%I PARTITION OF knell.events FOR VALUES FROM (%L) TO (%L)',
                name, first, first + interval '1 month');
        END IF;
    END IF;
END $$;

-- Rows, receipts and events of this host, in one transaction with how far they go: what was
-- published before is skipped, so nothing stands here twice.
CREATE FUNCTION knell.publish(p_incarnation text, p jsonb) RETURNS jsonb
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

CREATE FUNCTION knell.waiting(p_incarnation text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
DECLARE
    me text := check_link(p_incarnation);
BEGIN
    UPDATE orders SET state = 'expired', finished_at = now()
    WHERE host = me AND state = 'issued' AND expires_at <= clock_timestamp();
    RETURN jsonb_build_object('now', seconds(clock_timestamp()), 'orders', (
        SELECT coalesce(jsonb_agg(jsonb_build_object('id', id, 'state', state, 'body', body,
            'signature', signature, 'issued_by', issued_by) ORDER BY issued_at, id), '[]')
        FROM (SELECT * FROM orders WHERE host = me AND state IN ('issued', 'taken')
            ORDER BY issued_at LIMIT 200) open));
END $$;

CREATE FUNCTION knell.take(p_incarnation text, p_id uuid) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
DECLARE
    me text := check_link(p_incarnation);
    now_is text;
BEGIN
    UPDATE orders SET state = 'taken', taken_at = coalesce(taken_at, clock_timestamp())
    WHERE id = p_id AND host = me
        AND (state = 'taken' OR state = 'issued' AND expires_at > clock_timestamp());
    SELECT state INTO now_is FROM orders WHERE id = p_id AND host = me;
    RETURN to_jsonb(coalesce(now_is, 'unknown'));
END $$;

CREATE FUNCTION knell.finish(p_incarnation text, p_id uuid, p_state text, p_answer jsonb,
    p_proof text DEFAULT '') RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
DECLARE
    me text := check_link(p_incarnation);
    now_is text;
BEGIN
    IF p_state NOT IN ('done', 'refused') THEN
        RAISE EXCEPTION 'an order is finished as done or refused' USING ERRCODE = 'KN003';
    END IF;
    UPDATE orders SET state = p_state, answer = p_answer, proof = p_proof, finished_at = clock_timestamp()
    WHERE id = p_id AND host = me AND state IN ('issued', 'taken');
    SELECT state INTO now_is FROM orders WHERE id = p_id AND host = me;
    RETURN to_jsonb(coalesce(now_is, 'unknown'));
END $$;
