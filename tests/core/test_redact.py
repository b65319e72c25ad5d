"""Secrets do not reach the record; everything else does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knell.core.redact import SCREEN_LIMIT, kept_screen, redacted

SECRETS = {
    "assignment": ("export OPENAI_API_KEY=Zx81kQpl", "Zx81kQpl"),
    "quoted": ('api_key: "correct horse battery"', "correct horse battery"),
    "header": ("Authorization: Bearer abcdef123456", "abcdef123456"),
    "option": ("login --password hunter2hunter2", "hunter2hunter2"),
    "anthropic": ("key sk-ant-api03-AbCdEfGhIjKlMnOp here", "sk-ant-api03-AbCdEfGhIjKlMnOp"),
    "github": ("remote ghp_abcdefghijklmnop1234 ok", "ghp_abcdefghijklmnop1234"),
    "slack": ("xoxb-1234567890-abc", "xoxb-1234567890-abc"),
    "aws": ("id AKIAABCDEFGHIJKLMNOP", "AKIAABCDEFGHIJKLMNOP"),
    "google": ("AIzaSyA-1234567890abcdefghijklmnopqrst", "AIzaSyA-1234567890abcdefghijklmnopqrst"),
    "jwt": ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc", "eyJzdWIiOiIxMjM0NTY3ODkwIn0"),
    "token as user": ("git clone https://aB3dE5gHaB3dE5gHaB3d@x.org/x", "aB3dE5gHaB3dE5gHaB3d"),
    "url": ("git clone https://ada:s3cr3t@example.org/x", "s3cr3t"),
}
A36, A48, A64 = "aB3dE5gH" * 5, "aB3dE5gH" * 6, "aB3dE5gH" * 8
HEX32, HEX40, HEX64 = "0a1b2c3d" * 4, "0a1b2c3d" * 5, "0a1b2c3d" * 8
UPPER = "A1B2C3D4" * 8
PEM = "-----{0} {1}PRIVATE KEY{2}-----"
# The shapes that gitleaks, trufflehog and GitHub's own scanner know, as their issuers make them:
# what stands before the secret, and the secret.
SCANNED = {
    "openai": ("", f"sk-{A48}"),
    "openai project": ("", f"sk-proj-{A64}"),
    "anthropic": ("", f"sk-ant-api03-{A64}"),
    "openrouter": ("", f"sk-or-v1-{HEX64}"),
    "tavily": ("", f"tvly-{A36}"),
    "nvidia": ("", f"nvapi-{A64}"),
    "langsmith": ("", f"lsv2_pt_{HEX32}_0a1b2c3d4e"),
    "fernet": ("FERNET_KEY=", A48),
    "github personal": ("", f"ghp_{A36}"),
    "github oauth": ("", f"gho_{A36}"),
    "github user": ("", f"ghu_{A36}"),
    "github server": ("", f"ghs_{A36}"),
    "github refresh": ("", f"ghr_{A36}"),
    "github fine-grained": ("", f"github_pat_{A36}_{A48}"),
    "gitlab personal": ("", "glpat-" + A36[:20]),
    "gitlab deploy": ("", "gldt-" + A36[:20]),
    "gitlab runner": ("", "glrt-" + A36[:20]),
    "gitlab trigger": ("", f"glptt-{HEX40}"),
    "atlassian": ("", f"ATATT3xFfGF0{A64}"),
    "bitbucket": ("", f"ATBB{A36[:32]}"),
    "npm": ("", f"npm_{A36}"),
    "pypi": ("", f"pypi-AgEIcHlwaS5vcmc{A64}"),
    "rubygems": ("", f"rubygems_{HEX40}{HEX32}"),
    "docker": ("", f"dckr_pat_{A36[:27]}"),
    "slack bot": ("", f"xoxb-123456789012-{A36[:24]}"),
    "slack user": ("", f"xoxp-123456789012-{A36[:24]}"),
    "slack app": ("", f"xapp-1-A0123456-123456-{HEX64}"),
    "slack hook": ("https://hooks.slack.com/", f"services/T01234567/B01234567/{A36[:24]}"),
    "discord hook": ("https://discord.com/api/webhooks/", f"123456789012345678/{A64}"),
    "discord bot": ("", f"M{A36[:23]}.{A36[:6]}.{A36[:38]}"),
    "telegram": ("", f"123456789:AA{A36[:33]}"),
    "stripe live": ("", f"sk_live_{A36[:24]}"),
    "stripe test": ("", f"sk_test_{A36[:24]}"),
    "stripe restricted": ("", f"rk_live_{A36[:24]}"),
    "stripe hook": ("", f"whsec_{A36[:32]}"),
    "square": ("", f"sq0atp-{A36[:22]}"),
    "square long": ("", f"EAAA{A64}"),
    "facebook": ("", f"EAA{A64}"),
    "shopify": ("", f"shpat_{HEX32}"),
    "aws": ("", f"AKIA{UPPER[:16]}"),
    "aws session": ("", f"ASIA{UPPER[:16]}"),
    "aws secret": ("aws_secret_access_key = ", f"{A36[:30]}/+{A36[:8]}"),
    "google key": ("", f"AIza{A36[:35]}"),
    "google oauth": ("", f"ya29.{A64}"),
    "google client": ("", f"GOCSPX-{A36[:28]}"),
    "azure": ("", f"abc8Q~{A36[:34]}"),
    "azure storage": ("DefaultEndpointsProtocol=https;AccountKey=", f"{A64}{A36[:22]}=="),
    "azure signed": ("https://x.blob.core.windows.net/c?se=1&sig=", f"{A48}%3D"),
    "jwt": ("", f"eyJhbGciOiJIUzI1NiJ9.{A48}.{A36}"),
    "sendgrid": ("", f"SG.{A36[:22]}.{A48[:43]}"),
    "mailgun": ("", f"key-{HEX32}"),
    "mailchimp": ("", f"{HEX32}-us12"),
    "twilio": ("", f"SK{HEX32}"),
    "digitalocean": ("", f"dop_v1_{HEX64}"),
    "heroku": ("", f"HRKU-{A36}"),
    "huggingface": ("", f"hf_{A36[:34]}"),
    "groq": ("", f"gsk_{A48}"),
    "xai": ("", f"xai-{A64}"),
    "perplexity": ("", f"pplx-{A48}"),
    "replicate": ("", f"r8_{A36[:37]}"),
    "databricks": ("", f"dapi{HEX32}"),
    "linear": ("", f"lin_api_{A36}"),
    "notion": ("", f"ntn_{A48[:46]}"),
    "notion old": ("", f"secret_{A48[:43]}"),
    "airtable": ("", f"pat{A36[:14]}.{HEX64}"),
    "hubspot": ("", "pat-na1-0a1b2c3d-0a1b-2c3d-0a1b-0a1b2c3d0a1b"),
    "figma": ("", f"figd_{A36}"),
    "postman": ("", f"PMAK-{HEX32[:24]}-{HEX40[:34]}"),
    "doppler": ("", f"dp.pt.{A48[:43]}"),
    "vault": ("", f"hvs.{A64}"),
    "terraform": ("", f"{A36[:14]}.atlasv1.{A64}"),
    "age": ("", f"AGE-SECRET-KEY-1{UPPER[:58]}"),
    "planetscale": ("", f"pscale_tkn_{A48[:43]}"),
    "supabase": ("", f"sbp_{HEX40}"),
    "netlify": ("", f"nfp_{A36}"),
    "fly": ("", f"fm2_{A64}"),
    "grafana": ("", f"glsa_{A36[:32]}_0a1b2c3d"),
    "new relic": ("", f"NRAK-{UPPER[:27]}"),
    "sentry": ("", f"sntrys_{A64}"),
    "dynatrace": ("", f"dt0c01.{UPPER[:24]}.{UPPER}"),
    "pulumi": ("", f"pul-{HEX40}"),
    "1password": ("", f"ops_{A64}"),
    "typeform": ("", f"tfp_{A48}"),
    "easypost": ("", f"EZAK{A64}"),
    "json": ('{"model": "x", "api_key": "', "Zx81kQplZx81"),
    "json in json": ('{\\"apiKey\\": \\"', "Zx81kQplZx81"),
    "yaml": ("client_secret: ", "Zx81kQplZx81"),
    "ini": ("db_password=", "Zx81kQplZx81"),
    "xml": ("<password>", "Zx81"),
    "netrc": ("machine x login ada password ", "Zx81kQpl"),
    "header": ("curl -H 'x-api-key: ", "Zx81kQplZx81"),
    "basic": ("Authorization: Basic ", "YWRhOlp4ODFrUXBs"),
    "cookie": ("Cookie: session=", "Zx81kQpl; id=Zx81"),
    "signed url": ("https://s3/x?X-Amz-Signature=", HEX64),
    "query": ("https://x/y?access_token=", "Zx81kQplZx81"),
    "curl": ("curl -u ada:", "Zx81kQpl"),
    "sshpass": ("sshpass -p ", "Zx81"),
    "mysql": ("mysql -uroot -p", "Zx81"),
    "option": ("server --api-key ", "Zx81kQplZx81"),
    "postgres": ("postgres://ada:", "Zx81@db/x"),
    "gitlab runner of old": ("", f"GR1348941{A36[:20]}"),
    "hugging face of a team": ("", f"api_org_{A36[:34]}"),
    "slack session": ("", f"xoxc-{A36}"),
    "slack cookie": ("", f"xoxd-{A36}"),
    "bedrock": ("", f"ABSK{A64}{A48}"),
    "alibaba": ("", f"LTAI{A36[:20]}"),
    "google refresh": ("", f"1//0{A64}"),
    "json in base64": ("", f"eyJhcGlfa2V5Ijoi{A64}"),
    "json web token in base64": ("", f"ZXlK{A64}"),
    "easypost test": ("", f"EZTK{A64}"),
    "launchdarkly": ("", "sdk-0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f"),
    "sonarqube": ("", f"squ_{HEX40}"),
    "sourcegraph": ("", f"sgp_{HEX40}"),
    "stripe prod": ("", f"rk_prod_{A36[:24]}"),
    "tailscale": ("", f"tskey-auth-{A36[:12]}-{A36[:32]}"),
    "cursor": ("", f"crsr_{HEX64}"),
    "cerebras": ("", f"csk-{HEX40}{HEX32[:8]}"),
    "pinecone": ("", f"pcsk_{A64}"),
    "posthog": ("", f"phx_{A48[:43]}"),
    "brevo": ("", f"xkeysib-{HEX64}-{A36[:16]}"),
    "circleci": ("", f"CCIPAT_{A36[:22]}_{HEX40}"),
    "hashed password": ("root:", f"$6$aB3dE5gH${A64}"),
    "teams hook": (
        "https://x.office.com/webhookb2/",
        f"{HEX40}@x/IncomingWebhook/{HEX40}/x0a1b2c3d",
    ),
    "upper key": ("MESSAGEBIRD_KEY=", "Zx81kQplZx81"),
    "short password": ("PGPASSWORD=", "Zx81k"),
    "pass": ("DB_PASS=", "Zx81kQpl"),
    "npmrc": ("//registry/:_auth=", "WngIMWtRcGxaeDgx"),
    "docker config": ('{"auths": {"r.io": {"auth": "', "YWRhOlp4ODFrUXBs"),
    "yaml block": ("password: |\n  ", "Zx81kQplZx81"),
    "php": ("'password' => '", "Zx81kQplZx81"),
    "key in a query": ("https://x/y?key=", A36),
    "curl in one word": ("curl -uada:", "Zx81kQpl"),
    "curl cookie": ("curl -b 'session=", "Zx81kQplZx81"),
    "docker login": ("docker login -u ada -p ", "Zx81kQpl"),
    "redis": ("redis-cli -h x -a ", "Zx81kQpl"),
    "openssl": ("openssl enc -pass pass:", "Zx81kQpl"),
    "kubectl": ("kubectl create x --from-literal=pw=", "Zx81kQpl"),
    "pem": ("", f"{PEM.format('BEGIN', 'RSA ', '')}\nMIIE{A64}\n{PEM.format('END', 'RSA ', '')}"),
    "openssh": ("", f"{PEM.format('BEGIN', 'OPENSSH ', '')}\nb3Bl{A64}"),
    "pgp": ("", f"{PEM.format('BEGIN', 'PGP ', ' BLOCK')}\nlQOY{A64}"),
}
HARMLESS = [
    "node server.js --port 8080 --host 0.0.0.0",
    "python -m pytest tests/core/test_kind.py -k key",
    "git commit -m 'skip the disk check' && git push origin main",
    "see https://example.org/docs/key-value/asia-pacific?page=2",
    "passed: 1426, failed: 0 in 565.23 s",
    "/usr/lib/systemd/systemd --user",
    "the tokenizer is slow",
    "password:",
    "max_tokens 5",
    "PWD=/home/ada OLDPWD=~/x make -j2",
    "ssh://git@example.org/x.git",
    "primary_key=id, sort_key=name",
    "python -u app.py",
    "pass=123, fail=0",
    "https://example.org/a:b",
    "sk-",
    "git status",
    "",
]


@pytest.mark.parametrize(("line", "secret"), SECRETS.values(), ids=SECRETS)
def test_a_secret_is_hidden(line: str, secret: str) -> None:
    hidden = redacted(line)
    assert secret not in hidden
    assert "[redacted]" in hidden


@pytest.mark.parametrize(("before", "secret"), SCANNED.values(), ids=SCANNED)
@pytest.mark.parametrize("around", ["{}", "run --with {} now", "line\n{}\nline", '"{}"'])
def test_P16_every_shape_of_the_common_scanners_is_hidden(
    before: str, secret: str, around: str
) -> None:
    hidden = redacted(around.replace("{}", before + secret))
    for part in secret.replace("\n", " ").split():
        assert part[-8:] not in hidden.replace("-----", " "), hidden
    assert hidden.startswith(around.partition("{}")[0])


@pytest.mark.parametrize("line", HARMLESS)
def test_harmless_text_is_left_alone(line: str) -> None:
    assert redacted(line) == line


def test_what_surrounds_a_secret_stays() -> None:
    assert redacted("a TOKEN=abcdefgh b") == "a TOKEN=[redacted] b"


@given(st.text(max_size=300))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    assert redacted(redacted(text)) == redacted(text)


@given(st.text())
def test_a_kept_screen_is_printable_and_short(text: str) -> None:
    kept = kept_screen(text)
    assert len(kept) <= SCREEN_LIMIT * 2
    assert all(char.isprintable() or char == "\n" for char in kept)


def test_the_end_of_a_long_screen_is_kept() -> None:
    kept = kept_screen("first\n" + "x" * (2 * SCREEN_LIMIT) + "\nlast line\n\n\n")
    assert kept.endswith("\nlast line")
    assert "first" not in kept
    assert len(kept) <= SCREEN_LIMIT


def test_escape_codes_do_not_survive_in_a_kept_screen() -> None:
    assert kept_screen("\x1b[31mred\x1b[0m \x07bell\r\nnext  \n") == "red bell\nnext"


def test_a_secret_across_the_cut_is_not_half_shown() -> None:
    secret = "sk-ant-" + "A" * 40
    kept = kept_screen("API_KEY=" + secret + "\n" + "y" * (SCREEN_LIMIT - 30))
    assert "AAAA" not in kept


@pytest.mark.parametrize(
    "mark", ["\x1b[1m", "\x1b[0;38;5;208m", "\x1b]8;;http://x\x1b\\", "\x1b]0;t\x07"]
)
def test_P16_a_colour_within_a_secret_does_not_hide_it(mark: str) -> None:
    secret = f"sk-ant-api03-{A64}"
    shown = kept_screen(f"key {secret[:9]}{mark}{secret[9:]} ok")
    assert shown == "key [redacted] ok"


@pytest.mark.parametrize(
    "text",
    [
        "GET /x?q=Authorization%3A%20Bearer%20ghp_abcdefghijklmnop1234",
        "body=%7B%22api_key%22%3A%22ghp_abcdefghijklmnop1234%22%7D",
        "see%20ghp_abcdefghijklmnop1234%20there",
        "password%3Dghp_abcdefghijklmnop1234",
    ],
)
def test_P50_a_secret_that_is_encoded_for_a_url_is_hidden(text: str) -> None:
    assert "abcdefghijklmnop1234" not in redacted(text)


@pytest.mark.parametrize("secret", ["Zx81kQplZx81kQpl", "hunter2hunter2"])
def test_P50_so_is_one_that_only_its_encoded_name_tells(secret: str) -> None:
    assert secret not in redacted(f"POST /login?then=password%3D{secret}")
    assert secret not in redacted(f"%7B%22client_secret%22%3A%22{secret}%22%7D")
