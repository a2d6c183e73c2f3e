"""Many requests to `liana serve` while versions come and go and clients are killed: no request is lost, and the memory
does not grow.

    serve_soak.py BUILD_FOLDER WORK_FOLDER [--requests N] [--clients N]

WORK_FOLDER is that of serve_models.sh. A client is a process of its own; some are killed in the middle of a request, and
another one comes. Each answer that a client waits for must be right."""
import argparse
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import serve

CLIENT = r'''
import http.client, json, random, sys
port, seed, count, name = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
photo = open(sys.argv[5], 'rb').read()
draw = random.Random(seed)
connection = http.client.HTTPConnection('127.0.0.1', port, timeout=120)
done = 0
for turn in range(count):
    if draw.random() < 0.2:
        connection.request('POST', '/v1/models/images:classify?top=1', photo)
        answer = connection.getresponse()
        content = answer.read()
        right = answer.status == 200 and len(json.loads(content)['results']) == 1
    else:
        rows = [[draw.randrange(1000), draw.randrange(1000)] for _ in range(draw.choice([1, 1, 1, 3, 20]))]
        connection.request('POST', '/v1/models/table:predict', json.dumps({'instances': rows}))
        answer = connection.getresponse()
        content = answer.read()
        right = answer.status == 200 and json.loads(content)['predictions'] == [[float(a - b)] for a, b in rows]
    if not right:
        print('wrong', answer.status, content[:200], flush=True)
        sys.exit(1)
    if draw.random() < 0.05:
        connection.close()
    done += 1
    if done % 10 == 0:
        print(done, flush=True)
print(done, flush=True)
'''


def memory(process):
    with open(f'/proc/{process.pid}/status', encoding='ascii') as file:
        for line in file:
            if line.startswith('VmRSS:'):
                return int(line.split()[1]) / 1024
    return 0


def reload_on(models, done, counts):
    """Versions 2, 3, ... of the table come and go; they are all the same model."""
    number = 2
    place = os.path.join(models, 'table')
    while not done.wait(0.3):
        serve.copy_version(os.path.join(place, str(number - 1)), os.path.join(place, str(number)))
        if number > 3:
            shutil.rmtree(os.path.join(place, str(number - 3)), ignore_errors=True)
        counts['versions'] += 1
        number += 1


class Clients:
    def __init__(self, port, wanted, at_once):
        self.port, self.wanted, self.at_once = port, wanted, at_once
        self.answered = self.killed = self.seed = 0

    def start(self):
        self.seed += 1
        words = [sys.executable, '-c', CLIENT, str(self.port), str(self.seed), '60', 'x', serve.path('photo.jpg')]
        return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)

    def run(self, each):
        """Clients one after the other, every fourth of which is killed."""
        for turn in range(1 << 30):
            if self.answered >= self.wanted:
                return
            client = self.start()
            lines = []
            kills = (turn + each) % 4 == 3
            for line in client.stdout:
                lines.append(line)
                if kills and len(lines) == 2:
                    client.send_signal(signal.SIGKILL)
                    self.killed += 1
                    break
            client.stdout.close()
            code = client.wait()
            if not kills and code != 0:
                raise AssertionError(f'a client ended with {code}: {lines[-1:]}')
            numbers = [int(line) for line in lines if line.strip().isdigit()]
            self.answered += numbers[-1] if numbers else 0


def soak(requests, at_once):
    models = serve.path('soaked')
    shutil.rmtree(models, ignore_errors=True)
    shutil.copytree(serve.path('models'), models)
    done, counts, faults = threading.Event(), {'versions': 0}, []
    with serve.Server(models, '--poll', '0.1', '--quiet') as own:
        clients = Clients(own.port, requests, at_once)

        def work(each):
            try:
                clients.run(each)
            except AssertionError as problem:
                faults.append(str(problem))
                clients.wanted = 0

        reloader = threading.Thread(target=reload_on, args=(models, done, counts))
        reloader.start()
        workers = [threading.Thread(target=work, args=(each,)) for each in range(at_once)]
        for worker in workers:
            worker.start()
        begin, sizes = time.monotonic(), []
        while any(worker.is_alive() for worker in workers):
            time.sleep(0.25)
            sizes.append(memory(own.process))
        for worker in workers:
            worker.join()
        done.set()
        reloader.join()
        serve.expect(faults, [], 'faults')
        metrics = own.ask('GET', '/metrics')[1].decode()
        served = sum(int(line.rsplit(' ', 1)[1]) for line in metrics.splitlines()
                     if line.startswith('liana_serve_requests_total') and 'method="other"' not in line)
        wrong = [line for line in metrics.splitlines()
                 if line.startswith('liana_serve_requests_total') and 'code="200"' not in line]
        serve.expect(served >= clients.answered, True, f'{served} were counted, {clients.answered} answered')
        quarter = max(1, len(sizes) // 4)
        early, late = max(sizes[quarter:2 * quarter] or sizes), max(sizes[-quarter:])
        print(f'{clients.answered} requests answered, {clients.killed} clients killed, {counts["versions"]} versions, '
              f'{time.monotonic() - begin:.0f} s, memory {early:.0f} MiB, then {late:.0f} MiB; other codes: {wrong}')
        # Heaps keep some of what many threads have taken; what leaks with requests or versions is more.
        if requests >= 5000 and late > 1.15 * early + 8:
            raise AssertionError(f'the memory grew from {early:.0f} to {late:.0f} MiB')


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('work')
    parser.add_argument('--requests', type=int, default=10000)
    parser.add_argument('--clients', type=int, default=8)
    given = parser.parse_args()
    soak(given.requests, given.clients)
