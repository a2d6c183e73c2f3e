"""An independent client of `liana serve`: Python's http.client and sockets. Starts servers, asks them, and checks status
codes, the form of the answers and their numbers.

    serve.py BUILD_FOLDER WORK_FOLDER [CASE ...]

WORK_FOLDER has what test_serve.sh makes: models/ (images/1, table/1), photo.jpg, and TLS files."""
import base64
import gzip
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
import zlib

liana = os.path.join(sys.argv[1], 'liana')
work = sys.argv[2]
cases = {}
SIZE, CLASSES = 48, 3


def case(function):
    cases[function.__name__] = function
    return function


def expect(found, expected, what):
    if found != expected:
        raise AssertionError(f'{what}: found {found!r}, expected {expected!r}')


def expect_in(part, whole, what):
    if part not in whole:
        raise AssertionError(f'{what}: expected {part!r} in {whole!r}')


class Server:
    """A server as a process."""

    def __init__(self, *words, wait=True, out=None, env=None, program=liana):
        self.log = out or os.path.join(work, f'log-{time.monotonic_ns()}')
        self.out = open(self.log, 'wb')
        self.process = subprocess.Popen([program, 'serve', '--port', '0', *words], stdout=self.out,
                                        stderr=subprocess.STDOUT, env=env)
        if wait:
            self.port = self.wait_for(r'https?://[0-9.]+:(\d+)/')

    def text(self):
        with open(self.log, encoding='utf-8', errors='replace') as file:
            return file.read()

    def wait_for(self, pattern, seconds=120):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = re.search(pattern, self.text())
            if found:
                return int(found.group(1)) if found.groups() else True
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f'{pattern} never came: {self.text()[-2000:]}')

    def ask(self, method, path, body=None, headers=None, connection=None):
        own = connection or http.client.HTTPConnection('127.0.0.1', self.port, timeout=60)
        own.request(method, path, body, headers or {})
        answer = own.getresponse()
        content = answer.read()
        if not connection:
            own.close()
        return answer, content

    def json(self, method, path, body=None, headers=None, status=200):
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        answer, content = self.ask(method, path, body, headers)
        if answer.status != status:
            raise AssertionError(f'{method} {path}: found {answer.status} {content[:400]!r}, expected {status}')
        expect_in('application/json', answer.headers['Content-Type'], f'{path}: the type')
        return json.loads(content)

    def refused(self, path, body, status, part, headers=None):
        error = self.json('POST', path, body, headers, status)
        expect(list(error), ['error'], 'the keys of an error')
        expect_in(part, error['error'], f'{path}: the message')

    def end(self, code=0):
        self.process.send_signal(signal.SIGTERM)
        expect(self.process.wait(60), code, f'the exit code; {self.text()[-600:]}')

    def __enter__(self):
        return self

    def __exit__(self, kind, *rest):
        if self.process.poll() is None:
            if kind:
                self.process.kill()
                self.process.wait()
            else:
                self.end()
        self.out.close()
        if kind:
            print(self.text()[-3000:], file=sys.stderr)


def path(*parts):
    return os.path.join(work, *parts)


def read(*parts):
    with open(path(*parts), 'rb') as file:
        return file.read()


def photo():
    return read('photo.jpg')


def b64(content):
    return {'b64': base64.b64encode(content).decode()}


def close_to(found, expected, what, tolerance=1e-5):
    expect(len(found), len(expected), f'{what}: the length')
    for a, b in zip(found, expected):
        if isinstance(a, list):
            close_to(a, b, what, tolerance)
        elif abs(a - b) > tolerance:
            raise AssertionError(f'{what}: found {found}, expected {expected}')


@case
def the_interface():
    """Status, metadata, predict in rows and columns, classify, regress: the forms of TensorFlow Serving's documents."""
    with Server(path('models')) as own:
        status = own.json('GET', '/v1/models/images')
        available = {'version': '1', 'state': 'AVAILABLE', 'status': {'error_code': 'OK', 'error_message': ''}}
        expect(status, {'model_version_status': [available]}, 'the status')
        expect(own.json('GET', '/v1/models/images/versions/1'), status, 'the status of a version')
        expect_in('Could not find', own.json('GET', '/v1/models/images/versions/7', status=404)['error'], 'no version')
        expect_in('half', own.json('GET', '/v1/models/half', status=404)['error'], 'no model')
        own.refused('/v1/models/half:predict', {'instances': [1.0, 5.0]}, 404,
                    'Servable not found for request: Latest(half)')
        own.refused('/v1/models/table/versions/9:predict', {'instances': [1.0]}, 404, 'Specific(table, 9)')
        metadata = own.json('GET', '/v1/models/images/metadata')
        expect(metadata['model_spec'], {'name': 'images', 'signature_name': '', 'version': '1'}, 'model_spec')
        signature = metadata['metadata']['signature_def']['signature_def']['serving_default']
        expect(signature['method_name'], 'tensorflow/serving/predict', 'the method')
        (name, tensor), = signature['inputs'].items()
        expect(tensor['dtype'], 'DT_FLOAT', 'the dtype')
        expect([dim['size'] for dim in tensor['tensor_shape']['dim']], ['-1', str(SIZE), str(SIZE), '3'], 'the shape')
        pixels = [[[[(x * 5 + y) % 256, 7, x] for x in range(SIZE)] for y in range(SIZE)],
                  [[[9, y, 200] for x in range(SIZE)] for y in range(SIZE)]]
        rows = own.json('POST', '/v1/models/images:predict', {'instances': pixels})['predictions']
        expect([len(row) for row in rows], [CLASSES] * 2, 'the shape of predictions')
        for row in rows:
            close_to([sum(row)], [1], 'a sum of probabilities')
        named = own.json('POST', '/v1/models/images/versions/1:predict',
                         {'signature_name': 'serving_default', 'instances': [{name: each} for each in pixels]})
        close_to(named['predictions'], rows, 'named instances')
        columns = own.json('POST', '/v1/models/images:predict', {'inputs': {name: pixels}})
        close_to(columns['outputs'], rows, 'columns')
        close_to(own.json('POST', '/v1/models/images:predict', {'inputs': pixels})['outputs'], rows, 'a plain column')
        results = own.json('POST', '/v1/models/images:classify', {'examples': [{name: b64(photo())}]})['results']
        expect(len(results), 1, 'results')
        expect([type(pair[0]) for pair in results[0]], [str] * CLASSES, 'labels')
        scores = [pair[1] for pair in results[0]]
        expect(scores, sorted(scores, reverse=True), 'the best class is first')
        encoded = own.json('POST', '/v1/models/images:predict', {'instances': [b64(photo())]})['predictions'][0]
        close_to(sorted(encoded, reverse=True), scores, 'an encoded image')
        expect(own.json('POST', '/v1/models/images:predict', {'instances': [{name: b64(photo())}]})['predictions'][0],
               encoded, 'an encoded image by its name')
        (table,) = own.json('GET', '/v1/models/table/metadata')['metadata']['signature_def']['signature_def'][
            'serving_default']['inputs']
        numbers = own.json('POST', '/v1/models/table:predict', {'instances': [[1.0, 2.0], [3.0, -1e-3]]})['predictions']
        regressed = own.json('POST', '/v1/models/table:regress',
                             {'signature_name': 'tensorflow/serving/regress',
                              'examples': [{table: [1.0, 2.0]}, {table: [3.0, -0.001]}]})['results']
        close_to(regressed, [row[0] for row in numbers], 'regress')
        close_to(own.json('POST', '/v1/models/table:regress',
                          {'examples': [{}, {}], 'context': {table: [1, 2]}})['results'], [numbers[0][0]] * 2, 'a context')
        own.refused('/v1/models/images:regress', {'examples': [{name: b64(photo())}]}, 400, 'one number')
        expect(own.json('GET', '/v1/models/images/metadata'), metadata, 'metadata again')
        for method, where in [('GET', '/v1/models/images:predict'), ('POST', '/v1/models/images'),
                              ('POST', '/v1/models/images:explain'), ('GET', '/v1/models/images/other')]:
            expect_in('Malformed request', own.json(method, where, '', status=400)['error'], where)
        expect_in('no such address', own.json('GET', '/other', status=404)['error'], 'another address')


@case
def documents_example():
    """The example at the end of TensorFlow Serving's api_rest.md, its requests and answers as they stand there. That model
    gives a number for each example; liana's has a list of one."""
    with Server(path('documented')) as own:
        where = '/v1/models/half_plus_three'
        form = {'Content-Type': 'application/x-www-form-urlencoded'}  # as curl -d sends it
        expect(own.json('GET', where), {'model_version_status': [
            {'version': '123', 'state': 'AVAILABLE', 'status': {'error_code': 'OK', 'error_message': ''}}]}, 'status')
        expect(own.json('POST', f'{where}:predict', '{"instances": [1.0,2.0,5.0]}', form),
               {'predictions': [[3.5], [4.0], [5.5]]}, 'predict')
        expect(own.json('POST', f'{where}:regress', '{"signature_name": "tensorflow/serving/regress", '
                        '"examples": [{"x": 1.0}, {"x": 2.0}]}', form), {'results': [3.5, 4.0]}, 'regress')
        answer, content = own.ask('POST', '/v1/models/half:predict', '{"instances": [1.0,5.0]}', form)
        expect((answer.status, answer.reason), (404, 'Not Found'), 'an unknown model')
        expect(json.loads(content), {'error': 'Servable not found for request: Latest(half)'}, 'an unknown model')
        expect(own.json('POST', f'{where}/versions/123:predict', '{"inputs": [1.0, 2.0]}'),
               {'outputs': [[3.5], [4.0]]}, 'columns')
        # Of the documents' Nan: the token is NaN, and no result can come of it.
        own.refused(f'{where}:regress', '{"example": [{"x": [1.0, -3.14, Nan, Infinity]}]}', 400, 'Nan')
        own.refused(f'{where}:predict', '{"instances": [NaN]}', 400, 'NaN')


@case
def numbers():
    """float32 values survive the way there and back: the model adds nothing (y = x0 - x1 with weights 1 and -1)."""
    with Server(path('models')) as own:
        values = [1e-7, 0.1, 3.0, 123456.789, 1.17549435e-38, 16777217.0, 3.4e38, -2.5e-5, 1 / 3, 1e-45, 9999999.5]
        rows = own.json('POST', '/v1/models/table:predict', {'instances': [[x, 0.0] for x in values]})['predictions']
        for x, (y,) in zip(values, rows):
            expected = struct.unpack('f', struct.pack('f', x))[0]
            found = struct.unpack('f', struct.pack('f', y))[0]
            if abs(x) >= 1e-37:  # smaller ones are flushed to zero by processors in this mode
                expect(found, expected, f'{x}')
        _, text = own.ask('POST', '/v1/models/table:predict', '{"instances": [[1e0, 0], [2.5E-1, 0], [-0.0, 0]]}')
        expect(text.decode().strip(), '{"predictions": [[1.0], [0.25], [0.0]]}', 'the text of numbers')


@case
def bad_requests():
    with Server(path('models'), '--max-body', '4', '--max-pixels', '20') as own:
        predict, classify = '/v1/models/images:predict', '/v1/models/images:classify'
        table = '/v1/models/table:predict'
        for body, part in [
                ('', 'expected an object'), ('{', 'expected a key'), ('[1]', 'expected an object'),
                ('{"instances": [[1, 2]]} x', 'behind the end'), ('{"instances": [[1, 2],]}', 'found ]'),
                ('{"instances": []}', 'empty'), ('{}', "Missing 'inputs' or 'instances' key"),
                ('{"instances": [[1, 2]], "inputs": [[1, 2]]}', 'only one of'),
                ('{"instances": [[1, 2]], "instances": [[1, 2]]}', 'twice'),
                ('{"instances": [[1, 2], [1]]}', 'instances[1]'), ('{"instances": [[1, 2, 3]]}', 'more than 2'),
                ('{"instances": [[1, NaN]]}', 'instances[0][1]: '), ('{"instances": [[1, NaN]]}', 'NaN'),
                ('{"instances": [[-Infinity, 1]]}', 'infinite'), ('{"instances": [[1e39, 1]]}', 'float32'),
                ('{"instances": [[1e999, 1]]}', 'larger'), ('{"instances": [["1", 2]]}', 'expected a number'),
                ('{"instances": [[01, 2]]}', 'expected'), ('{"instances": [[1, nul]]}', 'expected a number'),
                ('{"instances": [{"y": [1, 2]}]}', "no input 'y'"), ('{"instances": [{}]}', 'missing'),
                ('{"signature_name": "other", "instances": [[1, 2]]}', 'signature'),
                ('{"signature_name": 3, "instances": [[1, 2]]}', 'text'),
                ('{"instances": ' + '[' * 100000 + '}', 'found'), ('{"a": ' + '[' * 100000, 'deep'),
                ('{"a": ' + '{"b":' * 1000, 'deep'), ('{"instances": [[1, 2]], "a": "\\ud800"}', "Missing"),
                ('{"instances": [[1, 2]], "a\\q": 1}', 'escape'), (b'{"\xff": 1}', 'UTF-8')]:
            if part == 'Missing':  # keys that are not known are skipped
                own.json('POST', table, body)
            else:
                own.refused(table, body, 400, part)
        own.refused(predict, {'instances': [{'b64': '!!!'}]}, 400, 'base64')
        own.refused(predict, {'instances': [b64(b'no image')]}, 400, 'instances[0]')
        own.refused(predict, {'instances': [[[1]]]}, 400, 'expected')
        own.refused(classify, photo()[:500], 400, 'the image', {'Content-Type': 'image/jpeg'})
        own.refused(classify, b'text', 400, 'the image', {'Content-Type': 'image/png'})
        own.refused('/v1/models/table:classify', photo(), 400, 'no image')
        # A header that says 65535 x 65535: refused before memory is taken.
        chunk = lambda kind, data: (struct.pack('>I', len(data)) + kind + data +
                                    struct.pack('>I', zlib.crc32(kind + data)))
        bomb = (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 65535, 65535, 8, 2, 0, 0, 0)) +
                chunk(b'IDAT', zlib.compress(bytes(1 << 20))) + chunk(b'IEND', b''))
        own.refused(classify, bomb, 400, '65535')
        own.refused(predict, {'instances': [b64(bomb)]}, 400, '65535')
        own.refused(table, b'x' * (5 << 20), 413, 'larger')
        own.refused(table, gzip.compress(b' ' * (5 << 20)), 413, 'larger', {'Content-Encoding': 'gzip'})
        own.refused(table, b'no gzip', 400, 'gzip', {'Content-Encoding': 'gzip'})
        own.refused(table, b'{}', 415, 'gzip', {'Content-Encoding': 'br'})
        own.refused(classify, b'--b\r\nno end', 400, 'form', {'Content-Type': 'multipart/form-data; boundary=b'})
        own.refused(classify, b'', 400, 'boundary', {'Content-Type': 'multipart/form-data'})
        own.refused(classify + '?top=x', photo(), 400, 'top')
        own.refused(table, {'instances': [[1, 2]] * 300}, 400, '256')
        expect(own.json('POST', table, {'instances': [[1, 2]] * 256})['predictions'], [[-1.0]] * 256, 'a large request')
        expect(own.json('POST', table, gzip.compress(b'{"instances": [[5, 2]]}'), {'Content-Encoding': 'gzip'}),
               {'predictions': [[3.0]]}, 'a gzip body')
        answer, _ = own.ask('PUT', table, '{}')
        expect(answer.status, 405, 'PUT')


@case
def uploads():
    with Server(f'flowers={path("models", "images")}') as own:
        where = '/v1/models/flowers:classify'
        raw = own.json('POST', where, photo(), {'Content-Type': 'image/jpeg'})
        expect(own.json('POST', where, photo(), {'Content-Type': 'application/x-www-form-urlencoded'}), raw, 'as curl')
        mark = b'----0123'
        part = b'--%s\r\nContent-Disposition: form-data; name="file"; filename="a.jpg"\r\n\r\n%s\r\n'
        field = b'--%s\r\nContent-Disposition: form-data; name="note"\r\n\r\nhello\r\n' % mark
        body = part % (mark, photo()) + field + part % (mark, photo()) + b'--%s--\r\n' % mark
        form = own.json('POST', where + '?top=1', body, {'Content-Type': f'multipart/form-data; boundary={mark.decode()}'})
        expect(form['results'], [raw['results'][0][:1]] * 2, 'a form')
        # curl writes another boundary, and chunks.
        text = subprocess.run(['curl', '-sS', '-F', f'file=@{path("photo.jpg")}', f'http://127.0.0.1:{own.port}{where}'],
                              stdout=subprocess.PIPE, check=True).stdout
        expect(json.loads(text), raw, 'curl -F')
        text = subprocess.run(['curl', '-sS', '-H', 'Transfer-Encoding: chunked', '--data-binary',
                               f'@{path("photo.jpg")}', f'http://127.0.0.1:{own.port}{where}'],
                              stdout=subprocess.PIPE, check=True).stdout
        expect(json.loads(text), raw, 'chunks')


def send(port, *pieces, pause=0.0, seconds=20):
    """Sends bytes as they are, and returns all that comes until the server ends the connection."""
    with socket.create_connection(('127.0.0.1', port), seconds) as own:
        own.settimeout(seconds)
        got = b''
        try:
            for piece in pieces:
                own.sendall(piece)
                time.sleep(pause)
            while True:
                more = own.recv(65536)
                if not more:
                    return got
                got += more
        except (ConnectionResetError, BrokenPipeError):
            return got


@case
def connections():
    """Pipelining, keep-alive, slow clients, headers that are too long, and clients that go."""
    with Server(path('models'), '--client-seconds', '1.5', '--connections', '40') as own:
        body = b'{"instances": [[4, 1]]}'
        request = (b'POST /v1/models/table:predict HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: %d\r\n\r\n%s'
                   % (own.port, len(body), body))
        answers = send(own.port, request * 3)
        expect(answers.count(b'{"predictions": [[3.0]]}'), 3, 'pipelined answers')
        begin = time.monotonic()
        head = b'POST /v1/models/table:predict HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n' % own.port
        slow = [head] + [b'X-A: 1\r\n'] * 40
        send(own.port, *slow, pause=0.1)
        if time.monotonic() - begin > 4.5:
            raise AssertionError(f'slow headers were read for {time.monotonic() - begin:.1f} s')
        begin = time.monotonic()
        send(own.port, head + b'Content-Length: 1000\r\n\r\n', *[b'x'] * 60, pause=0.1)
        if time.monotonic() - begin > 4.5:
            raise AssertionError(f'a slow body was read for {time.monotonic() - begin:.1f} s')
        expect_in(b' 431 ', send(own.port, head + b'X-A: ' + b'a' * 200000 + b'\r\n\r\n') or b' 431 ', 'long headers')
        # One that asks for leave is refused before it sends; one that sends anyway reads its answer.
        huge = head + b'Content-Length: 99999999999\r\nConnection: close\r\n'
        expect_in(b' 413 ', send(own.port, huge + b'Expect: 100-continue\r\n\r\n'), 'a body that is announced')
        idle = [socket.create_connection(('127.0.0.1', own.port)) for _ in range(60)]
        time.sleep(3)
        expect(own.json('POST', '/v1/models/table:predict', body), {'predictions': [[3.0]]}, 'after idle connections')
        for each in idle:
            each.close()
        for _ in range(30):  # gone before the answer
            with socket.create_connection(('127.0.0.1', own.port)) as gone:
                gone.sendall(request)
        metrics = own.ask('GET', '/metrics')[1].decode()
        expect(int(re.search(r'cut_connections_total (\d+)', metrics).group(1)) >= 2, True, 'connections were cut')
        connection = http.client.HTTPConnection('127.0.0.1', own.port, timeout=20)
        for _ in range(20):
            expect(own.ask('POST', '/v1/models/table:predict', body, connection=connection)[0].status, 200, 'keep-alive')
        connection.close()


@case
def who_may_ask():
    token = 'a-secret-of-enough-length'
    with open(path('token'), 'w') as file:
        file.write(token + '\n')
    body = {'instances': [[4, 1]]}
    with Server(path('models'), '--token-file', path('token'), '--host', 'models.example') as own:
        where = '/v1/models/table:predict'
        good = {'Authorization': f'Bearer {token}'}
        own.refused(where, body, 401, 'token')
        own.refused(where, body, 401, 'token', {'Authorization': f'Bearer {token}x'})
        own.refused(where, body, 401, 'token', {'Authorization': f'Basic {token}'})
        expect(own.json('POST', where, body, good), {'predictions': [[3.0]]}, 'with the token')
        for public, status in [('/healthz', 200), ('/readyz', 200), ('/', 200), ('/metrics', 401), ('/v1/models', 401)]:
            expect(own.ask('GET', public)[0].status, status, public)
        own.refused(where, body, 403, '127.0.0.1' if False else 'Host', {**good, 'Host': 'evil.example'})
        own.refused(where, body, 403, 'page', {**good, 'Origin': 'http://evil.example'})
        own.refused(where, body, 403, 'page', {**good, 'Origin': 'null'})
        own.json('POST', where, body, {**good, 'Host': 'models.example', 'Origin': 'https://models.example'})
        own.json('POST', where, body, {**good, 'Origin': f'http://127.0.0.1:{own.port}'})
    with Server(path('models')) as own:
        own.refused(where, body, 403, '127.0.0.1', {'Host': 'evil.example'})
        own.refused(where, body, 403, 'page', {'Origin': 'https://evil.example'})
    for words, part in [(['--listen', '0.0.0.0:0'], '--token-file'),
                        (['--listen', '0.0.0.0:0', '--token-file', path('token')], '--tls-certificate'),
                        (['--listen', 'nowhere'], 'ADDRESS:PORT'), (['--listen', 'a.b:1', '--insecure'], 'no address'),
                        (['--tls-key', path('key.pem')], 'both'), (['--labels', 'a'], 'LABEL=N'),
                        (['--token-file', path('photo.jpg')], 'token'), (['--batch-size', '0'], 'batch-size')]:
        done = subprocess.run([liana, 'serve', path('models'), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=60)
        expect(done.returncode, 2, f'{words}: the exit code; {done.stderr}')
        expect_in(part, done.stderr.decode(), f'{words}: the message')


@case
def tls():
    token = 'a-secret-of-enough-length'
    with open(path('token'), 'w') as file:
        file.write(token)
    with Server(path('models'), '--token-file', path('token'), '--tls-certificate', path('certificate.pem'), '--tls-key',
                path('key.pem')) as own:
        context = ssl.create_default_context(cafile=path('certificate.pem'))
        context.check_hostname = False
        own_connection = http.client.HTTPSConnection('127.0.0.1', own.port, timeout=30, context=context)
        own_connection.request('POST', '/v1/models/table:predict', '{"instances": [[4, 1]]}',
                               {'Authorization': f'Bearer {token}'})
        expect(json.loads(own_connection.getresponse().read()), {'predictions': [[3.0]]}, 'over TLS')
        own_connection.close()
        send(own.port, b'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    with open(path('bad.pem'), 'w') as file:
        file.write('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
    done = subprocess.run([liana, 'serve', path('models'), '--port', '0', '--tls-certificate', path('bad.pem'), '--tls-key',
                           path('key.pem')], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    expect(done.returncode, 1, 'a bad certificate')
    expect_in('certificate', done.stderr.decode(), 'a bad certificate')


@case
def two_on_a_port():
    with Server(path('models')) as own:
        done = subprocess.run([liana, 'serve', path('models'), '--port', str(own.port)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=60)
        expect(done.returncode, 1, 'the exit code')
        expect_in(f'port {own.port} of 127.0.0.1 is in use', done.stderr.decode(), 'the message')


@case
def logs():
    """JSON lines; a full disk, and a pipe that nobody reads, stop nothing."""
    with Server(path('models'), '--json') as own:
        own.ask('GET', '/healthz\x01"'.replace('\x01', '%01'))
        own.wait_for('"event": ?"request"')
        lines = [json.loads(line) for line in own.text().splitlines()]
        expect({line['event'] for line in lines}, {'model', 'listening', 'request'}, 'events')
    body = '{"instances": [[4, 1]]}'
    full = open('/dev/full', 'wb')
    port = 20000 + os.getpid() % 20000
    process = subprocess.Popen([liana, 'serve', path('models'), '--port', str(port)], stdout=full, stderr=full)
    deaf_read, deaf_write = os.pipe()
    deaf = subprocess.Popen([liana, 'serve', path('models'), '--port', str(port + 1)], stdout=deaf_write,
                            stderr=deaf_write)
    for each, number, count in [(process, port, 50), (deaf, port + 1, 1200)]:
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(('127.0.0.1', number)).close()
                break
            except OSError:
                if time.monotonic() > end or each.poll() is not None:
                    raise
                time.sleep(0.05)
        connection = http.client.HTTPConnection('127.0.0.1', number, timeout=30)
        for _ in range(count):
            connection.request('POST', '/v1/models/table:predict', body)
            answer = connection.getresponse()
            answer.read()
            expect(answer.status, 200, 'an answer whose log line is lost')
        connection.request('GET', '/metrics')
        metrics = connection.getresponse().read().decode()
        if each is process:
            lost = int(re.search(r'lost_log_lines_total (\d+)', metrics).group(1))
            expect(lost > 0, True, 'lost lines are counted')
        connection.close()
        each.send_signal(signal.SIGTERM)
        each.wait(30)
    full.close()
    os.close(deaf_read)
    os.close(deaf_write)


def copy_version(source, target):
    """As a careful copy does it: whole, then renamed."""
    shutil.copytree(source, target + '.tmp')
    os.rename(target + '.tmp', target)


@case
def versions():
    """A version comes, a broken one comes, one goes, all go; requests meanwhile are all answered."""
    models = path('reloaded')
    shutil.rmtree(models, ignore_errors=True)
    os.makedirs(os.path.join(models, 'table'))
    one, two, three = (os.path.join(models, 'table', number) for number in '123')
    copy_version(path('models', 'table', '1'), one)
    failures, done = [], threading.Event()

    def ask_on(own):
        connection = http.client.HTTPConnection('127.0.0.1', own.port, timeout=30)
        while not done.is_set():
            connection.request('POST', '/v1/models/table:predict', '{"instances": [[4, 1]]}')
            answer = connection.getresponse()
            content = answer.read()
            if answer.status != 200 or b'[[3.0]]' not in content:
                failures.append((answer.status, content))

    with Server(models, '--poll', '0.1', '--labels', 'stable=1,canary=2') as own:
        states = lambda: {each['version']: each['state'] for each in
                          own.json('GET', '/v1/models/table')['model_version_status']}

        def wait_for(expected):
            end = time.monotonic() + 60
            while states() != expected:
                if time.monotonic() > end:
                    raise AssertionError(f'found {states()}, expected {expected}; {own.text()[-1500:]}')
                time.sleep(0.05)

        threads = [threading.Thread(target=ask_on, args=(own,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            wait_for({'1': 'AVAILABLE'})
            own.json('POST', '/v1/models/table/labels/stable:predict', {'instances': [[4, 1]]})
            own.refused('/v1/models/table/labels/canary:predict', {'instances': [[4, 1]]}, 404, 'Specific')
            own.refused('/v1/models/table/labels/none:predict', {'instances': [[4, 1]]}, 400, 'label')
            copy_version(path('models', 'table', '1'), two)
            wait_for({'2': 'AVAILABLE', '1': 'END'})
            os.makedirs(three)
            for name in os.listdir(two):
                with open(os.path.join(three, name), 'wb') as file:
                    file.write(b'damaged')
            wait_for({'3': 'END', '2': 'AVAILABLE', '1': 'END'})
            status = own.json('GET', '/v1/models/table/versions/3')['model_version_status'][0]['status']
            expect(status['error_code'] != 'OK' and status['error_message'] != '', True, 'the fault of a version')
            shutil.rmtree(two)  # the newest that can be loaded is 1 again
            shutil.rmtree(three)
            wait_for({'3': 'END', '2': 'END', '1': 'AVAILABLE'})
            shutil.rmtree(models)
            end = time.monotonic() + 30
            while True:
                status = own.json('GET', '/v1/models/table/versions/1')['model_version_status'][0]
                if 'memory' in status['status']['error_message']:
                    break
                if time.monotonic() > end:
                    raise AssertionError(f'{status}')
                time.sleep(0.05)
            expect(status['state'], 'AVAILABLE', 'a model whose folder is gone')
            own.process.send_signal(signal.SIGHUP)
            own.wait_for('SIGHUP')
            copy_version(path('models'), models)  # a new model under the same parent
            end = time.monotonic() + 60
            while own.ask('GET', '/v1/models/images')[0].status != 200:
                if time.monotonic() > end:
                    raise AssertionError('the new model does not come')
                time.sleep(0.05)
        finally:
            done.set()
            for thread in threads:
                thread.join()
        expect(failures, [], 'requests that failed')
        metrics = own.ask('GET', '/metrics')[1].decode()
        expect_in('liana_serve_failed_loads_total{model="table"} 1', metrics, 'failed loads are counted')


@case
def half_written():
    """An exported version is copied slowly, file by file and in pieces, its checksums first: it answers when it is whole."""
    models = path('copied')
    shutil.rmtree(models, ignore_errors=True)
    os.makedirs(os.path.join(models, 'a'))
    shutil.copytree(path('exported'), os.path.join(models, 'a', '1'))
    two = os.path.join(models, 'a', '2')
    with Server(models, '--poll', '0.1') as own:
        before = own.json('POST', '/v1/models/a:classify', photo())
        names = sorted(os.path.relpath(os.path.join(place, name), path('exported'))
                       for place, _, files in os.walk(path('exported')) for name in files)
        expect(names[1], 'SHA256SUMS', 'the order of files')
        for name in names:
            content = read('exported', name)
            target = os.path.join(two, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, 'wb') as file:
                for piece in (content[:len(content) // 2], content[len(content) // 2:]):
                    file.write(piece)
                    file.flush()
                    time.sleep(0.15)
                    expect(own.json('POST', '/v1/models/a:classify', photo()), before, f'while {name} is copied')
            if name != names[-1]:
                expect('version 2 answers' in own.text(), False, f'version 2 answers before {name} and more is there')
        own.wait_for('version 2 answers')
        expect('cannot be loaded' in own.text(), False, 'a version that is still copied is no fault')
        own.json('POST', '/v1/models/a/versions/2:classify', photo())


@case
def an_upgrade():
    """The library and the program are replaced by rename under the server, as packages do it: it goes on, and loads
    versions. A server that is started then is the new one."""
    installed = path('installed')
    shutil.rmtree(installed, ignore_errors=True)
    os.makedirs(installed)
    library = next(name for name in os.listdir(sys.argv[1]) if re.fullmatch(r'libliana\.so\.\d+', name))
    parts = {'liana': liana, library: os.path.join(sys.argv[1], library)}
    models = path('of-upgrade')
    shutil.rmtree(models, ignore_errors=True)
    os.makedirs(os.path.join(models, 'table'))
    copy_version(path('models', 'table', '1'), os.path.join(models, 'table', '1'))

    def install(content):
        for name, source in parts.items():
            target = os.path.join(installed, name)
            if content is None:
                shutil.copy(source, target + '.new')
            else:
                with open(target + '.new', 'wb') as file:
                    file.write(content)
                os.chmod(target + '.new', 0o755)
            os.rename(target + '.new', target)

    install(None)
    env = {**os.environ, 'LD_LIBRARY_PATH': installed}
    with Server(models, '--poll', '0.1', env=env, program=os.path.join(installed, 'liana')) as own:
        with open(f'/proc/{own.process.pid}/maps', encoding='utf-8') as file:
            expect_in(os.path.join(installed, library), file.read(), 'the library of the server')
        install(b'no program')
        expect(own.json('POST', '/v1/models/table:predict', {'instances': [[4, 1]]}), {'predictions': [[3.0]]}, 'after it')
        copy_version(path('models', 'table', '1'), os.path.join(models, 'table', '2'))
        own.wait_for('version 2 answers')
        expect(own.json('POST', '/v1/models/table/versions/2:predict', {'instances': [[4, 1]]}), {'predictions': [[3.0]]},
               'a version that came after it')
        install(None)
        with Server(models, env=env, program=os.path.join(installed, 'liana')) as other:
            other.json('POST', '/v1/models/table:predict', {'instances': [[4, 1]]})
        expect(own.json('POST', '/v1/models/table:predict', {'instances': [[5, 1]]}), {'predictions': [[4.0]]}, 'the old one')


@case
def replaced_files():
    """The files of a model are shortened under the server, as a careless upgrade does it: it goes on, since it has a copy
    of its own."""
    folder = path('replaced')
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(path('models', 'images', '1'), folder)
    with Server(f'a={folder}', '--poll', '0.1') as own:
        before = own.json('POST', '/v1/models/a:classify', photo())
        for place, _, names in os.walk(folder):
            for name in names:
                os.truncate(os.path.join(place, name), 10)
        time.sleep(0.5)
        for _ in range(5):
            expect(own.json('POST', '/v1/models/a:classify', photo()), before, 'after the files were shortened')


@case
def batches():
    """Requests of several connections are in one batch, with the results of each alone. A full queue is 503."""
    with Server(path('models'), '--batch-size', '8', '--batch-timeout', '200000', '--queue', '16') as own:
        alone = {x: own.json('POST', '/v1/models/table:predict', {'instances': [[x, 0.5]]}) for x in range(8)}
        found, gate = {}, threading.Barrier(8)

        def ask(x):
            gate.wait()
            found[x] = own.json('POST', '/v1/models/table:predict', {'instances': [[x, 0.5]]})

        threads = [threading.Thread(target=ask, args=(x,)) for x in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for x in range(8):
            close_to(found[x]['predictions'], alone[x]['predictions'], f'{x} among others')
        metrics = own.ask('GET', '/metrics')[1].decode()
        below = int(re.search(r'batch_examples_bucket{model="table",le="1"} (\d+)', metrics).group(1))
        total = int(re.search(r'batch_examples_count{model="table"} (\d+)', metrics).group(1))
        expect(total > below, True, 'a batch has several requests')
        codes, lock = [], threading.Lock()

        def flood():
            answer, _ = own.ask('POST', '/v1/models/table:predict', json.dumps({'instances': [[1, 2]] * 7}))
            with lock:
                codes.append((answer.status, answer.headers.get('Retry-After')))

        threads = [threading.Thread(target=flood) for _ in range(60)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expect({code for code in codes} <= {(200, None), (503, '1')}, True, f'codes of a flood: {set(codes)}')
        expect((200, None) in codes, True, 'some of a flood are answered')


@case
def the_end():
    """SIGTERM: what has come is answered, and the exit code is 0."""
    own = Server(path('models'), '--batch-size', '8', '--batch-timeout', '1000000')
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(
        own.json('POST', '/v1/models/table:predict', {'instances': [[4, 1]]}))) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.4)
    own.end(0)
    for thread in threads:
        thread.join()
    expect(answers, [{'predictions': [[3.0]]}] * 4, 'answers at the end')
    own.out.close()


@case
def metrics_and_health():
    with Server(path('models')) as own:
        for _ in range(3):
            own.json('POST', '/v1/models/table:predict', {'instances': [[4, 1]]})
        own.json('POST', '/v1/models/table:predict', '{', status=400)
        answer, content = own.ask('GET', '/monitoring/prometheus/metrics')
        expect_in('text/plain', answer.headers['Content-Type'], 'the type of metrics')
        text = content.decode()
        expect_in('liana_serve_requests_total{model="table",method="predict",code="200"} 3\n', text, 'metrics')
        expect_in('liana_serve_requests_total{model="table",method="predict",code="400"} 1\n', text, 'metrics')
        nameless = set(re.findall(r'liana_serve_([a-z_]+)\{model=""', text))
        expect(nameless <= {'requests_total', 'request_seconds_bucket', 'request_seconds_sum', 'request_seconds_count'}, True,
               f'what is told of requests of no model: {nameless}')
        kinds = {}
        for line in text.splitlines():
            if line.startswith('# TYPE '):
                name, kinds_of = line[7:].split(' ')
                kinds[name] = kinds_of
            elif not line.startswith('#'):
                found = re.fullmatch(r'([a-z_]+)(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [-+0-9.e]+', line)
                expect(found is not None, True, f'a line of metrics: {line}')
                name = re.sub(r'_(bucket|sum|count)$', '', found.group(1))
                expect(name in kinds or found.group(1) in kinds, True, f'{name} has a type')
        for where in ('/healthz', '/readyz'):
            expect(own.ask('GET', where)[1], b'ok\n', where)
            expect(own.ask('HEAD', where)[0].status, 200, where)
        expect_in(b'type="file"', own.ask('GET', '/')[1], 'the page')


if __name__ == '__main__':
    wanted = sys.argv[3:] or list(cases)
    for name in wanted:
        begin = time.monotonic()
        try:
            cases[name]()
        except Exception:
            print(f'{name}: failed', file=sys.stderr)
            raise
        print(f'{name}: {time.monotonic() - begin:.1f} s', flush=True)
