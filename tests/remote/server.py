#!/usr/bin/env python3
"""A small server that speaks as web servers, Google Cloud Storage and S3 do, for the tests of src/remote.

    server.py FOLDER CONTROL LOG      prints its port

Files of FOLDER are at /web/PATH, as gs://bucket/PATH at /storage/v1/b/bucket/o, and as s3://bucket/PATH at
/s3/bucket/PATH. Lists come in pages of two. GCS wants a token (given, or got here in exchange for a signed JWT, a refresh
token or as a metadata server), S3 a signature, which is computed here from AWS's description with hashlib and hmac.

CONTROL holds "NUMBER FAULT COUNT": the next COUNT requests of a file's bytes behind the first one that sees a new NUMBER
go wrong. Two faults are others: the next COUNT requests are answered; all behind them never ("enough"), or refused
("denied"). LOG gets a line for each request that is answered: method, path, range, status.

With TEST_CERTIFICATE and TEST_CERTIFICATE_KEY (PEM files) in its environment it speaks https.

Objects are written as both clouds do it: S3's whole objects and multipart uploads, GCS's resumable uploads. Files appear
in FOLDER when they are complete. Signatures cover the bodies, and checksums are compared. Faults of requests that send
bytes begin with "put-", those of S3's CompleteMultipartUpload with "end-". Both clouds' conditions on the version that is
replaced or removed are kept (ifGenerationMatch; If-Match, If-None-Match). The bucket "readonly" refuses writers, and
has no objects.
"""
import base64
import functools
import hashlib
import hmac
import http.server
import json
import os
import ssl
import struct
import sys
import threading
import time
import urllib.parse
import xml.etree.ElementTree
import xml.sax.saxutils

FOLDER, CONTROL, LOG = sys.argv[1:4]
CHUNK_UNIT = 256 << 10
ACCESS, SECRET, SESSION = "AKIATESTTESTTEST", "secret/of+the/test", os.environ.get("TEST_SESSION_TOKEN", "")
PAGE = 2
lock = threading.Lock()
writing = threading.RLock()  # a condition and the writing that hangs on it are one
fault = {"number": None, "kind": "", "left": 0}
uploads = {}  # by id: {"key", "parts" or "bytes", ...}


def next_fault(stage=""):
    """The fault for this request, or ''. Faults of a stage are called STAGE-FAULT."""
    with lock:
        try:
            number, kind, count = open(CONTROL).read().split()
        except (OSError, ValueError):
            return ""
        if number != fault["number"]:
            fault.update(number=number, kind=kind, left=int(count))
        of_stage, dash, name = fault["kind"].rpartition("-")
        if of_stage != stage:
            return ""
        if name in ("enough", "denied"):
            fault["left"] -= 1
            return "" if fault["left"] >= 0 else {"enough": "stall", "denied": "403"}[name]
        if fault["left"] <= 0:
            return ""
        fault["left"] -= 1
        return name


def crc32c_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = crc32c_table()


@functools.lru_cache(maxsize=64)
def crc32c(data):
    """CRC-32C by its definition, a table of bytes; RFC 3720, B.4."""
    crc, table = 0xFFFFFFFF, TABLE
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


metadata = {}  # x-amz-meta-liana-upload, by key


def write(key, data, meta=""):
    """All at once, as both clouds promise."""
    path = os.path.join(FOLDER, key)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = "%s/../arriving-%d" % (FOLDER, threading.get_ident())
    with open(temporary, "wb") as file:
        file.write(data)
    metadata[key] = meta
    os.rename(temporary, path)


def remove(key):
    try:
        os.remove(os.path.join(FOLDER, key))
        folder = os.path.dirname(os.path.join(FOLDER, key))
        while os.path.realpath(folder) != os.path.realpath(FOLDER):
            os.rmdir(folder)  # buckets have no folders
            folder = os.path.dirname(folder)
    except OSError:
        pass


def base64_crc32c(data):
    return base64.b64encode(struct.pack(">I", crc32c(data))).decode()


def generation(key):
    return str(os.stat(os.path.join(FOLDER, key)).st_mtime_ns)


def look(key):
    """An object and its generation, of one moment: an old object with a new generation would let a writer through."""
    with writing:
        data = read(key)
        return data, generation(key) if data is not None else "0"


def encode(text, slash=""):
    return urllib.parse.quote(text, safe="-._~" + slash)


def sign(method, path, query, headers, names, date, region):
    """AWS Signature Version 4."""
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
        and said["scope"].rpartition(".")[2] in ("read_only", "read_write")
        and "devstorage." in said["scope"]
        and said["aud"].endswith("/token")
        and said["iat"] <= time.time() < said["exp"]
        and said["exp"] - said["iat"] == 3600
    )


def jwt_may_write(token):
    claims = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["scope"].endswith("read_write")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body are written apart: else the body would wait 40 ms for the client's acknowledgement of the head.
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def log_request(self, code="-", size="-"):
        with lock, open(LOG, "a") as log:
            log.write("%s %s %s %s\n" % (self.command, self.path,
                                          self.headers.get("Range") or self.headers.get("Content-Range") or "-", int(code)))

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
        if kind == "away":
            return self.answer(302, b"", [("Location", "http://127.0.0.1:1" + self.path)])
        if kind == "moved":
            return self.answer(302, b"", [("Location", self.path)])
        if kind == "faint":
            headers = [(n, "W/" + v if n == tag else v) for n, v in headers]
        headers = [(n, v if kind not in ("changed", "unaware") or n != tag else '"9"') for n, v in headers]
        total, wanted = len(data), self.headers.get("Range")
        if self.headers.get("If-Range", dict(headers)[tag]) != dict(headers)[tag] and kind != "unaware":
            wanted = None
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
        if kind != "unsaid":
            self.send_header("Content-Length", str(len(body) + {"lie": 10, "huge": 5 << 30}.get(kind, 0)))
        self.end_headers()
        if self.command == "HEAD":
            return
        if kind in ("cut", "faint", "hang"):
            self.wfile.write(body[:len(body) // 2])
            self.wfile.flush()
            if kind == "hang":
                self.connection.recv(1)
            else:
                self.connection.shutdown(2)
            self.close_connection = True
            return
        if kind == "slow":
            for at in range(0, len(body), len(body) // 10 + 1):
                self.wfile.write(body[at:at + len(body) // 10 + 1])
                time.sleep(0.1)
            return
        self.wfile.write(body)
        # Only the end of the connection is the end of the body.
        if kind in ("lie", "unsaid"):
            self.close_connection = True

    # ---- web ----

    def web(self, key):
        data, number = look(key)
        if data is None:
            return self.answer(404, "nothing here", kind="text/plain")
        self.send_bytes(data, [("ETag", '"%s"' % number)], "ETag")

    # ---- Google ----

    def google(self, path, query):
        if self.headers.get("Authorization") not in ("Bearer token-given", "Bearer token-issued", "Bearer token-reader"):
            text = "Anonymous caller does not have storage.objects.get access"
            return self.answer(401, json.dumps({"error": {"code": 401, "message": text}}))
        bucket, _, rest = path.partition("/o")
        if bucket == "readonly" and not rest:
            return self.answer(200, "{}")
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
        data, number = look(key)
        return {
            "name": key,
            "size": str(len(data)),
            "generation": number,
            "crc32c": base64.b64encode(struct.pack(">I", crc32c(data))).decode(),
            "md5Hash": base64.b64encode(hashlib.md5(data).digest()).decode(),
        }

    def google_object(self, key, options):
        data, number = look(key)
        if data is None or ("generation" in options and options["generation"] != number):
            return self.answer(404, json.dumps({"error": {"code": 404, "message": "No such object: bucket/" + key}}))
        if options.get("alt") != "media":
            return self.answer(200, json.dumps(self.google_item(key)))
        self.send_bytes(data, [("X-Goog-Generation", number)], "X-Goog-Generation")

    def google_refuses_writer(self, bucket):
        if self.headers.get("Authorization") not in ("Bearer token-given", "Bearer token-issued"):
            self.answer(403, json.dumps({"error": {"code": 403, "message": "Insufficient Permission"}}))
        elif bucket == "readonly":
            text = "robot does not have storage.objects.create access"
            self.answer(403, json.dumps({"error": {"code": 403, "message": text}}))
        elif bucket != "bucket":
            self.answer(404, json.dumps({"error": {"code": 404, "message": "The specified bucket does not exist."}}))
        else:
            return False
        return True

    def google_is_another(self, key, wanted):
        """Whether the object is not of the generation that was named: then that is answered."""
        if wanted is None or wanted == look(key)[1]:
            return False
        text = "At least one of the pre-conditions you specified did not hold."
        self.answer(412, json.dumps({"error": {"code": 412, "message": text}}))
        return True

    def google_begins(self, path, query, body):
        bucket = path.partition("/o")[0]
        options = dict(urllib.parse.parse_qsl(query))
        if self.google_refuses_writer(bucket):
            return
        if self.google_is_another(options.get("name", ""), options.get("ifGenerationMatch")):
            return
        said = json.loads(body)
        if options.get("uploadType") != "resumable" or "crc32c" not in said or not options.get("name"):
            return self.answer(400, json.dumps({"error": {"code": 400, "message": "expected a resumable upload"}}))
        name = "session-%d-%d" % (len(uploads), time.time_ns())
        uploads[name] = {"key": options["name"], "only_if": options.get("ifGenerationMatch"), "bytes": b"", "crc32c": said["crc32c"],
                         "size": int(self.headers["X-Upload-Content-Length"])}
        where = "http://%s/session/%s" % (self.headers["Host"], name)
        self.answer(200, b"", [("Location", where)])

    def google_progress(self, state):
        got = len(state["bytes"])
        self.answer(308, b"", [("Range", "bytes=0-%d" % (got - 1))] if got else [])

    def google_chunk(self, name, body):
        state = uploads.get(name)
        if not state:
            return self.answer(404, b"")
        if state.get("done"):
            return self.answer(200, json.dumps(self.google_item(state["key"])))
        span, _, total = self.headers["Content-Range"][len("bytes "):].partition("/")
        assert int(total) == state["size"]
        if span != "*":
            start, _, end = span.partition("-")
            assert int(end) - int(start) + 1 == len(body)
            if int(start) > len(state["bytes"]):
                return self.answer(503, b"")
            if int(end) + 1 < state["size"] and len(body) % CHUNK_UNIT:
                return self.answer(400, json.dumps({"error": {"code": 400, "message": "not a multiple of 256 KiB"}}))
            state["bytes"] = state["bytes"][:int(start)] + body
        if len(state["bytes"]) < state["size"]:
            return self.google_progress(state)
        if base64_crc32c(state["bytes"]) != state["crc32c"]:
            del uploads[name]
            return self.answer(400, json.dumps({"error": {"code": 400, "message": "Provided CRC32C is another."}}))
        with writing:
            if self.google_is_another(state["key"], state["only_if"]):
                return
            write(state["key"], state["bytes"])
            state["done"] = True
            self.answer(200, json.dumps(self.google_item(state["key"])))

    # ---- requests with bodies ----

    def hang_up(self):
        self.connection.shutdown(2)
        self.close_connection = True

    def receive(self, stage):
        """The body, and what goes wrong with this request: None if it has gone wrong already."""
        size = int(self.headers.get("Content-Length", "0"))
        kind = next_fault(stage) if stage else ""
        if kind == "reset":
            self.rfile.read(size // 2)
            self.hang_up()
            return None, kind
        body = self.rfile.read(size)
        if kind == "stall":
            self.connection.recv(1)
            self.close_connection = True
            return None, kind
        if kind == "slow":
            time.sleep(0.3)
        if kind == "corrupt" and body:
            body = body[:-1] + bytes([body[-1] ^ 1])
        if kind.isdigit():
            self.answer(int(kind), b"busy", [("Retry-After", "0")])
            return None, kind
        return body, kind

    def do_PUT(self):
        path, _, query = self.path.partition("?")
        if path == "/latest/api/token":
            return self.machine_token()
        asks = self.headers.get("Content-Range", "").startswith("bytes */") and self.headers["Content-Length"] == "0"
        body, kind = self.receive("" if asks else "put")
        if body is None:
            return
        heard = self.wfile
        if kind in ("lost", "late"):
            # Everything is done, and nobody hears of it.
            self.wfile = open(os.devnull, "wb")
        if path.startswith("/session/"):
            self.google_chunk(path[len("/session/"):], body)
        else:
            self.amazon_put(path[len("/s3/"):], query, body)
        if kind == "lost":
            self.hang_up()
        if kind == "late":
            self.wfile = heard
            self.answer(503, b"busy", [("Retry-After", "0")])

    def do_DELETE(self):
        path, _, query = self.path.partition("?")
        if path.startswith("/s3/"):
            return self.amazon_delete(path[len("/s3/"):], query)
        bucket, _, rest = path[len("/storage/v1/b/"):].partition("/o/")
        if self.google_refuses_writer(bucket):
            return
        key = urllib.parse.unquote(rest)
        with writing:
            there = read(key) is not None
            if there and self.google_is_another(key, dict(urllib.parse.parse_qsl(query)).get("ifGenerationMatch")):
                return
            remove(key)
        self.answer(204 if there else 404)

    def do_POST(self):
        path, _, query = self.path.partition("?")
        if path.startswith("/s3/"):
            body, kind = self.receive("end" if "uploadId=" in query else "")
            if body is None:
                return
            if kind == "lost":
                self.wfile = open(os.devnull, "wb")
            self.amazon_post(path[len("/s3/"):], query, body, kind)
            if kind == "lost":
                self.hang_up()
            return
        if path.startswith("/upload/storage/v1/b/"):
            return self.google_begins(path[len("/upload/storage/v1/b/"):], query, self.receive("")[0])
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        kind = form.get("grant_type", "")
        if kind == "urn:ietf:params:oauth:grant-type:jwt-bearer":
            right = jwt_is_signed(form["assertion"])
        else:
            right = form == {"grant_type": "refresh_token", "client_id": "client&1", "client_secret": "secret=2",
                             "refresh_token": "1//refresh"}
        if not right:
            return self.answer(400, json.dumps({"error": "invalid_grant", "error_description": "Bad grant."}))
        token = "token-issued"
        if kind.endswith("jwt-bearer") and not jwt_may_write(form["assertion"]):
            token = "token-reader"
        self.answer(200, json.dumps({"access_token": token, "expires_in": 3599, "token_type": "Bearer"}))

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

    def amazon_writes(self, path, query, body):
        """The key that may be written, or None after a refusal. Signature and checksums are those of the body."""
        if not self.signature_is_right("/s3/" + path, query):
            return self.refuse(403, "SignatureDoesNotMatch", "The request signature does not match.")
        if self.headers["x-amz-content-sha256"] != hashlib.sha256(body).hexdigest():
            return self.refuse(400, "XAmzContentSHA256Mismatch", "The provided header does not match what was computed.")
        said = self.headers.get("x-amz-checksum-crc32c")
        if self.command == "PUT" and said != base64_crc32c(body):
            return self.refuse(400, "BadDigest", "The CRC32C you specified did not match the calculated checksum.")
        bucket, _, key = urllib.parse.unquote(path).partition("/")
        if bucket == "readonly":
            return self.refuse(403, "AccessDenied", "Access Denied")
        if bucket != "bucket":
            return self.refuse(404, "NoSuchBucket", "The specified bucket does not exist")
        return key

    def amazon_is_another(self, key):
        """Whether the object is not what If-Match or If-None-Match say: then that is answered."""
        data = read(key)
        etag = data is not None and '"%s"' % hashlib.md5(data).hexdigest()
        match = self.headers.get("If-Match")
        if match and data is None:
            self.refuse(404, "NoSuchKey", "The specified key does not exist.")
        elif (match and match != etag) or (self.headers.get("If-None-Match") == "*" and data is not None):
            self.refuse(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
        else:
            return False
        return True

    def amazon_put(self, path, query, body):
        key = self.amazon_writes(path, query, body)
        if key is None:
            return
        options = dict(urllib.parse.parse_qsl(query))
        etag = '"%s"' % hashlib.md5(body).hexdigest()
        if "uploadId" in options:
            state = uploads.get(options["uploadId"])
            if not state or state["key"] != key:
                return self.refuse(404, "NoSuchUpload", "The specified upload does not exist.")
            state["parts"][int(options["partNumber"])] = (etag, body)
        else:
            with writing:
                if self.amazon_is_another(key):
                    return
                write(key, body)
        self.answer(200, b"", [("ETag", etag)])

    def amazon_post(self, path, query, body, kind):
        key = self.amazon_writes(path, query, body)
        if key is None:
            return
        options = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        if "uploads" in options:
            assert self.headers["x-amz-checksum-algorithm"] == "CRC32C"
            name = "upload+%d/%d=" % (len(uploads), time.time_ns())
            uploads[name] = {"key": key, "parts": {}, "meta": self.headers.get("x-amz-meta-liana-upload", "")}
            text = '<?xml version="1.0"?><InitiateMultipartUploadResult><UploadId>%s</UploadId>' % name
            return self.answer(200, text + "</InitiateMultipartUploadResult>", kind="application/xml")
        state = uploads.get(options["uploadId"])
        if not state or state["key"] != key:
            return self.refuse(404, "NoSuchUpload", "The specified upload does not exist.")
        if kind == "error":
            # The status was sent before the work failed.
            text = '\n \n<?xml version="1.0"?><Error><Code>InternalError</Code><Message>Try again.</Message></Error>'
            return self.answer(200, text, kind="application/xml")
        data = b""
        for number, part in enumerate(xml.etree.ElementTree.fromstring(body), 1):
            said = {item.tag.rpartition("}")[2]: item.text for item in part}
            etag, piece = state["parts"].get(int(said["PartNumber"]), ("", b""))
            right = int(said["PartNumber"]) == number and said["ETag"] == etag
            if not right or said["ChecksumCRC32C"] != base64_crc32c(piece):
                return self.refuse(400, "InvalidPart", "One or more of the specified parts could not be found.")
            data += piece
        write(key, data, state["meta"])
        del uploads[options["uploadId"]]
        self.answer(200, '<?xml version="1.0"?><CompleteMultipartUploadResult><ETag>"x-%d"</ETag>'
                    "</CompleteMultipartUploadResult>" % len(state["parts"]), kind="application/xml")

    def amazon_delete(self, path, query):
        key = self.amazon_writes(path, query, b"")
        if key is None:
            return
        name = dict(urllib.parse.parse_qsl(query)).get("uploadId")
        if name:
            uploads.pop(name, None)
        else:
            with writing:
                if read(key) is not None and self.amazon_is_another(key):
                    return
                remove(key)
        self.answer(204)

    def amazon(self, path, query):
        whole, rest = "/s3/" + path, path
        if not self.signature_is_right(whole, query):
            return self.refuse(403, "SignatureDoesNotMatch", "The request signature does not match.")
        bucket, _, key = urllib.parse.unquote(rest).partition("/")
        if bucket == "elsewhere":
            return self.answer(301, b"", [("x-amz-bucket-region", "eu-north-1")])
        if bucket == "readonly" and not key:
            return self.answer(200, "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>",
                               kind="application/xml")
        if bucket != "bucket":
            return self.refuse(404, "NoSuchBucket", "The specified bucket does not exist")
        if key:
            data = read(key)
            if data is None:
                return self.refuse(404, "NoSuchKey", "The specified key does not exist.")
            headers = [("ETag", '"%s"' % hashlib.md5(data).hexdigest())]
            if metadata.get(key):
                headers.append(("x-amz-meta-liana-upload", metadata[key]))
            return self.send_bytes(data, headers, "ETag")
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

    def machine_token(self):
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
if os.environ.get("TEST_CERTIFICATE"):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.environ["TEST_CERTIFICATE"], os.environ["TEST_CERTIFICATE_KEY"])
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(server.server_address[1], flush=True)
server.serve_forever()
