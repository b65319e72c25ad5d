"""Hides what looks like a secret before a screen or a command line is stored or shown."""

import re

SCREEN_LIMIT = 16_384  # characters of a last screen that are kept
LONGEST_READ = 8 * SCREEN_LIMIT
HIDDEN = "[redacted]"

# The names under which people and programs keep secrets, in any spelling: API_KEY, "apiKey", …
_NAMES = (
    r"api[_-]?key|access[_-]?key|account[_-]?key|private[_-]?key|signing[_-]?key|encryption[_-]?key"
    r"|auth[_-]?key|master[_-]?key|fernet[_-]?key|session[_-]?key|client[_-]?key|connection[_-]?string|token|secret"
    r"|passw(?:or)?d|passphrase|[a-z0-9]_pwd|credential|authorization|signature"
)
_HINTS = ("key", "string", "token", "secret", "pass", "pwd", "credential", "auth", "signature")
# It begins where a word does and reads it once: a screen may be one word of a million letters.
_ASSIGNED = (
    rf"(?i)(?<![a-z0-9_-])(?=[a-z0-9_-]*?(?:{_NAMES}))([a-z0-9_-]++)"
    r"(\\?[\"']?\s*[=:]\s*|\s+)"
    r"(\"[^\"]+\"|\\\"[^\"]+?\\\"|'[^']+'|\\?[\"'][^\"'\n]+"
    r"|(?:(?:bearer|basic|token|digest)\s+)?[^\s\"']{6,})"
)
_PEM = (
    r"-----BEGIN ((?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?)-----"
    r"(?:[\s\S]*?-----END \1-----|[\s\S]*\Z)"
)
_CLIENT = r"((?<!\S)(?:-u|--(?:proxy-)?user)[ =][^\s:]{1,64}:)[^\s\"']+"
_MYSQL = r"(\b(?:mysql|mariadb)\w*\s(?:[^\n]{0,200}?\s)?-p)[^\s\"']+"

_ESCAPES = r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b]*+(?:\x07|\x1b\\)?)"

# (one of these must occur, in small letters; the pattern; what is left of it)
RULES: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("private key",), _PEM, HIDDEN),
    (("cookie:",), r"(?i)(\bcookie:\s*)[^\n\"']{6,}", rf"\1{HIDDEN}"),
    (_HINTS, _ASSIGNED, rf"\1\2{HIDDEN}"),
    (_HINTS, rf"(?i)(<(?:\w+:)?(?:{_NAMES})>)[^<\n]+", rf"\1{HIDDEN}"),
    ((" -u", "--user", "--proxy-user"), _CLIENT, rf"\1{HIDDEN}"),
    (("sshpass",), r"(\bsshpass\s+-p\s?)[^\s\"']+", rf"\1{HIDDEN}"),
    (("mysql", "mariadb"), _MYSQL, rf"\1{HIDDEN}"),
    (("://",), r"(\b\w++://[^\s/:@]*:)[^\s/@]+@", rf"\1{HIDDEN}@"),
)

# (what every such secret contains, in small letters; its shape). The first is looked for before the
# second is compiled: a kill must not wait for seventy patterns of which it needs none.
SHAPES: tuple[tuple[str, str], ...] = (
    ("sk-", r"\bsk-[A-Za-z0-9_-]{12,}"),  # OpenAI, Anthropic, OpenRouter, DeepSeek
    ("gh", r"\bgh[pousr]_[A-Za-z0-9]{16,}"),
    ("github_pat_", r"\bgithub_pat_\w{20,}"),
    ("gl", r"\bgl(?:pat|dt|rt|rtr|cbt|ptt|ft|soat|agent|oas|imt|ffct)-[\w.-]{16,}"),
    ("gl", r"\bgl(?:sa|c)_[A-Za-z0-9_+/=]{20,}"),  # Grafana
    ("atatt3", r"\bATATT3[\w=-]{20,}"),
    ("atbb", r"\bATBB[A-Za-z0-9]{24,}"),
    ("npm_", r"\bnpm_[A-Za-z0-9]{20,}"),
    ("pypi-", r"\bpypi-[\w-]{30,}"),
    ("rubygems_", r"\brubygems_[a-f0-9]{32,}"),
    ("dckr_", r"\bdckr_(?:pat|oat)_[\w-]{16,}"),
    ("xox", r"\bxox[abeoprs](?:\.xox[abeoprs])?-[A-Za-z0-9-]{10,}"),
    ("xapp-", r"\bxapp-\d-[A-Za-z0-9-]{10,}"),
    ("hooks.slack.com", r"(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[\w/+-]{20,}"),
    ("webhooks/", r"(?<=/api/webhooks/)\d{10,}/[\w-]{20,}"),  # Discord
    (".", r"\b[MNO][A-Za-z\d_-]{23,28}\.[\w-]{6}\.[\w-]{27,}"),  # Discord's bots
    (":aa", r"\b\d{8,10}:AA[\w-]{32,}"),  # Telegram
    ("_live_", r"\b(?:sk|rk|pk|shippo)_live_[A-Za-z0-9]{10,}"),  # Stripe and others
    ("_test_", r"\b(?:sk|rk|pk|shippo)_test_[A-Za-z0-9]{10,}"),
    ("whsec_", r"\bwhsec_[A-Za-z0-9+/=]{20,}"),
    ("sq0", r"\bsq0(?:atp|csp|idp)-[\w-]{20,}"),
    ("eaaa", r"\bEAAA[\w-]{50,}"),
    ("eaa", r"\bEAA[A-Za-z0-9]{40,}"),  # Facebook
    ("shp", r"\bshp(?:at|ca|pa|ss|ua)_[a-fA-F0-9]{32}"),
    *((name.lower(), rf"\b{name}[A-Z0-9]{{16}}\b") for name in ("AKIA", "ASIA", "ABIA", "ACCA")),
    ("aiza", r"\bAIza[0-9A-Za-z_-]{30,}"),
    ("ya29.", r"\bya29\.[\w-]{20,}"),
    ("gocspx-", r"\bGOCSPX-[\w-]{20,}"),
    ("eyj", r"\beyJ[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_.-]{10,}"),  # a JSON Web Token
    ("8q~", r"[\w~.-]{3}8Q~[\w~.-]{31,}"),  # Azure
    ("sig=", r"(?<=[?&]sig=)[\w%+/=-]{20,}"),
    ("sg.", r"\bSG\.[\w-]{16,}\.[\w-]{16,}"),
    ("key-", r"\bkey-[0-9a-f]{32}\b"),  # Mailgun
    ("-us", r"\b[0-9a-f]{32}-us\d{1,2}\b"),  # Mailchimp
    ("sk", r"\bSK[0-9a-f]{32}\b"),  # Twilio
    ("_v1_", r"\bdo[opr]_v1_[a-f0-9]{64}"),
    ("hrku-", r"\bHRKU-[\w-]{30,}"),
    ("hf_", r"\b(?:api_org|hf)_[A-Za-z0-9]{20,}"),
    ("gsk_", r"\bgsk_[A-Za-z0-9]{20,}"),
    ("xai-", r"\bxai-[A-Za-z0-9]{20,}"),
    ("pplx-", r"\bpplx-[A-Za-z0-9]{20,}"),
    ("tvly-", r"\btvly-[A-Za-z0-9-]{20,}"),
    ("nvapi-", r"\bnvapi-[\w-]{20,}"),
    ("lsv2_", r"\blsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{6,}"),  # LangSmith
    ("r8_", r"\br8_[A-Za-z0-9]{20,}"),
    ("dapi", r"\bdapi[0-9a-f]{32}"),
    ("lin_", r"\blin_(?:api|oauth)_[A-Za-z0-9]{30,}"),
    ("ntn_", r"\bntn_[A-Za-z0-9]{30,}"),
    ("secret_", r"\bsecret_[A-Za-z0-9]{32,}"),
    ("pat", r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),  # Airtable
    ("pat-", r"\bpat-(?:na|eu)\d-[0-9a-f-]{36}"),  # HubSpot
    ("figd_", r"\bfigd_[\w-]{20,}"),
    ("pmak-", r"\bPMAK-[0-9a-f-]{40,}"),
    ("dp.", r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{20,}"),  # Doppler
    ("hv", r"\bhv[sbr]\.[\w-]{20,}"),  # Vault
    (".atlasv1.", r"\b[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}"),
    ("age-secret-key-", r"\bAGE-SECRET-KEY-1[0-9A-Z]{40,}"),
    ("pscale_", r"\bpscale_(?:tkn|oauth|pw)_[\w.-]{20,}"),
    ("sb", r"\bsb(?:p|_secret)_[\w-]{20,}"),  # Supabase
    ("nfp_", r"\bnfp_[A-Za-z0-9]{20,}"),
    ("fm", r"\bfm[12]_[A-Za-z0-9+/=_-]{40,}"),  # Fly
    ("nr", r"\bNR(?:AK|JS|II|RA)-[A-Za-z0-9_-]{19,}"),  # New Relic
    ("sntry", r"\bsntry[su]_[A-Za-z0-9+/=_-]{30,}"),
    ("dt0c01.", r"\bdt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{60,}"),
    ("pul-", r"\bpul-[a-f0-9]{40}"),
    ("ops_", r"\bops_[A-Za-z0-9+/=_-]{40,}"),  # 1Password
    ("tfp_", r"\btfp_[\w.-]{30,}"),
    ("ezak", r"\bEZAK[A-Za-z0-9]{50,}"),
)


def redacted(text: str) -> str:
    """`text` without keys, tokens and passwords, as far as their shape gives them away."""
    small = text.lower()
    for hint, shape in SHAPES:
        if hint in small:
            text = re.sub(shape, HIDDEN, text)
    for hints, pattern, left in RULES:
        if any(hint in small for hint in hints):
            text = re.sub(pattern, left, text)
    return text


def kept_screen(text: str) -> str:
    """The end of a screen, printable and redacted, short enough to store."""
    if len(text) > LONGEST_READ:
        _, _, text = text[-LONGEST_READ:].partition("\n")  # the rest of a torn line
    if "\x1b" in text:  # a colour within a secret would hide its shape
        text = re.sub(_ESCAPES, "", text)
    lines = [line.rstrip() for line in text.splitlines()]
    plain = "".join(c for c in "\n".join(lines).strip("\n") if c.isprintable() or c == "\n")
    return redacted(plain)[-SCREEN_LIMIT:]  # only now: half a secret has no shape
