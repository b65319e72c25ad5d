-- What whoever may give orders does with them: operators, and hosts in the name of their agents.

-- -- what operators may do, and hosts in the name of their agents --------------------------------

CREATE FUNCTION knell.channel(p_host text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$ SELECT 'knell_' || md5(p_host) $$;

-- One transaction for all: each notification wakes every listener once, whatever its channel.
CREATE FUNCTION knell.issue(p_orders jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
DECLARE
    missing text;
BEGIN
    IF NOT is_operator() AND my_host() IS NULL THEN
        RAISE EXCEPTION 'role % may give no orders', session_user USING ERRCODE = 'KN002';
    END IF;
    SELECT one->>'host' INTO missing FROM jsonb_array_elements(p_orders) one
    WHERE NOT EXISTS (SELECT 1 FROM hosts WHERE name = one->>'host' AND left_at IS NULL) LIMIT 1;
    IF missing IS NOT NULL THEN
        RAISE EXCEPTION 'no host %', missing USING ERRCODE = 'KN004';
    END IF;
    INSERT INTO orders (id, host, body, signature, issued_by, expires_at)
    SELECT (one->>'id')::uuid, one->>'host', one->>'body', one->>'signature', session_user,
        to_timestamp((one->>'expires_at')::double precision)
    FROM jsonb_array_elements(p_orders) one
    ON CONFLICT (id) DO NOTHING;  -- the asker was cut off and asks again
    PERFORM pg_notify(channel(one->>'host'), one->>'id') FROM jsonb_array_elements(p_orders) one;
    RETURN to_jsonb(jsonb_array_length(p_orders));
END $$;

-- With the key that the host has published; whoever reads it knows the host's key already, or takes it
-- for the host's at first sight.
CREATE FUNCTION knell.order_json(o knell.orders) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = knell, pg_catalog, pg_temp AS $$
    SELECT jsonb_build_object('id', o.id, 'host', o.host, 'state',
        CASE WHEN o.state = 'issued' AND o.expires_at <= clock_timestamp() THEN 'expired' ELSE o.state END,
        'body', o.body, 'issued_by', o.issued_by, 'issued_at', seconds(o.issued_at),
        'expires_at', seconds(o.expires_at), 'taken_at', seconds(o.taken_at),
        'finished_at', seconds(o.finished_at), 'answer', o.answer, 'proof', o.proof,
        'key', (SELECT h.key FROM hosts h WHERE h.name = o.host))
$$;

CREATE FUNCTION knell.answers(p_ids uuid[]) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
    SELECT coalesce(jsonb_agg(order_json(o)), '[]') FROM orders o
    WHERE id = ANY (p_ids) AND (is_operator() OR issued_by = session_user)
        AND (state NOT IN ('issued', 'taken') OR expires_at <= clock_timestamp() AND state = 'issued')
$$;

CREATE FUNCTION knell.list_orders(p_with_closed boolean) RETURNS jsonb
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
    SELECT coalesce(jsonb_agg(order_json(o) ORDER BY o.issued_at DESC), '[]') FROM (
        SELECT * FROM orders o WHERE (is_operator() OR issued_by = session_user)
            AND (p_with_closed OR state IN ('issued', 'taken') AND
                (state = 'taken' OR expires_at > clock_timestamp()))
        ORDER BY issued_at DESC LIMIT 1000) o
$$;

CREATE FUNCTION knell.cancel(p_id uuid) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = knell, pg_catalog, pg_temp AS $$
DECLARE
    was text;
BEGIN
    SELECT state INTO was FROM orders WHERE id = p_id
        AND (is_operator() OR issued_by = session_user) FOR UPDATE;
    IF was = 'issued' THEN
        UPDATE orders SET state = 'cancelled', finished_at = clock_timestamp() WHERE id = p_id;
    END IF;
    RETURN to_jsonb(coalesce(was, 'unknown'));
END $$;
