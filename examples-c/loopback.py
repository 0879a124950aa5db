"""A small server on the loopback interface, for an example that needs one.

    loopback.py http|redis|dns PROGRAM [ARGUMENT...]    runs PROGRAM ARGUMENT... PORT beside it; its exit status is PROGRAM's

What each answers depends on what it is asked, never on the time.
"""

import http.server
import socket
import socketserver
import subprocess
import sys
import threading


class Http(http.server.BaseHTTPRequestHandler):
    """Answers 200 without a body, but not the first time that it is asked for /hangs."""

    protocol_version = "HTTP/1.1"
    asked = set()
    over = threading.Event()

    def do_GET(self):
        if self.path == "/hangs" and self.path not in Http.asked:
            Http.asked.add(self.path)
            Http.over.wait()
            self.close_connection = True
            return
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class HttpServer(http.server.ThreadingHTTPServer):
    request_queue_size = 64  # more connections at once than the default's 5


class Redis(socketserver.StreamRequestHandler):
    """SET and GET work; the answer to GET slow comes with that to the next command; QUIT closes without an answer."""

    def command(self):
        first = self.rfile.readline()
        if not first.startswith(b"*"):
            return None
        words = []
        for _ in range(int(first[1:])):
            length = int(self.rfile.readline()[1:])
            words.append(self.rfile.read(length + 2)[:-2])
        return words

    def handle(self):
        values, held = {b"slow": b"late"}, b""
        while (words := self.command()) is not None:
            name = words[0].upper()
            if name == b"QUIT":
                return
            if name == b"SET":
                values[words[1]] = words[2]
                answer = b"+OK\r\n"
            elif name == b"GET":
                value = values.get(words[1])
                answer = b"$-1\r\n" if value is None else b"$%d\r\n%s\r\n" % (len(value), value)
            else:
                answer = b"+PONG\r\n" if name == b"PING" else b"-ERR unknown command\r\n"
            if words[1:] == [b"slow"]:
                held = answer
                continue
            self.wfile.write(held + answer)
            held = b""


class Dns(socketserver.BaseRequestHandler):
    """answers.test is 192.0.2.7; the first question about lost.test is lost; silent.test gets no answer."""

    asked = set()

    def handle(self):
        question, sock = self.request
        name = question[12:]
        labels = []
        while name[0] != 0:
            labels.append(name[1 : 1 + name[0]].decode())
            name = name[1 + name[0] :]
        name = ".".join(labels)
        if name == "silent.test" or name == "lost.test" and name not in Dns.asked:
            Dns.asked.add(name)
            return
        end = question.index(b"\0", 12) + 5
        answer = question[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + question[12:end]
        answer += b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton("192.0.2.7")
        sock.sendto(answer, self.client_address)


def main():
    kind, program = sys.argv[1], sys.argv[2:]
    address = ("127.0.0.1", 0)
    if kind == "http":
        server = HttpServer(address, Http)
    elif kind == "redis":
        server = socketserver.ThreadingTCPServer(address, Redis)
    else:
        server = socketserver.ThreadingUDPServer(address, Dns)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    status = subprocess.run([*program, str(server.server_address[1])]).returncode
    sys.exit(status if status >= 0 else 128 - status)


main()
