"""nginx with its timers module replaced by Chime, beside nginx as it is: what both do is compared, then what it costs.

    nginx.py LIB [--rounds N] [--requests N]

Fetches Debian's source (the lists of deb-src packages go to build/apt, so the system's stay as they are), builds it twice in
build/, the second time with ngx_event_timer.c and .h of this directory, and starts both on the loopback interface.

- Promises: an idle connection is closed after keepalive_timeout, a request that does not come after client_header_timeout,
  neither before; a busy one stays; SIGQUIT ends the server.
- Costs: `ab` with a connection for each request, and with connections that stay; turn by turn. The verdict does not depend
  on them.
"""

import argparse
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


def build(name, library):
    """nginx as it is, or with Chime's timers."""
    directory = BUILD / name
    program = directory / "objs/nginx"
    files = [HERE / "ngx_event_timer.c", HERE / "ngx_event_timer.h", HERE / "nginx.py"]
    if program.exists() and all(file.stat().st_mtime < program.stat().st_mtime for file in files):
        return program
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    run("tar", "xf", fetch(), "-C", directory, "--strip-components=1")
    compile_options, link_options = "-O2", ""
    if name == "chime":
        for file in files[:2]:
            shutil.copy(file, directory / "src/event")
        header = directory / "src/event/ngx_event.h"
        text, count = re.subn(r"ngx_rbtree_node_t +timer;", "struct { ngx_msec_t key; uint64_t id; ngx_uint_t keeps; } timer;",
                              header.read_text())
        if count != 1:
            raise RuntimeError("ngx_event.h has changed")
        header.write_text(text)
        compile_options += f" -I{INCLUDE}"
        link_options = f"-L{library} -Wl,-rpath,{library} -lchime"
    run("./configure", f"--prefix={directory}", f"--with-cc={os.environ.get('CC', 'cc')}",
        f"--with-cc-opt={compile_options}", f"--with-ld-opt={link_options}",
        *(f"--without-{module}_module" for module in WITHOUT), cwd=directory)
    run("make", f"-j{os.cpu_count()}", cwd=directory)
    return program


# ---- A server ------------------------------------------------------------------------------------------------------------


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, name, program):
        self.name, self.port, self.directory = name, free_port(), BUILD / f"run-{name}"
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
                    raise RuntimeError(f"{name} does not start: {(self.directory / 'error.log').read_text()}") from None
                time.sleep(0.02)

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def worker(self):
        return int(pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()[0])

    def cpu(self):
        """Nanoseconds that the worker has run."""
        return int(pathlib.Path(f"/proc/{self.worker()}/schedstat").read_text().split()[0])

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
    print(f"ok {server.name}: idle connections end, busy ones stay" if not said else
          f"FAILED {server.name}: {'; '.join(said)}", flush=True)
    return not said


# ---- What it costs -------------------------------------------------------------------------------------------------------


def drive(server, requests, options):
    """Requests a second, and the worker's microseconds for each."""
    before = server.cpu()
    text = run("ab", "-q", "-n", requests, "-c", 50, *options, f"http://127.0.0.1:{server.port}/", timeout=600)
    after = server.cpu()
    if re.search(r"Failed requests: +(\d+)", text)[1] != "0":
        raise RuntimeError(text)
    rate = float(re.search(r"Requests per second: +([\d.]+)", text)[1])
    return rate, (after - before) / requests / 1000


def compare(programs, rounds, requests):
    servers = [Server(name, program) for name, program in programs.items()]
    print(f"ab -n {requests} -c 50, best of {rounds}, turn by turn:")
    print(f"{'':32}{'requests/s':>12}{'CPU us/request':>16}")
    for what, options in (("a connection each", []), ("connections that stay", ["-k"])):
        best = {}
        for _ in range(rounds):
            for server in servers:
                seen = drive(server, requests, options)
                old = best.get(server.name, seen)
                best[server.name] = (max(old[0], seen[0]), min(old[1], seen[1]))
        for name, (rate, cpu) in best.items():
            print(f"{what + ', ' + name:32}{rate:>12,.0f}{cpu:>16.1f}", flush=True)
    for server in servers:
        server.quit()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=10000)
    given = parser.parse_args()
    BUILD.mkdir(exist_ok=True)
    try:
        programs = {name: build(name, given.library) for name in ("nginx", "chime")}
    except NotHad as error:
        print(f"skipped: Debian's source of nginx cannot be had: {error}")
        sys.exit(1 if os.environ.get("ALL") else 0)
    if not all([check(Server(name, program)) for name, program in programs.items()]):
        sys.exit(1)
    compare(programs, given.rounds, given.requests)


main()
