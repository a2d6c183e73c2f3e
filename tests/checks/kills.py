#!/usr/bin/env python3
"""Kills, halts and cuts processes of trainings, and compares what they leave with an undisturbed training.

    kills.py BUILD_FOLDER [--kills N] [--seed S] [--first RUN] [--minutes M] [--kinds kill,return,...] [--most PROCESSES]

Each run is a training in 2 to 5 processes, workers and servers, over TCP with keys and through a relay of this program
(cut, slow, lossy), or over sockets in a folder (kill, halt, return). "return": a process is killed, and another one comes in its
place; also for one that ended since the others took it for dead. "numbered": the same over TCP, where only the address of
rank 0 is known. "lossy": packets are lost. A relay of TCP cannot lose bytes, so it shows loss as TCP does: what is behind a lost
packet stands still until it is sent again, after 0.2 s, and after twice as long for each time that it is lost once more.
"damaged": one byte of what goes to or from a process is another one, so encryption finds it, and the connection ends.
Disturbances come at random times, or, a fifth of them, when the
process is inside the exchange of a step: it says so in a file (LIANA_PHASES), which is also read after its death. A run
whose processes all end with 75 is started again with --resume, as `liana launch --restarts` does. It fails if it should
have gone on without that: one process was disturbed, when all had made a step, and the others were enough (survives()).
Files of the run folder
must have the bytes of the undisturbed one: history, log, predictions, architecture, the variables of all checkpoints, and
their states but for times. Prints a table; exit code 1 if a run differs, fails, or does not end.
"""
import argparse
import collections
import json
import mmap
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

HEARTBEAT, LEASE, PATIENCE = 1.0, 1.5, 90
MOST_FAILURES = 20
KINDS = ("kill", "return", "numbered", "halt", "cut", "slow", "lossy", "damaged")
THROUGH_RELAYS = ("cut", "slow", "lossy", "damaged")
RETRANSMISSION = 0.2  # seconds; Linux's shortest
CONFIG = """
data: {train: %(folder)s/plot/train/*.tfrec, validation: %(folder)s/plot/val/*.tfrec, class_names: %(folder)s/plot/classes.txt}
model:
  layers:
    - Conv2D: {filters: 8, kernel_size: 3, strides: 2, activation: relu}
    - BatchNormalization
    - GlobalAveragePooling2D
    - Dropout: {rate: 0.2}
    - Dense: {units: 3, activation: softmax}
train:
  epochs: %(epochs)d
  batch_size: 16
  microbatch: 2
  optimizer: adam
  callbacks:
    - CSVLogger: {filename: log.tsv, separator: "\\t"}
checkpoint: {every_steps: 7, keep: 4}
cluster: {heartbeat: %(heartbeat)g, lease: %(lease)g, timeout: 40}
"""


class Link:
    """What goes from one process to another's port, both ways."""

    def __init__(self, relay, port):
        self.relay, self.port = relay, port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.open = True
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while self.open:
            try:
                here, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.join, args=(here,), daemon=True).start()

    def close(self):
        self.open = False
        self.listener.shutdown(socket.SHUT_RDWR)  # ends accept
        self.listener.close()

    def join(self, here):
        try:
            there = socket.create_connection(("127.0.0.1", self.port), timeout=5)
            there.settimeout(None)
        except OSError:
            here.close()
            return
        for one in (here, there):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for a, b in ((here, there), (there, here)):
            threading.Thread(target=self.pass_on, args=(a, b), daemon=True).start()

    def pass_on(self, a, b):
        try:
            while data := a.recv(65536):
                delay = self.relay.delay
                if delay:
                    time.sleep(delay)
                self.relay.lose()
                while self.relay.is_cut and self.open:
                    time.sleep(0.01)
                b.sendall(self.relay.damage(data))
        except OSError:
            pass
        for one in (a, b):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Relay:
    """All that goes to and from one process: it can be cut, slow or lossy."""

    def __init__(self):
        self.is_cut, self.delay = False, 0
        self.loss, self.losses = None, 0  # a random generator and the share that is lost; None: nothing is
        self.is_to_damage = False

    def lose(self):
        """Waits as long as TCP does until what was lost has come."""
        pause, loss = RETRANSMISSION, self.loss
        while loss and loss[0].random() < loss[1]:
            self.losses += 1
            time.sleep(pause)
            pause *= 2

    def damage(self, data):
        if not self.is_to_damage:
            return data
        self.is_to_damage = False
        middle = len(data) // 2
        return data[:middle] + bytes((data[middle] ^ 1,)) + data[middle + 1:]


class Network:
    def __init__(self, count):
        self.ports = []
        held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
        for one in held:
            self.ports.append(one.getsockname()[1])
        self.relays = [Relay() for _ in range(count)]
        self.links = {}
        for a in range(count):
            for b in range(count):
                if a != b:
                    self.links[a, b] = Link(Both(self.relays[a], self.relays[b]), self.ports[b])
        for one in held:
            one.close()

    def addresses(self, rank):
        return ["127.0.0.1:%d" % port if i == rank else self.links[rank, i].address
                for i, port in enumerate(self.ports)]

    def close(self):
        for link in self.links.values():
            link.close()


class Both:
    def __init__(self, a, b):
        self.a, self.b = a, b

    is_cut = property(lambda self: self.a.is_cut or self.b.is_cut)
    delay = property(lambda self: self.a.delay + self.b.delay)

    def lose(self):
        self.a.lose()
        self.b.lose()

    def damage(self, data):
        return self.b.damage(self.a.damage(data))


class Member:
    """A process of a run."""

    def __init__(self, job, rank, words, environment):
        self.words, self.environment = words, environment
        self.rank, self.path = rank, "%s/phase.%d" % (job.folder, rank)
        with open(self.path, "wb") as file:
            file.write(bytes(8))
        with open(self.path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 8)
        self.said = open("%s/said.%d" % (job.folder, rank), "ab")
        self.begin = self.said.tell()  # the text before is of an earlier start
        self.process = subprocess.Popen(words, stdout=self.said, stderr=self.said, stdin=subprocess.DEVNULL,
                                        env=dict(os.environ, LIANA_PHASES=self.path, LIANA_THREADS="1", **environment))
        self.killed = self.has_returned = False

    def phase(self):
        return struct.unpack("<II", self.map[:])

    def is_there(self):
        return self.process.poll() is None


class Failure(Exception):
    pass


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as held:
        return held.getsockname()[1]


class Job:
    """A training, and all starts of it until it is done."""

    def __init__(self, table, number, workers, servers, kind):
        self.table, self.kind = table, kind
        self.workers, self.servers = workers, servers
        self.folder = "%s/run%d" % (table.folder, number)
        os.mkdir(self.folder, 0o700)
        self.members, self.network, self.starts, self.longest = [], None, 0, 0.0
        self.coming, self.returned = [], 0

    def start(self):
        count = self.workers + self.servers
        self.end_all()
        self.coming = []
        if self.kind in THROUGH_RELAYS:
            self.network = Network(count)
        self.starts += 1
        port = free_port()
        for rank in range(count):
            there = {"rank": rank, "num_workers": self.workers, "num_servers": self.servers,
                     "id": "%s %d" % (self.folder, self.starts)}
            if self.kind == "numbered":
                there.update(master="127.0.0.1:%d" % port, keys=self.table.folder + "/keys")
            elif self.network:
                there.update(addresses=self.network.addresses(rank), keys=self.table.folder + "/keys")
            else:
                there["addresses"] = ["ipc://%s/s%d.%d" % (self.folder, self.starts, i) for i in range(count)]
            words = [self.table.liana, "train", self.table.config, "--out", self.folder + "/out", "--resume"]
            self.members.append(Member(self, rank, words, {"LIANA_CLUSTER": json.dumps(there)}))
        self.watched, self.steps = time.monotonic(), None
        self.disturbed, self.begun_all = set(), True

    def end_all(self):
        for member in self.members:
            if member.is_there():
                member.process.send_signal(signal.SIGCONT)
                member.process.kill()
            member.process.wait()
            member.said.close()
        self.members = []
        if self.network:
            self.table.losses += sum(relay.losses for relay in self.network.relays)
            self.network.close()
        self.network = None

    def look(self):
        """The longest time in which no step ended, from the first step of a start to its last."""
        now, steps = time.monotonic(), max((m.phase()[1] for m in self.members), default=0)
        if steps != self.steps:
            if self.steps:
                self.longest = max(self.longest, now - self.watched)
            self.steps, self.watched = steps, now

    def is_over(self):
        return not any(member.is_there() for member in self.members)

    def come_back(self):
        """Starts those whose time it is, in the place of one that has ended."""
        for moment, rank in list(self.coming):
            if time.monotonic() < moment or self.is_over():
                continue
            self.coming.remove((moment, rank))
            old = self.members[rank]
            old.said.close()
            there = dict(json.loads(old.environment["LIANA_CLUSTER"]), returns=True)
            new = Member(self, rank, old.words, {"LIANA_CLUSTER": json.dumps(there)})
            new.has_returned = True
            self.members[rank] = new
            self.returned += 1
            self.table.returned += 1

    def survives(self):
        """Whether the processes of this start had to go on without the one that was disturbed, or with it."""
        if len(self.disturbed) != 1 or not self.begun_all:
            return False
        # The only server's slices have no mirror, and servers alone compute nothing.
        lost = set(range(self.workers + self.servers)) if self.kind == "damaged" else self.disturbed
        of_only_server = self.servers == 1 and self.workers in lost  # a damaged link has two ends
        of_only_worker = self.workers == 1 and 0 in lost
        return not of_only_server and not of_only_worker

    def check_codes(self):
        """Whether the training is done."""
        codes = [member.process.returncode for member in self.members]
        if any(m.killed for m in self.members) and self.did_not_come_together():
            return False
        for member, code in zip(self.members, codes):
            if code not in (0, 75) and not (member.killed and code == -9):
                raise Failure("rank %d ends with %d" % (member.rank, code))
        if 0 not in codes and self.survives():
            raise Failure("all have ended, though %s of rank %d is survived" % (self.kind, *self.disturbed))
        return 0 in codes

    def did_not_come_together(self):
        """A death before all have met: the others wait for cluster.timeout, and say so."""
        return any(b"did not come together" in open("%s/said.%d" % (self.folder, m.rank), "rb").read()[m.begin:]
                   for m in self.members if m.process.returncode == 1)

    def disturb(self, rng, inside):
        living = [member for member in self.members if member.is_there()]
        if not living:
            return False
        member = rng.choice(living)
        if inside and not self.wait_inside(member):
            return False
        self.disturbed.add(member.rank)
        self.begun_all = self.begun_all and all(m.phase()[1] > 0 for m in self.members)
        if self.kind in ("kill", "return", "numbered"):
            member.killed = True
            member.process.kill()
            member.process.wait()
            if self.kind != "kill":
                self.coming.append((time.monotonic() + rng.choice((0, rng.uniform(0, 2))), member.rank))
        elif self.kind == "halt":
            member.process.send_signal(signal.SIGSTOP)
            time.sleep(0.005)
        phase = ("between", "computing", "exchange")[min(member.phase()[0], 2)]
        role = "chief" if member.rank == 0 else "worker" if member.rank < self.workers else "server"
        self.table.counts[self.kind, role, phase] += 1
        self.table.done += 1
        if self.kind == "halt":
            threading.Timer(rng.uniform(0.2, 4), self.go_on, (member,)).start()
        elif self.kind in THROUGH_RELAYS:
            relay = self.network.relays[member.rank]
            if self.kind == "cut":
                relay.is_cut = True
            elif self.kind == "damaged":
                relay.is_to_damage = True
            elif self.kind == "lossy":
                relay.loss = random.Random(rng.random()), rng.uniform(0.01, 0.1)
            else:
                relay.delay = rng.uniform(0.002, 0.02)
            threading.Timer(rng.uniform(0.2, 4), self.mend, (relay,)).start()
        return True

    def wait_inside(self, member):
        end = time.monotonic() + 5
        while member.is_there() and time.monotonic() < end:
            if member.map[0] == 2:
                return True
        return False

    @staticmethod
    def go_on(member):
        if member.is_there():
            member.process.send_signal(signal.SIGCONT)

    @staticmethod
    def mend(relay):
        relay.is_cut, relay.delay, relay.loss = False, 0, None  # the files to damage exist

    def run(self, rng, expected_seconds):
        """Starts it until it is done; each start is disturbed once, the first few, and some twice."""
        begun = time.monotonic()
        disturbances = 0
        while True:
            self.start()
            moments = sorted(rng.uniform(0, expected_seconds) for _ in range(rng.choice((1, 1, 2)))) if disturbances < 4 else []
            inside = [rng.random() < 0.2 for _ in moments]
            started = time.monotonic()
            while not self.is_over():
                self.look()
                self.come_back()
                if moments and time.monotonic() - started > moments[0]:
                    moments.pop(0)
                    disturbances += self.disturb(rng, inside.pop(0))
                if time.monotonic() - begun > PATIENCE * self.starts:
                    raise Failure("does not end")
                time.sleep(0.002)
            if self.check_codes():
                break
            if self.starts > 20:
                raise Failure("is started again and again")
        self.end_all()
        return disturbances


def state_of(path):
    """A checkpoint's state without the times that it has kept, of which parts of epochs, and its checksum over them."""
    def clean(tree):
        if isinstance(tree, dict):
            return {k: clean(v) for k, v in tree.items() if k != "crc32c" and (k not in ("seconds", "wait", "images") or "wait" not in tree)}
        return [clean(item) for item in tree] if isinstance(tree, list) else tree
    return clean(json.load(open(path)))


def compare(good, out):
    def names(folder):
        return sorted(os.path.relpath(os.path.join(where, name), folder)
                      for where, _, found in os.walk(folder) for name in found)
    if names(good) != names(out):
        raise Failure("has other files: %s" % sorted(set(names(good)) ^ set(names(out))))
    for name in names(good):
        a, b = os.path.join(good, name), os.path.join(out, name)
        if name in ("config.yaml", "timing.json"):
            continue
        if name.endswith("state.json"):
            if state_of(a) != state_of(b):
                raise Failure("has another " + name)
        elif open(a, "rb").read() != open(b, "rb").read():
            raise Failure("has another " + name)


class Table:
    def __init__(self, wanted):
        self.liana = os.path.abspath(wanted.build) + "/liana"
        self.wanted, self.counts, self.done = wanted, collections.Counter(), 0
        self.runs, self.starts, self.failures, self.longest = 0, 0, [], {}
        self.returned, self.rounds, self.losses = 0, 0, 0
        self.folder = tempfile.mkdtemp(prefix="liana-kills-")

    def call(self, *words):
        subprocess.run([self.liana, *words], check=True, stdout=subprocess.DEVNULL, cwd=self.folder,
                       env=dict(os.environ, LIANA_THREADS="1"))

    def prepare(self):
        self.config = self.folder + "/config.yaml"
        with open(self.config, "w") as file:
            file.write(CONFIG % {"folder": self.folder, "epochs": self.wanted.epochs, "heartbeat": HEARTBEAT,
                                 "lease": LEASE})
        self.call("synth", "flowers", "classes=3", "images=120", "image_size=16", "--out", self.folder + "/plot")
        self.call("cluster", "keys", self.folder + "/keys")
        self.call("train", self.config, "--out", self.folder + "/good")

    def one(self, rng, number):
        size = rng.randint(2, self.wanted.most)
        servers = rng.randint(0, size - 1) if rng.random() < 0.5 else 0
        kind = rng.choice(self.wanted.kinds)
        job = Job(self, number, size - servers, servers, kind)
        self.runs += 1
        what = "run %d: %d workers, %d servers, %s" % (number, size - servers, servers, kind)
        try:
            count = job.run(rng, self.wanted.seconds)
            compare(self.folder + "/good", job.folder + "/out")
            rounds = self.count_rounds(job)
            self.rounds += rounds
            print("%s: %d times, %d starts, %d came back, met %d times again, longest pause %.1f s" % (
                what, count, job.starts, job.returned, rounds, job.longest), flush=True)
            shutil.rmtree(job.folder)
        except Failure as failure:
            self.failures.append(what)
            print("%s: FAILS: %s; see %s" % (what, failure, job.folder), flush=True)
        finally:
            job.end_all()
        self.starts += job.starts
        self.longest[kind] = max(self.longest.get(kind, 0), job.longest)

    @staticmethod
    def count_rounds(job):
        """How often the processes have met again, as the chiefs say."""
        return sum(open(os.path.join(job.folder, name), "rb").read().count(b"have met again")
                   for name in os.listdir(job.folder) if name.startswith("said."))

    def run(self):
        self.prepare()
        end = time.monotonic() + 60 * self.wanted.minutes
        number = self.wanted.first - 1
        while self.done < self.wanted.kills and time.monotonic() < end and len(self.failures) <= MOST_FAILURES:
            number += 1
            self.one(random.Random("%d/%d" % (self.wanted.seed, number)), number)
        self.report()
        if self.done < self.wanted.kills:
            print("Ended before %d disturbances: after %d failures, or --minutes" % (self.wanted.kills, len(self.failures)))
        if not self.failures:
            shutil.rmtree(self.folder)
        return 1 if self.failures else 0

    def report(self):
        print("\n| what | role | between steps | computing | in the exchange |\n|---|---|---|---|---|")
        for kind in dict.fromkeys(self.wanted.kinds):
            for role in ("chief", "worker", "server"):
                row = [self.counts[kind, role, phase] for phase in ("between", "computing", "exchange")]
                if sum(row):
                    print("| %s | %s | %d | %d | %d |" % (kind, role, *row))
        print("\n%d disturbances in %d runs with %d starts; %d runs failed; %d processes came back, and all met %d times "
              "again; %d packets were lost; longest pause: %s" % (
            self.done, self.runs, self.starts, len(self.failures), self.returned, self.rounds, self.losses,
            ", ".join("%s %.1f s" % item for item in sorted(self.longest.items()))))


def kinds_of(text):
    kinds = text.split(",")
    wrong = [kind for kind in kinds if kind not in KINDS]
    if wrong:
        raise argparse.ArgumentTypeError("found '%s', expected some of %s" % (wrong[0], ",".join(KINDS)))
    return kinds


def size_of(text):
    if not text.isdigit() or int(text) < 2:
        raise argparse.ArgumentTypeError("found '%s', expected at least 2 processes" % text)
    return int(text)


def main():
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # ends the trainings too
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=1, help="the number of the first run, to do one again")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--kinds", type=kinds_of, default=list(KINDS), help="with commas between them; default: all")
    parser.add_argument("--most", type=size_of, default=5)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=3, help="moments are drawn from so many")
    sys.exit(Table(parser.parse_args()).run())


main()
