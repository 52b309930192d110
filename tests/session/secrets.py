"""Made-up secrets as programs, URLs and command lines contain them."""

from __future__ import annotations

AWS_ID, AWS_SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
JWT_HEAD, JWT_BODY, JWT_SIGN = "eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiJhbm4ifQ", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
GITHUB = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
GITHUB_FINE = "github_pat_11ABCDEFG0aBcDeFgHiJkL_mNoPqRsTuVwXyZ0123456789abcdefghij"
GITLAB, SLACK = "glpat-zY9xW8vU7tS6rQ5pO4nM", "xoxb-2345678901-abcdefGHIJKL"
WORD, BASE64 = "hunter2xyzzy", "dXNlcjpwYXNz"
HEX = "6629fae49393a05397450978507c4ef1"

SECRETS = {
    "aws id": (f"using {AWS_ID} now", (AWS_ID,)),
    "aws pair": (f"{AWS_ID} {AWS_SECRET}", (AWS_ID, AWS_SECRET)),
    "aws pair with colon": (f"credentials {AWS_ID}:{AWS_SECRET}", (AWS_ID, AWS_SECRET)),
    "aws file": (f"aws_secret_access_key = {AWS_SECRET}", (AWS_SECRET,)),
    "aws environment": (f"AWS_SECRET_ACCESS_KEY={AWS_SECRET} serve", (AWS_SECRET,)),
    "github": (f"git clone failed: {GITHUB}", (GITHUB,)),
    "github in a url": (f"https://{GITHUB}@github.com/a/b", (GITHUB,)),
    "github fine-grained": (f"sent {GITHUB_FINE}.", (GITHUB_FINE,)),
    "gitlab": (f"header {GITLAB}", (GITLAB,)),
    "slack": (f"posted with {SLACK}", (SLACK,)),
    "jwt": (f"got {JWT_HEAD}.{JWT_BODY}.{JWT_SIGN} back", (JWT_HEAD, JWT_BODY, JWT_SIGN)),
    "jwt of bearer": (f"Authorization: Bearer {JWT_HEAD}.{JWT_BODY}.{JWT_SIGN}", (JWT_HEAD, JWT_BODY, JWT_SIGN)),
    "jwt in a query": (f"GET /x?jwt={JWT_HEAD}.{JWT_BODY}.{JWT_SIGN}&page=2", (JWT_HEAD, JWT_BODY, JWT_SIGN)),
    "jwt in a path": (f"/verify/{JWT_HEAD}.{JWT_BODY}.{JWT_SIGN}", (JWT_HEAD, JWT_BODY, JWT_SIGN)),
    "option pw": (f"serve --pw {WORD} --port 80", (WORD,)),
    "option pw, quoted": (f"serve --pw '{WORD} and more' --port 80", (WORD, "and more")),
    "option password": (f"serve --password={WORD}", (WORD,)),
    "option token": (f"serve -token {WORD}", (WORD,)),
    "option user": (f"curl -u ann:{WORD} http://x/", (WORD,)),
    "passw0rd": (f"PASSW0RD={WORD} serve", (WORD,)),
    "s3cret": (f"my_s3cret={WORD}", (WORD,)),
    "environment, token": (f"DEPLOY_TOKEN={WORD}", (WORD,)),
    "environment, secret": (f"export OAUTH_CLIENT_SECRET={WORD};", (WORD,)),
    "environment, quoted": (f'DB_PASSWORD="{WORD} with blanks" serve', (WORD, "with blanks")),
    "a comma in it": (f"DB_PASSWORD=abc,{WORD} serve", (WORD,)),
    "in a quoted command": (f'sh -c "MY_TOKEN={WORD} serve --pw {WORD}a # x=y; API_KEY={WORD}b"', (f"{WORD}a", f"{WORD}b")),
    "in an option": (f"docker run --env=MY_TOKEN={WORD} -e PASS={WORD}", (WORD,)),
    "yaml": (f"password: {WORD}", (WORD,)),
    "basic": (f"Authorization: Basic {BASE64}", (BASE64,)),
    "basic in a query": (f"/x?authorization=Basic%20{BASE64}", (BASE64,)),
    "basic alone": (f"sent Basic {BASE64} to it", (BASE64,)),
    "bearer in a dict": (f"{{'Authorization': 'Bearer {WORD}'}}", (WORD,)),
    "cookie": (f"Cookie: theme=dark; visit={WORD}", (WORD,)),
    "set-cookie": (f"Set-Cookie: visit={WORD}; Path=/", (WORD,)),
    "cookies of requests": (f"cookies={{'visit': '{WORD}'}}", (WORD,)),
    "cookie of a jar": (f"<Cookie visit={WORD} for 127.0.0.1/>", (WORD,)),
    "userinfo": (f"http://ann:{WORD}@127.0.0.1:80/x", (WORD,)),
    "userinfo with a slash": (f"http://ann:ab/{WORD}@127.0.0.1:80/x", (WORD,)),
    "userinfo without a scheme": (f"cannot reach ann:{WORD}@127.0.0.1:80", (WORD,)),
    "userinfo of a database": (f"DATABASE=postgres://ann:{WORD}@db/x", (WORD,)),
    "query": (f"GET /x?page=1&api_key={WORD}", (WORD,)),
    "query, signature": (f"GET /x?X-Amz-Signature={WORD}", (WORD,)),
    "sshpass": (f"sshpass -p {WORD} ssh ann@db", (WORD,)),
    "sshpass, joined": (f"sshpass -p{WORD} ssh ann@db", (WORD,)),
    "mysql": (f"sh -c 'mysql -u ann -p{WORD} shop'", (WORD,)),
    "redis-cli": (f"redis-cli -h db -a {WORD} ping", (WORD,)),
    "graphql": (f'login(user: "ann", password: "{WORD} and more") {{ id }}', (WORD, "and more")),
    "graphql in json": (rf'{{"query": "{{ login(password: \"{WORD} and more\") }}"}}', (WORD, "and more")),
    "json in json": (rf'{{"body": "{{\"password\": \"{WORD}\\\"{WORD}a\"}}"}}', (WORD, f"{WORD}a")),
    "an escaped quote in it": (rf'{{"password": "ab\"{WORD}"}}', (WORD,)),
    "wsse": (f'X-WSSE: UsernameToken Username="ann", PasswordDigest="{BASE64}="', (BASE64,)),
    "wsse element": (f'<wsse:Password Type="x#PasswordText">{WORD}</wsse:Password>', (WORD,)),
    "digest": (f'Authorization: Digest username="ann", nonce="n0nce", response="{HEX}", qop=auth', (HEX, "n0nce")),
    "digest in a dict": (f"{{'Authorization': 'Digest username=\"ann\", response=\"{HEX}\"', 'Accept': 'x'}}", (HEX,)),
    "digest alone": (f'uri="/x", response="{HEX}"', (HEX,)),
    "otp": ('{"otp": "871245", "pin": 4711}', ("871245", "4711")),
    "otp in a form": ("user=ann&otp=871245&pin=4711", ("871245", "4711")),
    "code of oauth": (f"GET /callback?code={WORD}&state=x", (WORD,)),
    "code by sms": ('{"code": "871245", "smsCode": "ab12"}', ("871245", "ab12")),
    "slack webhook": (f"POST https://hooks.slack.com/services/T024/B024/{WORD}", ("T024", WORD)),
    "discord webhook": (f"https://discord.com/api/webhooks/4711/{WORD}", (WORD,)),
    "telegram bot": (f"https://api.telegram.org/bot4711:{WORD}/sendMessage", (WORD,)),
    "private key": (f"-----BEGIN RSA PRIVATE KEY-----\n{BASE64}\n-----END RSA PRIVATE KEY-----", (BASE64,)),
}
"""By name: a text, and the parts of it that redaction must remove."""

COMMANDS = {
    "after an option": (("serve", "--pw", WORD), (WORD,)),
    "a password that begins with a dash": (("serve", "--password", f"-{WORD}"), (WORD,)),
    "curl's": (("curl", "--user", f"ann:{WORD}"), (WORD,)),
    "aws, apart": (("serve", AWS_ID, AWS_SECRET), (AWS_ID, AWS_SECRET)),
    "sshpass": (("sshpass", "-p", WORD, "ssh", "ann@db"), (WORD,)),
    "mysql's": (("/usr/bin/mysql", "-u", "ann", f"-p{WORD}", "shop"), (WORD,)),
    "a variable": (("env", f"MY_TOKEN={WORD}", "serve"), (WORD,)),
    "a header": (("curl", "-H", f"Authorization: Bearer {WORD}"), (WORD,)),
}
"""By name: the arguments of a command line, and the parts of it that redaction must remove."""
