"""One nginx: its configuration, its start, and its end. A worker process does not give back the TLS sessions that it
keeps for upstreams, so it keeps none here, where leaks are looked for."""
import contextlib
import os
import re
import signal
import socket
import subprocess
import tempfile

from client import LIMIT, get, until, wait_for

SUITE = os.path.dirname(os.path.abspath(__file__))
POOL = 4                # threads of nginx's thread pool

CONF = """
{load} env LD_LIBRARY_PATH; env ASAN_OPTIONS; env LSAN_OPTIONS; env TSAN_OPTIONS;
error_log {dir}/error.log info; pid {dir}/nginx.pid; {user} worker_processes {processes};
thread_pool default threads={pool}; {main}
events {{ worker_connections 1024; {events} }}
http {{
  client_body_temp_path {dir}/t1; proxy_temp_path {dir}/t2; fastcgi_temp_path {dir}/t3;
  uwsgi_temp_path {dir}/t4; scgi_temp_path {dir}/t5; default_type text/plain;
  log_format t '$request|$status|$body_bytes_sent|$ssl_protocol|$http_x_mark';
  access_log {dir}/access.log t; sendfile on; keepalive_requests 1000000;
  client_header_timeout 2s; lingering_timeout 1s; send_timeout 20s;
  gzip_types *; gzip_min_length 1; gzip_proxied any; gzip_http_version 1.0;
  limit_req_zone $http_x_mark zone=req:1m rate=1r/m; limit_conn_zone $http_x_mark zone=conn:1m;
  proxy_http_version 1.1; proxy_set_header Connection ""; proxy_ssl_session_reuse off;
  ssl_protocols TLSv1.2 TLSv1.3; ssl_certificate {certs}/one.crt; ssl_certificate_key {certs}/one.key;
  upstream back {{ server 127.0.0.1:{proxy}; keepalive 4; }}
  upstream self {{ server 127.0.0.1:{tls}; }}
  server {{
    listen 127.0.0.1:{http}; root {www}; set_real_ip_from 127.0.0.1; real_ip_header X-Real-IP;
    location /gz/ {{ alias {www}/; gzip on; gzip_comp_level 6; }}
    location /small/ {{ alias {www}/; gzip on; gzip_buffers 4 1k; output_buffers 1 3k; }}
    location /ssi/ {{ alias {www}/; ssi on; ssi_types *; gzip on; }}
    location /aio/ {{ alias {www}/; aio threads; sendfile off; output_buffers 2 32k; }}
    location /aiogz/ {{ alias {www}/; aio threads; sendfile off; gzip on; }}
    location /proxy/ {{ proxy_pass http://back/; }}
    location /proxygz/ {{ proxy_pass http://back/; gzip on; }}
    location /flushgz/ {{ proxy_pass http://back/; gzip on; proxy_buffering off; }}
    location /tlsproxy/ {{ proxy_pass https://self/; }}
    location /fcgi/ {{ fastcgi_pass 127.0.0.1:{fcgi}; gzip on; fastcgi_param URI $uri;
      fastcgi_param METHOD $request_method; fastcgi_param LENGTH $content_length; }}
    location /auth/ {{ auth_request /authz; alias {www}/; }}
    location = /authz {{ internal; if ($http_x_code = 403) {{ return 403; }} if ($http_x_code = 401) {{ return 401; }}
      return 204; }}
    location /rate/ {{ alias {www}/; limit_rate 400k; gzip on; }}
    location /req/ {{ limit_req zone=req; alias {www}/; }}
    location /conn/ {{ limit_conn conn 1; limit_rate 10k; alias {www}/; }}
    location /ip {{ return 200 $remote_addr; }}
    location /status {{ stub_status; }}
    location /gone {{ proxy_pass http://127.0.0.1:1; }}
  }}
  server {{ listen 127.0.0.1:{tls} ssl http2; root {www}; ssl_session_cache shared:S:1m; ssl_buffer_size 64k;
    location /aio/ {{ alias {www}/; aio threads; sendfile off; }}
    location /gz/ {{ alias {www}/; gzip on; }} location /proxygz/ {{ proxy_pass http://back/; gzip on; }}
    location /one/ {{ limit_conn conn 1; alias {www}/; }}
    location /p {{ return 200 "$ssl_session_reused $ssl_server_name $ssl_protocol"; }} }}
  server {{ listen 127.0.0.1:{tls} ssl http2; server_name two.test; root {www};
    ssl_certificate {certs}/two.crt; ssl_certificate_key {certs}/two.key; }}
  server {{ listen 127.0.0.1:{hrr} ssl; root {www}; ssl_ecdh_curve secp384r1; ssl_session_tickets off; }}
  server {{ listen 127.0.0.1:{sid} ssl; root {www}; client_header_timeout 60s;
    ssl_session_tickets off; ssl_session_cache shared:I:16m; }}
  server {{ listen 127.0.0.1:{builtin} ssl; root {www}; client_header_timeout 60s;
    ssl_session_tickets off; ssl_session_cache builtin; }}
  server {{ listen 127.0.0.1:{sidlong} ssl; root {www}; client_header_timeout 60s;
    ssl_session_tickets off; ssl_session_cache shared:I:16m;
    ssl_ecdh_curve secp384r1; }}
  server {{ listen 127.0.0.1:{sidmtls} ssl; root {www}; client_header_timeout 60s;
    ssl_session_tickets off; ssl_session_cache shared:I:16m;
    ssl_client_certificate {certs}/one.crt; ssl_verify_client on; ssl_conf_command NumTickets 4; }}
  server {{ listen 127.0.0.1:{mtls} ssl; ssl_client_certificate {certs}/one.crt; ssl_verify_client on;
    location / {{ return 200 "$ssl_client_verify $ssl_client_s_dn"; }} }}
}}
stream {{
  ssl_protocols TLSv1.2 TLSv1.3; ssl_certificate {certs}/one.crt; ssl_certificate_key {certs}/one.key;
  ssl_handshake_timeout 2s;
  server {{ listen 127.0.0.1:{stls} ssl; proxy_pass 127.0.0.1:{http}; }}
  server {{ listen 127.0.0.1:{splain}; proxy_pass 127.0.0.1:{tls}; proxy_ssl on; proxy_ssl_session_reuse off; }}
}}
"""


class Nginx:
    def __init__(self, world, ports, side, main="", env={}, processes=1):
        self.ports = ports
        self.world = world
        self.dir = tempfile.mkdtemp(dir=world)
        os.chmod(self.dir, 0o777)
        os.mkdir(self.dir + "/logs")
        self.conf = self.dir + "/nginx.conf"
        with open(self.conf, "w") as f:
            f.write(CONF.format(dir=self.dir, www=world + "/www", certs=world + "/certs", events=side.events, load=side.load, main=main, pool=POOL, processes=processes,
                                user="user root;" if os.getuid() == 0 else "", **ports))
        self.env = dict(os.environ, **env, **({"LD_LIBRARY_PATH": side.libdir} if side.libdir else {}))
        for sanitizer in ("lsan", "tsan"):
            name = sanitizer.upper() + "_OPTIONS"
            self.env[name] = f"{os.environ.get(name, '')} suppressions={SUITE}/{sanitizer}.supp print_suppressions=0"
        self.argv = [side.binary, "-p", self.dir + "/", "-c", self.conf]
        r = subprocess.run(self.argv, env=self.env, capture_output=True, text=True)
        if r.returncode:
            raise RuntimeError(f"{side.name} does not start: {r.stderr}")
        until(self.answers)

    def answers(self):
        with contextlib.suppress(OSError):
            return get(self, "/1k")[0] == 200
        return False

    def pid(self):
        """Its file is empty for a moment when it is made."""
        until(lambda: os.path.exists(self.dir + "/nginx.pid") and open(self.dir + "/nginx.pid").read())
        return int(open(self.dir + "/nginx.pid").read())

    def children(self):
        r = subprocess.run(["pgrep", "-P", str(self.pid())], capture_output=True, text=True)
        return [int(p) for p in r.stdout.split()]

    def kill(self):
        """Whatever is left of it: what has its configuration's name in its arguments, and their children."""
        r = subprocess.run(["pgrep", "-f", re.escape(self.conf)], capture_output=True, text=True)
        for master in r.stdout.split():
            workers = subprocess.run(["pgrep", "-P", master], capture_output=True, text=True)
            for p in [master] + workers.stdout.split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(p), signal.SIGKILL)

    def is_listening(self):
        try:
            socket.create_connection(("127.0.0.1", self.ports["http"]), LIMIT).close()
            return True
        except ConnectionRefusedError:
            return False
        except ConnectionResetError:
            return True         # it was there, and will be asked again

    def stop(self, sig=signal.SIGQUIT, expected=None):
        """It must end by itself; what is not well, and in its log not expected, is returned."""
        pids = self.tell(sig)
        return self.ended(pids, expected)

    def tell(self, sig):
        """Its processes, which may end then."""
        pids = [self.pid()] + self.children()
        os.kill(pids[0], sig)
        return pids

    def ended(self, pids, expected=None):
        wrong = []
        if not wait_for(lambda: not any(os.path.exists(f"/proc/{p}") for p in pids)):
            wrong.append("does not end")
            for p in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(p, signal.SIGKILL)
        log = open(self.dir + "/error.log", errors="replace").read()
        # what clients do wrong in a handshake, or send after its end, is critical to nginx
        log = re.sub(r".*\[crit\].*(?:SSL_do_handshake|application data after close notify).*", "", log)
        if expected:
            log = re.sub(rf".*(?:{expected}).*", "", log)
        wrong += re.findall(r".*(?:\[alert\]|\[emerg\]|\[crit\]|exited on signal|exited with code [^0]|Sanitizer|runtime error).*", log)
        return wrong
