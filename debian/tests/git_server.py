"""A git server over HTTP on loopback that asks for a password. Prints its address when it listens.

Usage: git_server.py DIRECTORY USER PASSWORD
"""
import base64
import http.server
import os
import subprocess
import sys

directory, user, password = sys.argv[1:]
expected = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


class Handler(http.server.BaseHTTPRequestHandler):
    timeout = 60

    def log_message(self, *_):
        pass

    def handle_git(self):
        if self.headers.get("Authorization") != expected:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="notes"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        path, _, query = self.path.partition("?")
        # curl leaves out the length of what it sends in pieces; git of these tests sends little.
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        environment = {
            **os.environ, "GIT_PROJECT_ROOT": os.path.abspath(directory), "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command, "PATH_INFO": path, "QUERY_STRING": query, "REMOTE_USER": user,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
        }
        run = subprocess.run(
            ["git", "http-backend"], env=environment, input=body, stdout=subprocess.PIPE, timeout=60, check=True)
        head, _, content = run.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = handle_git


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
