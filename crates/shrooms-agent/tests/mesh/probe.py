"""What programs see that bind no interface, as most do: the control in every test of a forged address.

    probe.py listen ADDRESS PORT       says who comes, by UDP and TCP, and answers as a daemon might
    probe.py connect FROM TO PORT      says whether a connection came about, and what was answered
    probe.py send FROM TO PORT WORD    one datagram
"""

import socket
import sys
import threading

V6 = socket.AF_INET6
PATIENCE = 3


def say(*words):
    print(*words, flush=True)


def datagrams(udp):
    while True:
        data, peer = udp.recvfrom(100)
        say("udp", peer[0], data.decode())


def listen(address, port):
    udp = socket.socket(V6, socket.SOCK_DGRAM)
    udp.bind((address, port))
    tcp = socket.socket(V6, socket.SOCK_STREAM)
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    tcp.bind((address, port))
    tcp.listen()
    threading.Thread(target=datagrams, args=(udp,), daemon=True).start()
    say("ready")
    while True:
        peer, where = tcp.accept()
        say("tcp", where[0])
        peer.settimeout(PATIENCE)
        try:
            said = peer.recv(65536)
            say("said", said.split(b"\r\n")[0].decode())
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
        except OSError:
            say("silent")
        peer.close()


def connect(source, to, port):
    tcp = socket.socket(V6, socket.SOCK_STREAM)
    tcp.settimeout(PATIENCE)
    tcp.bind((source, 0))
    try:
        tcp.connect((to, port))
        say("connected")
        tcp.sendall(f"GET /v1/probe HTTP/1.1\r\nHost: [{to}]:{port}\r\nConnection: close\r\n\r\n".encode())
        say("answered", len(tcp.recv(65536)))
    except OSError as error:
        say("failed", type(error).__name__)


def send(source, to, port, word):
    udp = socket.socket(V6, socket.SOCK_DGRAM)
    udp.bind((source, 0))
    udp.sendto(word.encode(), (to, port))


verb, rest = sys.argv[1], sys.argv[2:]
if verb == "listen":
    listen(rest[0], int(rest[1]))
elif verb == "connect":
    connect(rest[0], rest[1], int(rest[2]))
else:
    send(rest[0], rest[1], int(rest[2]), rest[3])
