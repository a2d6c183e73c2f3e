#!/usr/bin/env python3
"""A small server that speaks as web servers, Google Cloud Storage and S3 do, for the tests of src/remote.

    server.py FOLDER CONTROL LOG      prints its port

Files of FOLDER are at /web/PATH, as gs://bucket/PATH at /storage/v1/b/bucket/o, and as s3://bucket/PATH at
/s3/bucket/PATH. Lists come in pages of two. GCS wants a token (given, or got here in exchange for a signed JWT, a refresh
token or as a metadata server), S3 a signature, which is computed here from AWS's description with hashlib and hmac.

CONTROL holds "NUMBER FAULT COUNT": the next COUNT requests of a file's bytes behind the first one that sees a new NUMBER
go wrong. The fault "enough" is another: the next COUNT requests are answered, all behind them never. LOG gets a line
for each request that is answered: method, path, range, status.
"""
import base64
import hashlib
import hmac
import http.server
import json
import os
import struct
import sys
import threading
import time
import urllib.parse
import xml.sax.saxutils

FOLDER, CONTROL, LOG = sys.argv[1:4]
ACCESS, SECRET, SESSION = "AKIATESTTESTTEST", "secret/of+the/test", os.environ.get("TEST_SESSION_TOKEN", "")
PAGE = 2
lock = threading.Lock()
fault = {"number": None, "kind": "", "left": 0}


def next_fault():
    """The fault for this request, or ''."""
    with lock:
        try:
            number, kind, count = open(CONTROL).read().split()
        except (OSError, ValueError):
            return ""
        if number != fault["number"]:
            fault.update(number=number, kind=kind, left=int(count))
        if fault["kind"] == "enough":
            fault["left"] -= 1
            return "" if fault["left"] >= 0 else "stall"
        if fault["left"] <= 0:
            return ""
        fault["left"] -= 1
        return fault["kind"]


def crc32c(data):
    """CRC-32C by its definition, a table of bytes; RFC 3720, B.4."""
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def keys():
    found = []
    for folder, _, names in os.walk(FOLDER):
        found += [os.path.relpath(os.path.join(folder, name), FOLDER) for name in names]
    return sorted(found)


def read(key):
    path = os.path.join(FOLDER, key)
    if ".." in key or not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        return file.read()


def generation(key):
    return str(os.stat(os.path.join(FOLDER, key)).st_mtime_ns)


def encode(text, slash=""):
    return urllib.parse.quote(text, safe="-._~" + slash)


def sign(method, path, query, headers, names, date, region):
    """AWS Signature Version 4 of a request without a body."""
    pairs = sorted((encode(k), encode(v)) for k, v in urllib.parse.parse_qsl(query, keep_blank_values=True))
    canonical = "\n".join(
        [method, encode(urllib.parse.unquote(path), "/"), "&".join(k + "=" + v for k, v in pairs)]
        + ["%s:%s" % (name, " ".join(headers[name].split())) for name in names]
        + ["", ";".join(names), headers["x-amz-content-sha256"]]
    )
    scope = "%s/%s/s3/aws4_request" % (date[:8], region)
    text = "\n".join(["AWS4-HMAC-SHA256", date, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + SECRET).encode()
    for part in (date[:8], region, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def jwt_is_signed(token):
    """RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017), by the public key's modulus in TEST_RSA_MODULUS."""
    head, claims, signature = token.split(".")
    pad = lambda text: base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    modulus = int(os.environ["TEST_RSA_MODULUS"], 16)
    size = (modulus.bit_length() + 7) // 8
    opened = pow(int.from_bytes(pad(signature), "big"), 65537, modulus).to_bytes(size, "big")
    info = bytes.fromhex("3031300d060960864801650304020105000420")
    info += hashlib.sha256((head + "." + claims).encode()).digest()
    expected = b"\x00\x01" + b"\xff" * (size - len(info) - 3) + b"\x00" + info
    said = json.loads(pad(claims))
    return (
        opened == expected
        and json.loads(pad(head))["alg"] == "RS256"
        and said["iss"] == "robot@project.iam"
        and said["scope"].endswith("devstorage.read_only")
        and said["aud"].endswith("/token")
        and said["iat"] <= time.time() < said["exp"]
        and said["exp"] - said["iat"] == 3600
    )


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def log_request(self, code="-", size="-"):
        with lock, open(LOG, "a") as log:
            log.write("%s %s %s %s\n" % (self.command, self.path, self.headers.get("Range", "-"), int(code)))

    def answer(self, status, body=b"", headers=(), kind="application/json"):
        if isinstance(body, str):
            body = body.encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_bytes(self, data, headers, tag):
        """A file's bytes or a range of them, and what can go wrong. `tag` is the header that names the version."""
        kind = next_fault()
        if kind.isdigit():
            return self.answer(int(kind), b"busy", [("Retry-After", "0")])
        if kind == "stall":
            # Until the client hangs up: it sends nothing more before it has its answer.
            self.connection.recv(1)
            self.close_connection = True
            return
        if kind == "corrupt":
            data = data[:-1] + bytes([data[-1] ^ 1])
        headers = [(n, v if kind != "changed" or n != tag else '"9"') for n, v in headers]
        total, wanted = len(data), self.headers.get("Range")
        if kind == "length":
            total += 1
        if not wanted or kind == "norange":
            self.send_response(200)
            start, body = 0, data
        else:
            start, _, end = wanted[len("bytes="):].partition("-")
            start, end = int(start), min(int(end or total - 1), len(data) - 1)
            if start >= len(data):
                return self.answer(416, b"", [("Content-Range", "bytes */%d" % len(data))])
            body = data[start:end + 1]
            if kind == "short":
                body = body[:(len(body) + 1) // 2]
            self.send_response(206)
            self.send_header("Content-Range", "bytes %d-%d/%d" % (start, start + len(body) - 1, total))
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        if kind == "cut":
            self.wfile.write(body[:len(body) // 2])
            self.wfile.flush()
            self.connection.shutdown(2)
            self.close_connection = True
            return
        self.wfile.write(body)

    # ---- web ----

    def web(self, key):
        data = read(key)
        if data is None:
            return self.answer(404, "nothing here", kind="text/plain")
        self.send_bytes(data, [("ETag", '"%s"' % generation(key))], "ETag")

    # ---- Google ----

    def google(self, path, query):
        if self.headers.get("Authorization") not in ("Bearer token-given", "Bearer token-issued"):
            text = "Anonymous caller does not have storage.objects.get access"
            return self.answer(401, json.dumps({"error": {"code": 401, "message": text}}))
        bucket, _, rest = path.partition("/o")
        if bucket != "bucket":
            return self.answer(404, json.dumps({"error": {"code": 404, "message": "No such bucket"}}))
        options = dict(urllib.parse.parse_qsl(query))
        if rest.startswith("/"):
            return self.google_object(urllib.parse.unquote(rest[1:]), options)
        prefix = options.get("prefix", "")
        found = [key for key in keys() if key.startswith(prefix)]
        if options.get("delimiter") == "/":
            found = [key for key in found if "/" not in key[len(prefix):]]
        at = int(options.get("pageToken", "page-0")[5:])
        page = {"items": [self.google_item(key) for key in found[at:at + PAGE]]}
        if at + PAGE < len(found):
            page["nextPageToken"] = "page-%d" % (at + PAGE)
        self.answer(200, json.dumps(page))

    def google_item(self, key):
        data = read(key)
        return {
            "name": key,
            "size": str(len(data)),
            "generation": generation(key),
            "crc32c": base64.b64encode(struct.pack(">I", crc32c(data))).decode(),
            "md5Hash": base64.b64encode(hashlib.md5(data).digest()).decode(),
        }

    def google_object(self, key, options):
        data = read(key)
        if data is None or ("generation" in options and options["generation"] != generation(key)):
            return self.answer(404, json.dumps({"error": {"code": 404, "message": "No such object: bucket/" + key}}))
        if options.get("alt") != "media":
            return self.answer(200, json.dumps(self.google_item(key)))
        self.send_bytes(data, [("X-Goog-Generation", generation(key))], "X-Goog-Generation")

    def do_POST(self):
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        kind = form.get("grant_type", "")
        if kind == "urn:ietf:params:oauth:grant-type:jwt-bearer":
            right = jwt_is_signed(form["assertion"])
        else:
            right = form == {"grant_type": "refresh_token", "client_id": "client&1", "client_secret": "secret=2",
                             "refresh_token": "1//refresh"}
        if not right:
            return self.answer(400, json.dumps({"error": "invalid_grant", "error_description": "Bad grant."}))
        self.answer(200, json.dumps({"access_token": "token-issued", "expires_in": 3599, "token_type": "Bearer"}))

    # ---- Amazon ----

    def refuse(self, status, code, text):
        body = '<?xml version="1.0"?>\n<Error><Code>%s</Code><Message>%s</Message></Error>' % (code, text)
        self.answer(status, body, kind="application/xml")

    def signature_is_right(self, path, query):
        said = self.headers.get("Authorization", "")
        if not said.startswith("AWS4-HMAC-SHA256 "):
            return False
        parts = dict(part.strip().split("=", 1) for part in said[len("AWS4-HMAC-SHA256 "):].split(","))
        access, date, region, service, end = parts["Credential"].split("/")
        names = parts["SignedHeaders"].split(";")
        headers = {name.lower(): value for name, value in self.headers.items()}
        needed = {"host", "x-amz-date", "x-amz-content-sha256"} | ({"x-amz-security-token"} if SESSION else set())
        if not needed <= set(names) or (SESSION and headers["x-amz-security-token"] != SESSION):
            return False
        right = sign(self.command, path, query, headers, names, headers["x-amz-date"], region)
        return access == ACCESS and parts["Signature"] == right and headers["x-amz-date"].startswith(date)

    def amazon(self, path, query):
        whole, rest = "/s3/" + path, path
        if not self.signature_is_right(whole, query):
            return self.refuse(403, "SignatureDoesNotMatch", "The request signature does not match.")
        bucket, _, key = urllib.parse.unquote(rest).partition("/")
        if bucket == "elsewhere":
            return self.answer(301, b"", [("x-amz-bucket-region", "eu-north-1")])
        if bucket != "bucket":
            return self.refuse(404, "NoSuchBucket", "The specified bucket does not exist")
        if key:
            data = read(key)
            if data is None:
                return self.refuse(404, "NoSuchKey", "The specified key does not exist.")
            return self.send_bytes(data, [("ETag", '"%s"' % hashlib.md5(data).hexdigest())], "ETag")
        options = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        prefix, start = options.get("prefix", ""), options.get("continuation-token", "")
        found = [key for key in keys() if key.startswith(prefix) and key > base64.b64decode(start).decode()]
        if options.get("delimiter") == "/":
            found = [key for key in found if "/" not in key[len(prefix):]]
        page, more = found[:PAGE], len(found) > PAGE
        escape = xml.sax.saxutils.escape
        body = '<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        body += "<IsTruncated>%s</IsTruncated>" % ("true" if more else "false")
        if more:
            token = base64.b64encode(page[-1].encode()).decode()
            body += "<NextContinuationToken>%s</NextContinuationToken>" % token
        for key in page:
            data = read(key)
            body += "<Contents><Key>%s</Key><ETag>&quot;%s&quot;</ETag><Size>%d</Size></Contents>" % (
                escape(key), hashlib.md5(data).hexdigest(), len(data))
        self.answer(200, body + "</ListBucketResult>", kind="application/xml")

    def do_GET(self):
        path, _, query = self.path.partition("?")
        if path.startswith("/web/"):
            self.web(urllib.parse.unquote(path[len("/web/"):]))
        elif path.startswith("/storage/v1/b/"):
            self.google(path[len("/storage/v1/b/"):], query)
        elif path.startswith("/s3/"):
            self.amazon(path[len("/s3/"):], query)
        elif path.startswith("/computeMetadata/v1/") and self.headers.get("Metadata-Flavor") == "Google":
            self.answer(200, json.dumps({"access_token": "token-issued", "expires_in": 3000}))
        elif path.startswith("/latest/meta-data/") and self.headers.get("X-aws-ec2-metadata-token") == "imds-token":
            self.machine(path[len("/latest/meta-data/"):])
        elif path == "/container/keys" and self.headers.get("Authorization") == "container-secret":
            self.answer(200, self.keys_for(3600))
        else:
            self.answer(404, "nothing here", kind="text/plain")

    # ---- servers that give keys ----

    def keys_for(self, seconds):
        end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
        return json.dumps({"Code": "Success", "AccessKeyId": ACCESS, "SecretAccessKey": SECRET, "Token": SESSION,
                           "Expiration": end})

    def machine(self, path):
        answers = {
            "iam/security-credentials/": "a-role\n",
            "iam/security-credentials/a-role": self.keys_for(int(os.environ.get("TEST_KEY_SECONDS", "3600"))),
            "placement/region": "eu-north-1",
        }
        self.answer(200 if path in answers else 404, answers.get(path, ""), kind="text/plain")

    def do_PUT(self):
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        lifetime = self.headers.get("X-aws-ec2-metadata-token-ttl-seconds", "")
        right = self.path == "/latest/api/token" and lifetime.isdigit() and 0 < int(lifetime) <= 21600
        self.answer(200 if right else 400, "imds-token" if right else "", kind="text/plain")

    do_HEAD = do_GET


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Clients that hang up are part of the tests."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
