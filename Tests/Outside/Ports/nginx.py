"""nginx with its timers module replaced by Chime keeps what it promises about time.

    nginx.py LIB

Fetches Debian's source (the lists of deb-src packages go to build/apt, so the system's stay as they are), builds it in build/
with ngx_event_timer.c and .h of this directory, and starts it on the loopback interface: an idle connection is closed after
keepalive_timeout, a request that does not come after client_header_timeout, neither before; a busy one stays; SIGQUIT ends the
server.
"""

import atexit
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE / "build"
INCLUDE = HERE.parents[2] / "include"
PATIENCE = 30
# Less to compile; and no library but libc and libchime.
WITHOUT = """http_charset http_gzip http_ssi http_userid http_access http_auth_basic http_mirror http_autoindex http_geo http_map
    http_split_clients http_referer http_rewrite http_proxy http_fastcgi http_uwsgi http_scgi http_grpc http_memcached
    http_limit_conn http_limit_req http_empty_gif http_browser http_upstream_hash http_upstream_ip_hash
    http_upstream_least_conn http_upstream_random http_upstream_keepalive http_upstream_zone""".split()
CONFIGURATION = """
worker_processes 1;
daemon off;
error_log %(directory)s/error.log notice;
pid %(directory)s/pid;
events { worker_connections 512; }
http {
  access_log off;
  keepalive_timeout 1s;
  keepalive_requests 1000000;
  client_header_timeout 1s;
  server { listen 127.0.0.1:%(port)d reuseport; root %(directory)s/root; }
}
"""


class NotHad(Exception):
    pass


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


# ---- The source ----------------------------------------------------------------------------------------------------------


def fetch():
    """The upstream source as Debian has it."""
    have = sorted(BUILD.glob("nginx_*.orig.tar.*"))
    if have:
        return have[-1]
    apt = BUILD / "apt"
    for name in ("parts", "lists/partial", "cache/archives/partial"):
        (apt / name).mkdir(parents=True, exist_ok=True)
    sources = pathlib.Path("/etc/apt")
    for file in [sources / "sources.list", *sorted((sources / "sources.list.d").glob("*"))]:
        if not file.exists() or "debian.org" not in (text := file.read_text()):
            continue
        new = re.sub(r"^deb ", "deb-src ", re.sub(r"^Types:.*", "Types: deb-src", text, flags=re.M), flags=re.M)
        (apt / "parts" / (file.name if file.suffix else file.name + ".list")).write_text(new)
    options = ["-o", "Dir::Etc::SourceList=/dev/null", "-o", f"Dir::Etc::SourceParts={apt}/parts",
               "-o", f"Dir::State::Lists={apt}/lists", "-o", f"Dir::Cache={apt}/cache", "-o", "APT::Sandbox::User="]
    try:
        run("apt-get", *options, "update", timeout=300)
        run("apt-get", *options, "source", "--only-source", "--tar-only", "nginx", cwd=BUILD, timeout=300)
    except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
        raise NotHad(str(error).strip().splitlines()[-1]) from None
    return sorted(BUILD.glob("nginx_*.orig.tar.*"))[-1]


def build(library):
    directory = BUILD / "nginx"
    program = directory / "objs/nginx"
    files = [HERE / "ngx_event_timer.c", HERE / "ngx_event_timer.h", HERE / "nginx.py"]
    if program.exists() and all(file.stat().st_mtime < program.stat().st_mtime for file in files):
        return program
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    run("tar", "xf", fetch(), "-C", directory, "--strip-components=1")
    for file in files[:2]:
        shutil.copy(file, directory / "src/event")
    header = directory / "src/event/ngx_event.h"
    text, count = re.subn(r"ngx_rbtree_node_t +timer;", "struct { ngx_msec_t key; uint64_t id; ngx_uint_t keeps; } timer;",
                          header.read_text())
    if count != 1:
        raise RuntimeError("ngx_event.h has changed")
    header.write_text(text)
    run("./configure", f"--prefix={directory}", f"--with-cc={os.environ.get('CC', 'cc')}", f"--with-cc-opt=-O2 -I{INCLUDE}",
        f"--with-ld-opt=-L{library} -Wl,-rpath,{library} -lchime",
        *(f"--without-{module}_module" for module in WITHOUT), cwd=directory)
    run("make", f"-j{os.cpu_count()}", cwd=directory)
    return program


# ---- A server ------------------------------------------------------------------------------------------------------------


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, program):
        self.port, self.directory = free_port(), BUILD / "run"
        shutil.rmtree(self.directory, ignore_errors=True)
        (self.directory / "root").mkdir(parents=True)
        (self.directory / "logs").mkdir()
        (self.directory / "root/index.html").write_text("hello\n")
        configuration = self.directory / "nginx.conf"
        configuration.write_text(CONFIGURATION % {"directory": self.directory, "port": self.port})
        os.chmod(BUILD, 0o755)
        self.process = subprocess.Popen([program, "-p", self.directory, "-c", configuration, "-g", "user root;"
                                         if os.getuid() == 0 else ""])
        atexit.register(self.kill)
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.connect().close()
                return
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise RuntimeError(f"nginx does not start: {(self.directory / 'error.log').read_text()}") from None
                time.sleep(0.02)

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def kill(self):
        """Also after a failure: a master that is stopped at once leaves no worker behind."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(PATIENCE)

    def quit(self):
        self.process.send_signal(signal.SIGQUIT)
        return self.process.wait(PATIENCE)


REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def answer(connection):
    text = b""
    while b"hello\n" not in text:
        more = connection.recv(4096)
        if not more:
            raise RuntimeError(f"no answer but {text!r}")
        text += more


def check(server):
    """What nginx promises about time. (It counts from the milliseconds at which a turn of its loop began.)"""
    said = []
    for text, what in (REQUEST, "an idle connection"), (REQUEST[:10], "half a request"):
        with server.connect() as connection:
            begun = time.monotonic()
            connection.sendall(text)
            while connection.recv(4096):
                pass
            if (passed := time.monotonic() - begun) < 0.99:
                said.append(f"{what} was closed after {passed:.3f} s")
    with server.connect() as busy:
        try:
            for _ in range(8):
                busy.sendall(REQUEST)
                answer(busy)
                time.sleep(0.2)
        except (OSError, RuntimeError) as error:
            said.append(f"a busy connection was closed: {error}")
    if status := server.quit():
        said.append(f"SIGQUIT ended it with {status}")
    return said


def main():
    BUILD.mkdir(exist_ok=True)
    try:
        program = build(pathlib.Path(sys.argv[1]))
    except NotHad as error:
        print(f"skipped: Debian's source of nginx cannot be had: {error}")
        sys.exit(1 if os.environ.get("ALL") else 0)
    if said := check(Server(program)):
        sys.exit(f"FAILED nginx: {'; '.join(said)}")
    print("ok nginx with Chime's timers: idle connections end, busy ones stay")


main()
