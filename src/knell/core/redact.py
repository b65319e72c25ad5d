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
    r"(\\?[\"']?(?:%22)?\s*(?:=>|[=:]|%3[ad])\s*|\s+)"
    r"([|>][-+]?\n(?:[ \t]+\S[^\n]*\n?)+|\"[^\"]+\"|\\\"[^\"]+?\\\"|'[^']+'|\\?[\"'][^\"'\n]+"
    r"|(?:(?:bearer|basic|token|digest)\s+)?[^\s\"']{6,})"
)
_PEM = (
    r"-----BEGIN ((?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?)-----"
    r"(?:[\s\S]*?-----END \1-----|[\s\S]*\Z)"
)
_CLIENT = r"((?<!\S)(?:-u[ =]?|--(?:proxy-)?user[ =])[^\s:]{1,64}:)[^\s\"']+"
# Names that are a secret's only where a value follows at once: `PWD=/home` is none, nor is a path.
_SHORT = (
    r"((?<![A-Za-z0-9_])(?:[A-Z0-9_]*_KEY|(?i:[a-z0-9_]*pass(?:w(?:or)?d)?|pwd|_auth))=)"
    r"(?!\d+\b)[^\s\"'/~;&]+"  # how many tests pass is no secret
)
_LOGIN = r"(\b(?:docker|podman|az|helm)(?: registry)? login\b[^\n]{0,100}?\s-p[ =])[^\s\"']+"
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
    (("://",), r"(\b\w++://)[\w.~%-]{16,}@", rf"\1{HIDDEN}@"),
    (("key=", "code="), r"(?i)([?&](?:key|code)=)[\w%.~/+-]{16,}=*", rf"\1{HIDDEN}"),
    (("key=", "pass", "pwd=", "_auth="), _SHORT, rf"\1{HIDDEN}"),
    (('auth"',), r"(\\?\"_?auth\\?\"\s*:\s*\\?\")[^\"\\\n]+", rf"\1{HIDDEN}"),
    (("curl",), r"(\bcurl\s[^\n]{0,100}?(?:-b|--cookie)[ =][\"']?)[^\s\"']{6,}", rf"\1{HIDDEN}"),
    (("login",), _LOGIN, rf"\1{HIDDEN}"),
    (("redis-cli",), r"(\bredis-cli\s(?:[^\n]{0,200}?\s)?-a\s)[^\s\"']+", rf"\1{HIDDEN}"),
    (("pass:",), r"((?<!\S)-pass(?:in|out)?\s+pass:)[^\s\"']+", rf"\1{HIDDEN}"),
    (("from-literal",), r"(--from-literal[ =][^\s=]+=)[^\s\"']+", rf"\1{HIDDEN}"),
    (("private-lines",), r"(Private-Lines: \d+\n)(?:[A-Za-z0-9+/=]+\n?)+", rf"\1{HIDDEN}"),
)

_IN_A_URL = r"(?:\b|(?<=%[0-9A-Fa-f]{2}))"  # where a word begins: also after %20

_PREFIXES = ("npm_", "gsk_", "xai-", "pplx-", "r8_", "nfp_")
# (what every such secret contains, in small letters; its shape). The first is looked for before the
# second is compiled: a kill must not wait for seventy patterns of which it needs none.
SHAPES: tuple[tuple[str, str], ...] = (
    ("sk-", r"\bsk-[A-Za-z0-9_-]{12,}"),  # OpenAI, Anthropic, OpenRouter, DeepSeek
    ("gh", r"\bgh[pousr]_[A-Za-z0-9]{16,}"),
    ("github_pat_", r"\bgithub_pat_\w{20,}"),
    ("gr1348941", r"\bGR1348941[\w-]{20,}"),
    ("gl", r"\bgl(?:pat|dt|rt|wt|rtr|cbt|ptt|ft|soat|agent|oas|imt|ffct)-[\w.-]{16,}"),
    ("gl", r"\bgl(?:sa|c)_[A-Za-z0-9_+/=]{20,}"),  # Grafana
    ("atatt3", r"\bATATT3[\w=-]{20,}"),
    ("atctt3", r"\bATCTT3[\w=-]{20,}"),
    ("atbb", r"\bATBB[A-Za-z0-9]{24,}"),
    ("pypi-", r"\bpypi-[\w-]{30,}"),
    ("rubygems_", r"\brubygems_[a-f0-9]{32,}"),
    ("dckr_", r"\bdckr_(?:pat|oat)_[\w-]{16,}"),
    ("xox", r"\bxox[abcdeoprs](?:\.xox[abeoprs])?-[A-Za-z0-9%-]{10,}"),
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
    *((name, rf"\b{name}[A-Za-z0-9]{{20,}}") for name in _PREFIXES),
    *((name.lower(), rf"\b{name}[\w-]{{20,}}") for name in ("GOCSPX-", "nvapi-", "figd_")),
    ("aiza", r"\bAIza[0-9A-Za-z_-]{30,}"),
    ("absk", r"\bABSK[A-Za-z0-9+/]{90,}=*"),  # Amazon Bedrock
    ("bedrock-api-key-", r"\bbedrock-api-key-[A-Za-z0-9+/=]{20,}"),
    ("ltai", r"\bLTAI[A-Za-z0-9]{16,}"),  # Alibaba
    ("1//0", r"(?<![\w/])1//0[\w-]{30,}"),  # Google, to get new ones
    ("ya29.", r"\bya29\.[\w-]{20,}"),
    ("eyj", r"\beyJ[A-Za-z0-9_+/-]{60,}=*(?!\.)"),  # JSON in base64: a tunnel's or a service's
    ("zxlk", r"\bZXlK[A-Za-z0-9_+/-]{40,}=*"),  # a JSON Web Token in base64
    ("eyj", r"\beyJ[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_.-]{10,}"),  # a JSON Web Token
    ("8q~", r"[\w~.-]{3}8Q~[\w~.-]{31,}"),  # Azure
    ("sig=", r"(?<=[?&]sig=)[\w%+/=-]{20,}"),
    ("sg.", r"\bSG\.[\w-]{16,}\.[\w-]{16,}"),
    ("key-", r"\bkey-[0-9a-f]{32}\b"),  # Mailgun
    ("-us", r"\b[0-9a-f]{32}-us\d{1,2}\b"),  # Mailchimp
    ("sk", r"\bSK[0-9a-f]{32}\b"),  # Twilio
    ("_v1_", r"\bdo[opr]_v1_[a-f0-9]{64}"),
    ("hrku-", r"\bHRKU-[\w-]{30,}"),
    ("hf_", r"\bhf_[A-Za-z0-9]{20,}"),
    ("api_org_", r"\bapi_org_[A-Za-z0-9]{20,}"),
    ("tvly-", r"\btvly-[A-Za-z0-9-]{20,}"),
    ("lsv2_", r"\blsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{6,}"),  # LangSmith
    ("dapi", r"\bdapi[0-9a-f]{32}"),
    ("lin_", r"\blin_(?:api|oauth)_[A-Za-z0-9]{30,}"),
    ("ntn_", r"\bntn_[A-Za-z0-9]{30,}"),
    ("secret_", r"\bsecret_[A-Za-z0-9]{32,}"),
    ("pat", r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),  # Airtable
    ("pat-", r"\bpat-(?:na|eu)\d-[0-9a-f-]{36}"),  # HubSpot
    ("pmak-", r"\bPMAK-[0-9a-f-]{40,}"),
    ("dp.", r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{20,}"),  # Doppler
    ("hv", r"\bhv[sbr]\.[\w-]{20,}"),  # Vault
    (".atlasv1.", r"\b[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}"),
    ("age-secret-key-", r"\bAGE-SECRET-KEY-1[0-9A-Z]{40,}"),
    ("pscale_", r"\bpscale_(?:tkn|oauth|pw)_[\w.-]{20,}"),
    ("sb", r"\bsb(?:p|_secret)_[\w-]{20,}"),  # Supabase
    ("fm", r"\bfm[12]_[A-Za-z0-9+/=_-]{40,}"),  # Fly
    ("nr", r"\bNR(?:AK|JS|II|RA)-[A-Za-z0-9_-]{19,}"),  # New Relic
    ("sntry", r"\bsntry[su]_[A-Za-z0-9+/=_-]{30,}"),
    ("dt0c01.", r"\bdt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{60,}"),
    ("pul-", r"\bpul-[a-f0-9]{40}"),
    ("ops_", r"\bops_[A-Za-z0-9+/=_-]{40,}"),  # 1Password
    ("tfp_", r"\btfp_[\w.-]{30,}"),
    *((name.lower(), rf"\b{name}[A-Za-z0-9]{{50,}}") for name in ("EZAK", "EZTK")),
    ("clojars_", r"\bCLOJARS_[a-z0-9]{60}"),
    ("v1.0-", r"\bv1\.0-[a-f0-9]{24}-[a-f0-9]{100,}"),  # Cloudflare
    ("mfa.", r"\bmfa\.[\w-]{60,}"),  # Discord's users
    ("duffel_", r"\bduffel_(?:test|live)_[\w-]{30,}"),
    ("flwseck", r"\bFLWSECK(?:_TEST)?-[a-zA-Z0-9]{12,}"),
    ("fo1_", r"\bfo1_[\w-]{40,}"),  # Fly
    ("fio-u-", r"\bfio-u-[\w=-]{40,}"),
    *((f"{name}.", rf"\b{name}\.[\w-]{{22}}\.[0-9a-f]{{24}}\.\w{{20}}") for name in ("pat", "sat")),
    ("ico-", r"\bico-[A-Za-z0-9]{32}\b"),
    ("akcp", r"\bAKCp[A-Za-z0-9]{60,}"),  # JFrog
    ("cmvmd", r"\bcmVmd[A-Za-z0-9]{50,}"),
    *(
        (f"{name}-", rf"\b{name}-[0-9a-f]{{8}}(?:-[0-9a-f]{{4,12}}){{4}}\b")
        for name in ("sdk", "api")
    ),
    ("pk.", r"\bpk\.[A-Za-z0-9]{50,}\.[\w-]{20,}"),  # Mapbox
    ("_mmk", r"\b[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk\b"),
    ("webhookb2/", r"(?<=/webhookb2/)[\w@-]{40,}/IncomingWebhook/[\w/-]{40,}"),
    ("api-", r"\bAPI-[A-Z0-9]{26}\b"),  # Octopus
    ("a3-", r"\bA3(?:-[A-Z0-9]{5,11}){5,6}\b"),
    ("sha256~", r"\bsha256~[\w-]{43}"),  # OpenShift
    ("pnu_", r"\bpnu_[a-zA-Z0-9]{36}"),
    ("rdme_", r"\brdme_[a-z0-9]{60,}"),
    ("tk-us-", r"\btk-us-[\w-]{40,}"),
    ("xkeysib-", r"\bxkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    ("sm_", r"\bsm_(?:pat|aat|sat)_[A-Za-z0-9]{16,}"),
    *((name, rf"\b{name}[a-f0-9]{{40}}") for name in ("sqa_", "sqp_", "squ_")),  # SonarQube
    ("sgp_", r"\bsgp_(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40}"),
    ("_prod_", r"\b[sr]k_prod_[A-Za-z0-9]{10,}"),
    ("oauth:", r"\boauth:[a-z0-9]{30}\b"),  # Twitch
    ("aaaaaaaaaaaaaaaaaaaaa", r"\bA{21}[A-Za-z0-9%]{60,}"),  # X
    ("vercel_blob_rw_", r"\bvercel_blob_rw_\w{30,}"),
    ("aqvn", r"\bAQVN[\w-]{35,}"),  # Yandex
    ("y0_", r"\by0_[\w-]{50,}"),
    ("fw_", r"\bfw_[A-Za-z0-9]{22,}\b"),  # Fireworks
    ("csk-", r"\bcsk-[a-z0-9]{40,}"),
    ("sk_", r"\bsk_[a-f0-9]{48}\b"),  # ElevenLabs
    ("pa-", r"\bpa-[\w-]{43}\b"),  # Voyage
    ("key_", r"\bkey_[a-f0-9]{64}\b"),  # Cursor
    ("crsr_", r"\bcrsr_[a-f0-9]{40,}"),
    ("fc-", r"\bfc-[a-f0-9]{32}\b"),
    ("e2b_", r"\be2b_[a-f0-9]{40}"),
    ("pcsk_", r"\bpcsk_\w{40,}"),
    ("jina_", r"\bjina_[A-Za-z0-9]{40,}"),
    *((name, rf"\b{name}[A-Za-z0-9]{{40,}}") for name in ("phc_", "phx_")),  # PostHog
    ("re_", r"\bre_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}\b"),
    ("napi_", r"\bnapi_[a-z0-9]{60,}"),
    ("rnd_", r"\brnd_[A-Za-z0-9]{28}"),
    ("tskey-", r"\btskey-[a-z]+-[\w-]{20,}"),
    ("cfpat-", r"\bCFPAT-[\w-]{40,}"),
    ("bkua_", r"\bbkua_[a-f0-9]{40}"),
    ("ccipat_", r"\bCCIPAT_[A-Za-z0-9]{22}_[a-f0-9]{40}"),
    ("oy2", r"\boy2[a-z0-9]{43}\b"),  # NuGet
    ("cio", r"\bcio[A-Za-z0-9]{32}\b"),  # crates.io
    ("$", r"\$(?:apr1|[1256y]|2[aby])\$[\w./$=]{20,}"),  # a hashed password
)


def redacted(text: str) -> str:
    """`text` without keys, tokens and passwords, as far as their shape gives them away."""
    small = text.lower()
    for hint, shape in SHAPES:
        if hint in small:
            begun = shape.replace(r"\b", _IN_A_URL, 1) if shape[:2] == r"\b" else shape
            text = re.sub(begun if "%" in text else shape, HIDDEN, text)
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
