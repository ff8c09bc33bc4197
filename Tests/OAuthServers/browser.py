"""A headless Chromium, driven over its debugging pipe, in which the user signs in."""
import base64
import fcntl
import hashlib
import json
import os
import pathlib
import select
import shutil
import signal
import tempfile
import time

from bed import PASSWORD, USER, Failure, run

FONTS = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{fonts}</dir><dir>/usr/share/fonts</dir><cachedir>{home}/fonts</cachedir></fontconfig>"""
# Run again and again: does what the page that is there asks for, and tells where the browser is.
STEP = """(() => {
    const say = () => ({at: location.href, text: document.body ? document.body.innerText.slice(0, 500) : ""});
    if (location.protocol !== "https:" || document.readyState !== "complete") return say();
    const shown = (element) => element && element.offsetParent !== null;
    const user = document.querySelector("#id_username, #username");
    const password = document.querySelector("#id_password, #password");
    if (shown(user) && shown(password)) {
        if (window.typed) return say();
        window.typed = true;
        // The setter of the prototype: the pages of one server are made with React, which has its own on the element.
        const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
        for (const [field, value] of [[user, USER], [password, PASSWORD]]) {
            set.call(field, value);
            field.dispatchEvent(new Event("input", {bubbles: true}));
        }
        const form = user.closest("form") || document;
        (form.querySelector("#sign-in, [type=submit]") || form.querySelector("button")).click();
        return say();
    }
    const next = [...document.querySelectorAll("button, input[type=submit]")].filter(shown).find(
        (button) => /continue|authorize|allow|accept/i.test(button.innerText || button.value));
    if (next && Date.now() - (window.pressed || 0) > 1000) { window.pressed = Date.now(); next.click(); }
    return say();
})()""".replace("USER", json.dumps(USER), 1).replace(", PASSWORD]", f", {json.dumps(PASSWORD)}]", 1)


class Browser:
    """One browser with a profile of its own, which goes with it."""

    def __init__(self, bed):
        program = bed.browser()
        if not program:
            raise Failure("There is no browser: `prepare` says why.")
        pin = pinned(bed)
        self.home = tempfile.mkdtemp(prefix="browser-", dir=bed.runs)
        words = [str(program), "--headless", "--remote-debugging-pipe", f"--user-data-dir={self.home}", "--disable-gpu",
                 # The programs unpacked here have no set-uid helper. Only the test's own pages are shown.
                 "--no-sandbox", "--no-first-run", "--disable-background-networking", "--disable-component-update",
                 "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1, EXCLUDE [::1]",
                 f"--ignore-certificate-errors-spki-list={pin}", "about:blank"]
        environment = {**os.environ, "HOME": self.home, "LANG": "C.UTF-8", "LANGUAGE": "en"}
        if program.is_relative_to(bed.folder):
            # Without a font the browser ends, and where fontconfig is not installed it finds none.
            fonts = pathlib.Path(self.home, "fonts.conf")
            fonts.write_text(FONTS.format(fonts=bed.root / "usr/share/fonts", home=self.home))
            environment |= {"LD_LIBRARY_PATH": bed.libraries(), "FONTCONFIG_FILE": str(fonts)}
        with open(os.path.join(self.home, "output"), "wb") as output:
            # It reads commands from 3 and writes answers to 4, and ends when 3 is closed.
            commands, self.commands = pipe()
            self.answers, answers = pipe()
            quiet = [(os.POSIX_SPAWN_DUP2, output.fileno(), number) for number in (1, 2)]
            self.process = os.posix_spawn(program, words, environment, setpgroup=0, file_actions=[
                *quiet, (os.POSIX_SPAWN_DUP2, commands, 3), (os.POSIX_SPAWN_DUP2, answers, 4)])
        os.close(commands)
        os.close(answers)
        self.data, self.number, self.session = b"", 0, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.commands)
        os.close(self.answers)
        shutil.rmtree(self.home, ignore_errors=True)

    def do(self, method, limit=30, **parameters):
        """Gives a command and waits for its answer."""
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        try:
            os.write(self.commands, json.dumps(command).encode() + b"\0")
        except BrokenPipeError:
            raise self.silent() from None
        end = time.monotonic() + limit
        while True:
            while b"\0" in self.data:
                line, self.data = self.data.split(b"\0", 1)
                answer = json.loads(line)
                if answer.get("id") == self.number:
                    return answer.get("result", {})
            ready = select.select([self.answers], [], [], max(0, end - time.monotonic()))[0]
            more = os.read(self.answers, 65536) if ready else b""
            if not more:
                raise self.silent()
            self.data += more

    def silent(self):
        output = pathlib.Path(self.home, "output").read_text(encoding="utf-8", errors="replace")
        return Failure(f"The browser is silent: {output[-600:]}")

    def sign_in(self, url, limit=45):
        """Opens a page, signs in and goes on until the browser is at a listener on loopback."""
        begun = time.monotonic()
        page = next(target for target in self.do("Target.getTargets")["targetInfos"] if target["type"] == "page")
        self.session = self.do("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        self.do("Page.navigate", url=url)
        last = {}
        while time.monotonic() - begun < limit:
            evaluated = self.do("Runtime.evaluate", expression=STEP, returnByValue=True).get("result", {})
            last = evaluated.get("value") or last
            if last.get("at", "").startswith(("http://127.0.0.1", "http://[::1]")):
                return {"at": last["at"], "text": last["text"], "seconds": round(time.monotonic() - begun, 2)}
            if last.get("at", "").startswith("chrome-error:"):
                break
            time.sleep(0.1)
        raise Failure(f"The browser did not come to a listener: {last}")


def pipe():
    """A pipe away from the numbers 3 and 4, which the child gives to its own."""
    ends = os.pipe()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return moved


def pinned(bed):
    """The hash of the server's public key, as the browser wants it."""
    key = run("openssl", "pkey", "-in", bed.key, "-pubout", "-outform", "DER")
    return base64.b64encode(hashlib.sha256(key).digest()).decode()
