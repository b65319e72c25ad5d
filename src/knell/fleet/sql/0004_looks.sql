-- What operators may look at; what the schema's owner may do; and who may call which function.

CREATE FUNCTION knell.fleet_hosts() RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
DECLARE
    awake boolean;
BEGIN
    PERFORM check_operator();
    SELECT at > clock_timestamp() - interval '30 s' AND since < clock_timestamp() - interval '40 s'
        AND pg_postmaster_start_time() < clock_timestamp() - interval '40 s' INTO awake FROM pulse;
    RETURN (SELECT coalesce(jsonb_agg(jsonb_build_object('name', h.name,
            'seen', extract(epoch FROM clock_timestamp() - seen_at), 'boot', boot, 'skew', skew,
            'version', version, 'key', key, 'left', left_at IS NOT NULL,
            'state', CASE
                WHEN left_at IS NOT NULL THEN 'left' WHEN seen_at IS NULL THEN 'never'
                WHEN seen_at > clock_timestamp() - interval '30 s' THEN 'heard'
                WHEN awake THEN 'silent' ELSE 'unsure' END,
            'live', (SELECT count(*) FROM agents a WHERE a.host = h.name AND live)) ORDER BY h.name), '[]')
        FROM hosts h);
END $$;

-- One agent of one host, for whoever may give orders: which run is meant, and nothing else.
CREATE FUNCTION knell.find(p_host text, p_agent text) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
BEGIN
    IF NOT is_operator() AND my_host() IS NULL THEN
        RAISE EXCEPTION 'role % may give no orders', session_user USING ERRCODE = 'KN002';
    END IF;
    RETURN (SELECT jsonb_build_object('boot', h.boot, 'run', a.run) FROM hosts h
        LEFT JOIN agents a ON a.host = h.name AND a.name = p_agent
        WHERE h.name = p_host AND h.left_at IS NULL);
END $$;

-- Which of these runs of other hosts have ended, as their hosts say: for tasks that they held here.
CREATE FUNCTION knell.ended_runs(p jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
BEGIN
    IF my_host() IS NULL THEN
        RAISE EXCEPTION 'role % is no host of this fleet', session_user USING ERRCODE = 'KN002';
    END IF;
    RETURN (SELECT coalesce(jsonb_agg(one), '[]') FROM jsonb_array_elements(p) one
        WHERE EXISTS (SELECT 1 FROM agents a WHERE a.host = one->>'host' AND a.run = one->>'run' AND NOT a.live)
            OR EXISTS (SELECT 1 FROM receipts r WHERE r.host = one->>'host' AND r.run = one->>'run'
                AND r.receipt->>'result' = 'ended'));
END $$;

-- Which runs are meant on each host, for an order to a group: it names them, so that what starts later
-- is spared.
CREATE FUNCTION knell.fleet_runs(p jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
BEGIN
    PERFORM check_operator();
    RETURN (SELECT coalesce(jsonb_agg(jsonb_build_object('name', h.name, 'boot', h.boot, 'runs', (
            SELECT coalesce(jsonb_agg(a.run ORDER BY a.run), '[]') FROM agents a
            WHERE a.host = h.name AND a.live AND (p->>'tag' IS NULL OR a.tag = p->>'tag')
                AND (p->>'team' IS NULL OR a.team = p->>'team'))) ORDER BY h.name), '[]')
        FROM hosts h WHERE h.left_at IS NULL AND (p->>'host' IS NULL OR h.name = p->>'host'));
END $$;

CREATE FUNCTION knell.fleet_events(p jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
DECLARE
    after_tx xid8 := coalesce(p->>'tx', '0')::xid8;
    after_id bigint := coalesce((p->>'id')::bigint, 0);
    most integer := (p->>'limit')::integer;
BEGIN
    PERFORM check_operator();
    RETURN (SELECT coalesce(jsonb_agg(jsonb_build_object('tx', tx::text, 'id', id, 'host', host, 'seq', seq,
            'at', at, 'type', type, 'agent', agent, 'run', run, 'data', data) ORDER BY tx, id), '[]')
        FROM (SELECT * FROM events e
            WHERE tx < pg_snapshot_xmin(pg_current_snapshot()) AND (tx, id) > (after_tx, after_id)
                AND (p->>'host' IS NULL OR host = p->>'host') AND (p->>'agent' IS NULL OR agent = p->>'agent')
            ORDER BY CASE WHEN p ? 'tx' THEN e.id END, e.tx DESC, e.id DESC LIMIT most) e);
END $$;

CREATE FUNCTION knell.room() RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
    SELECT jsonb_build_object('connections', (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
        'most', current_setting('max_connections')::integer, 'hosts', (SELECT count(*) FROM hosts WHERE left_at IS NULL))
$$;

-- -- what the schema's owner may do ---------------------------------------------------------------

CREATE FUNCTION knell.prune(p_older_than interval, p_dry boolean) RETURNS jsonb
LANGUAGE plpgsql SET search_path = knell, pg_catalog, pg_temp AS $$
DECLARE
    part record;
    months text[] := '{}';
    orders_gone bigint;
    agents_gone bigint;
BEGIN
    FOR part IN SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'knell.events'::regclass
            AND to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month' <= now() - p_older_than
    LOOP
        months := months || right(part.relname, 7);
        IF NOT p_dry THEN
            EXECUTE format('DROP TABLE knell.%I', part.relname);
        END IF;
    END LOOP;
    SELECT count(*) INTO orders_gone FROM orders
    WHERE state NOT IN ('issued', 'taken') AND finished_at < now() - p_older_than;
    SELECT count(*) INTO agents_gone FROM agents WHERE NOT live AND updated_at < now() - p_older_than;
    IF NOT p_dry THEN
        DELETE FROM orders WHERE state NOT IN ('issued', 'taken') AND finished_at < now() - p_older_than;
        DELETE FROM agents WHERE NOT live AND updated_at < now() - p_older_than;
    END IF;
    RETURN jsonb_build_object('months', to_jsonb(months), 'orders', orders_gone, 'agents', agents_gone);
END $$;

-- -- rights --------------------------------------------------------------------------------------

ALTER TABLE knell.meta ENABLE ROW LEVEL SECURITY;
ALTER TABLE knell.pulse ENABLE ROW LEVEL SECURITY;
ALTER TABLE knell.operators ENABLE ROW LEVEL SECURITY;
ALTER TABLE knell.hosts ENABLE ROW LEVEL SECURITY;
ALTER TABLE knell.agents ENABLE ROW LEVEL SECURITY;
ALTER TABLE knell.receipts ENABLE ROW LEVEL SECURITY;
ALTER TABLE knell.events ENABLE ROW LEVEL SECURITY;
ALTER TABLE knell.orders ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_row ON knell.hosts USING (name = knell.my_host());
CREATE POLICY own_rows ON knell.agents USING (host = knell.my_host());
CREATE POLICY own_receipts ON knell.receipts USING (host = knell.my_host());
CREATE POLICY own_events ON knell.events USING (host = knell.my_host());
CREATE POLICY own_orders ON knell.orders USING (host = knell.my_host());

REVOKE ALL ON ALL TABLES IN SCHEMA knell FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA knell FROM PUBLIC;
GRANT USAGE ON SCHEMA knell TO knell_host, knell_operator;
GRANT EXECUTE ON FUNCTION knell.schema_of(), knell.my_host(), knell.is_operator(), knell.issue(jsonb),
    knell.find(text, text),
    knell.answers(uuid[]), knell.list_orders(boolean), knell.cancel(uuid) TO knell_host, knell_operator;
GRANT EXECUTE ON FUNCTION knell.hello(jsonb), knell.bye(text), knell.lease(text, double precision),
    knell.publish(text, jsonb), knell.waiting(text), knell.take(text, uuid),
    knell.finish(text, uuid, text, jsonb, text), knell.ended_runs(jsonb) TO knell_host;
GRANT EXECUTE ON FUNCTION knell.fleet_hosts(), knell.fleet_runs(jsonb), knell.fleet_events(jsonb),
    knell.room() TO knell_operator;
