#!/usr/bin/env python3
"""Passes TCP connections on, and delays all bytes by the same time, both ways.

    delay_relay.py ADDRESS:PORT TO_ADDRESS:PORT SECONDS

Bytes are not held up by those before them: as much is on its way as there is. Ends with a signal.
"""
import collections
import socket
import sys
import threading
import time


def address_of(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


class Line:
    """Bytes on their way from one socket to another."""

    def __init__(self, a, b, delay):
        self.a, self.b, self.delay = a, b, delay
        self.changed, self.pieces = threading.Condition(), collections.deque()
        threading.Thread(target=self.take, daemon=True).start()
        threading.Thread(target=self.give, daemon=True).start()

    def take(self):
        data = b"."
        while data:
            try:
                data = self.a.recv(1 << 16)
            except OSError:
                data = b""
            with self.changed:
                self.pieces.append((time.monotonic() + self.delay, data))
                self.changed.notify()

    def give(self):
        while True:
            with self.changed:
                while not self.pieces:
                    self.changed.wait()
                moment, data = self.pieces.popleft()
            time.sleep(max(0, moment - time.monotonic()))
            try:
                if not data:
                    self.b.shutdown(socket.SHUT_WR)
                    return
                self.b.sendall(data)
            except OSError:
                self.a.close()
                return


def main():
    here, there, delay = address_of(sys.argv[1]), address_of(sys.argv[2]), float(sys.argv[3])
    listener = socket.create_server(here, backlog=64)
    while True:
        a, _ = listener.accept()
        try:
            b = socket.create_connection(there)
        except OSError:
            a.close()
            continue
        for one in (a, b):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        Line(a, b, delay)
        Line(b, a, delay)


main()
