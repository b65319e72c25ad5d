-- Receipts with their host's signature; the list of many agents as text; hosts that leave.

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

REVOKE ALL ON FUNCTION knell.signed_receipt(text, text), knell.fleet_list(jsonb),
    knell.leave(), knell.take_out(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION knell.leave() TO knell_host;
GRANT EXECUTE ON FUNCTION knell.signed_receipt(text, text), knell.fleet_list(jsonb) TO knell_operator;
