#!/usr/bin/env python3
"""Runs the recipes of the article on OAuth as it prints them, against servers on loopback.

Usage: recipes.py --coffer PATH [--service PATH] [RECIPE ...]
  --coffer   the command; coffer-oauth must be in the same directory
  --service  the built program of Tests/OAuthRecipes/Service; without it, only its text is compared
  RECIPE     git, msmtp, kubectl, curl or service; all unless named

The program runs itself again in namespaces of its own, in which it has the article's host names, ports and
a test authority that everything trusts: nothing in the text is replaced. In each recipe, the token is due
when the program first asks for it, so exactly one renewal must follow; a token that the server revoked must
be refused, and the next one accepted: after `coffer oauth refresh` or, for git and the service, by itself.
While a client waits for an answer, the server looks for its token in the arguments and environments of all
processes. At the end no file may contain a token. The exit code is 1 if anything failed.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import world
from article import blocks, snippets
from servers import ACCOUNT, World

root = pathlib.Path(__file__).resolve().parents[2]
page = root / "Sources/CofferOAuth/CofferOAuth.docc/OAuthRecipes.md"
service = root / "Tests/OAuthRecipes/Service/Sources/hello-service"
ME = "https://api.example.org/me"
PROMPTLESS = re.compile(r"coffer: Opening the browser at https://login\.example\.org/authorize\?")
# Follows the redirect to the listener, as a browser in which the user is signed in.
BROWSER = """#!/bin/sh
exec curl --silent --location --max-time 20 --output /dev/null "$1"
"""


class Recipes:
    """A user's machine, and the recipes on it."""

    def __init__(self, folder, options):
        self.folder, self.home, self.options = folder, folder / "home", options
        self.blocks, self.failures, self.checks = blocks(page), 0, 0
        self.world = World(folder)
        self.authority = self.world.authority
        for name in ("home/.local/bin", "home/.kube", "run", "bin"):
            (folder / name).mkdir(parents=True, mode=0o700)
        (folder / "bin/coffer").symlink_to(pathlib.Path(options.coffer).resolve())
        (folder / "bin/browser").write_text(BROWSER)
        (folder / "bin/browser").chmod(0o700)

    def check(self, what, good, detail=""):
        """Counts a check, and says what failed."""
        self.checks += 1
        if not good:
            self.failures += 1
            print(f"FAILED: {what}: {str(detail)[-1500:]}", flush=True)

    def run(self, script, **more):
        """Runs commands in the user's home."""
        environment = {
            "HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.folder / "run"), "LANG": "C.UTF-8",
            "PATH": f"{self.home}/.local/bin:{self.folder}/bin:{os.environ['PATH']}",
            "BROWSER": str(self.folder / "bin/browser"), "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere",
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "SWIFT_BACKTRACE": "enable=no", **more,
        }
        return subprocess.run(["bash", "-euo", "pipefail", "-c", script], env=environment, cwd=self.home,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=90)

    def must(self, script):
        """Runs commands that only prepare."""
        done = self.run(script)
        if done.returncode != 0:
            raise RuntimeError(f"{script.split()[0]} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def become_due(self):
        """A token that is due now, and a server whose next one lives long."""
        self.authority.life = 20
        self.must("coffer oauth refresh work")
        self.authority.life = 3600

    def use(self, what, script, shown, renewals):
        """Runs a recipe; it must show something, with so many renewals."""
        before, refused = self.authority.renewals, len(self.world.refused)
        done = self.run(script)
        spent = self.authority.renewals - before
        good = done.returncode == 0 and shown(done.stdout)
        self.check(what, good, (done.returncode, done.stdout, done.stderr))
        self.check(f"{what}: {renewals} renewals", spent == renewals, spent)
        self.check(f"{what}: no token refused", len(self.world.refused) == refused, self.world.refused)

    def refusal(self, what, script, shown):
        """The server revokes the tokens that it gave: the program reports it, and works after a renewal."""
        self.authority.revoke_access()
        refused = len(self.world.refused)
        done = self.run(script)
        self.check(f"{what}, revoked: it fails", done.returncode != 0, done.stdout)
        self.check(f"{what}, revoked: the server refused", len(self.world.refused) > refused, done.stderr)
        self.must("coffer oauth refresh work")
        self.use(f"{what}, renewed", script, shown, 0)

    def while_locked(self, what, script):
        """The program reports that the vault is locked."""
        done = self.run(script, COFFER_HOME=f"{self.folder}/locked")
        self.check(f"{what}, locked", done.returncode != 0 and "vault is locked" in done.stderr, done.stderr)

    # The recipes

    def sign_in(self):
        self.must("coffer init --no-passcode --keyring file")
        self.must(f"coffer init --home {self.folder}/locked --keyring file --kdf-memory 8 --kdf-passes 2 "
                  f"--passcode-fd 3 3<<<2468; coffer lock --home {self.folder}/locked")
        done = self.run(self.blocks["oauth-sign-in"])
        self.check("sign-in", done.returncode == 0 and PROMPTLESS.search(done.stderr), done.stderr)
        sessions = json.loads(self.must("coffer oauth list --json"))["sessions"]
        self.check("the account", [each["account"] for each in sessions] == [ACCOUNT], sessions)

    def git(self):
        source, bare = self.folder / "source", self.folder / "git/ada/project.git"
        commit = "git -c user.name=ada -c user.email=ada@example.org commit --quiet -m"
        self.must(f"git init --quiet {source} && cd {source} && echo one >README && git add . &&"
                  f"{commit} first && git clone --quiet --bare . {bare}")
        self.become_due()
        tokens = self.must("coffer token list --json")
        clone = self.blocks["oauth-git"] + "cat project/README\n"
        self.use("git clone", clone, lambda text: text == "one\n", 1)
        self.must(f"cd {source} && echo two >README && {commit} second --all &&"
                  f"git push --quiet {bare} HEAD")
        fetch = "git -C project fetch --quiet && git -C project show FETCH_HEAD:README\n"
        self.use("git fetch", fetch, lambda text: text == "two\n", 0)
        without = self.run(fetch, GIT_CONFIG_GLOBAL="/dev/null")
        self.check("git without the helper is not admitted", without.returncode != 0, without.stdout)
        ask = "printf 'protocol=https\\nhost=git.example.org\\n\\n' | git credential fill\n"
        name = "credential.https://git.example.org.username"
        filled = self.must(f"git config --global {name} bob\n{ask}git config --global --unset {name}")
        self.check("git's own name for the user", "username=bob\npassword=" in filled, filled[:200])
        count = len(json.loads(tokens)["tokens"])
        after = json.loads(self.must("coffer token list --json"))["tokens"]
        self.check("git's password is not stored", len(after) == count, after)
        self.authority.revoke_access()
        self.check("git fetch, revoked: it fails", self.run(fetch).returncode != 0)
        self.check("git fetch, revoked: the server refused", self.world.refused[-1:] == ["git"])
        self.use("git fetch, after it failed", fetch, lambda text: text == "two\n", 1)

    def msmtp(self):
        mails, config = self.world.mails, self.home / ".msmtprc"
        for mechanism in ("oauthbearer", "xoauth2"):
            config.write_text(self.blocks["oauth-msmtprc"].replace("auth oauthbearer", f"auth {mechanism}"))
            self.become_due()
            mails.clear()
            self.use(f"msmtp, {mechanism}", self.blocks["oauth-msmtp"], lambda _: len(mails) == 1, 1)
            self.check("the message", mails and mails[0].endswith("Subject: Hello\n\nIt works."), mails)
            used = [place for place in self.world.served if place.startswith("smtp")]
            self.check("the mechanism", used[-1:] == [f"smtp {mechanism.upper()}"], used)
        self.refusal("msmtp", self.blocks["oauth-msmtp"], lambda _: len(mails) == 2)
        self.while_locked("msmtp", self.blocks["oauth-msmtp"])

    def kubectl(self):
        (self.home / ".kube/config").write_text(self.blocks["oauth-kubeconfig"])
        version = self.run("kubectl version --client --output json")
        found = re.search(r'"minor": "(\d+)', version.stdout)
        if not found or int(found[1]) < 22:
            print("kubectl 1.22 or later is not installed: only the plug-in's answer is checked", flush=True)
            self.plug_in()
            return
        self.become_due()
        script = self.blocks["oauth-kubectl"]
        self.use("kubectl", script, lambda text: "orchard" in text, 1)
        self.use("kubectl again", script, lambda text: "orchard" in text, 0)
        self.refusal("kubectl", script, lambda text: "orchard" in text)
        self.while_locked("kubectl", script)
        self.plug_in()

    def plug_in(self):
        """The answer has the members of an ExecCredential, and no others."""
        words = re.search(r"args: \[(.*)\]", self.blocks["oauth-kubeconfig"])[1].replace(",", "")
        answer = json.loads(self.must(f"coffer {words}"))
        status = answer.pop("status")
        head = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
        self.check("the kind of the answer", answer == head, answer)
        self.check("its members", set(status) == {"token", "expirationTimestamp"}, set(status))
        self.check("its token", self.authority.accepts(status["token"]))
        ends = time.strptime(status["expirationTimestamp"], "%Y-%m-%dT%H:%M:%SZ")
        left = time.mktime(ends) - time.mktime(time.gmtime())
        self.check("its time", 3000 < left <= 3600, left)

    def curl(self):
        script = self.blocks["oauth-curl"]
        self.become_due()
        self.use("curl", script, lambda text: json.loads(text) == {"name": "ada"}, 1)
        self.refusal("curl", script, lambda text: json.loads(text) == {"name": "ada"})
        # A page that wants no token, at a host that the profile does not list.
        other = "https://login.example.org/.well-known/oauth-authorization-server"
        refused = self.run(script.replace(ME, other))
        self.check("curl to another host", refused.returncode == 7, (refused.returncode, refused.stderr))
        # A search that cannot find anything proves nothing.
        leaks, self.world.leaks = self.world.leaks, []
        self.must(f'curl --silent --header "Authorization: Bearer $(coffer oauth token work)" {ME}')
        self.check("an argument is found", any("curl (cmdline)" in leak for leak in self.world.leaks),
                   self.world.leaks)
        self.world.leaks = leaks

    def service(self):
        for name, file in (("service", "HelloClient.swift"), ("client", "HelloService.swift")):
            shown = self.blocks[name]
            self.check(f"the article's Swift, {name}", snippets(service / file)[name] == shown)
        if not self.options.service:
            return
        program = pathlib.Path(self.options.service).resolve()
        program = f"{program} {self.home}/.local/share/coffer {ACCOUNT}"
        self.become_due()
        self.use("service", f"{program} {ME}", lambda text: text == '200 {"name": "ada"}\n', 1)
        self.use("service again", f"{program} {ME}", lambda text: text == '200 {"name": "ada"}\n', 0)
        self.authority.revoke_access()
        before, refused = self.authority.renewals, len(self.world.refused)
        done = self.run(f"{program} {ME}")
        self.check("service, revoked", done.returncode == 0 and done.stdout.startswith("200 "), done.stderr)
        spent = self.authority.renewals - before
        self.check("service, revoked: one renewal", spent == 1, spent)
        refused = len(self.world.refused) - refused
        self.check("service, revoked: one refusal", refused == 1, refused)
        other = self.run(f"{program} https://login.example.org/me")
        stopped = other.returncode != 0 and "hostRefused" in other.stderr
        self.check("service, another host", stopped, other.stderr)

    def files_with_tokens(self):
        """The files of the user and of the servers that contain a token."""
        needles = [token.encode() for token in self.authority.issued]
        found = []
        for place in ("home", "run", "git"):
            for file in (self.folder / place).rglob("*"):
                if file.is_file() and not file.is_symlink():
                    content = file.read_bytes()
                    if any(needle in content for needle in needles):
                        found.append(str(file.relative_to(self.folder)))
        return found

    def leave(self):
        self.check("no reuse of a refresh token", self.authority.reuses == 0, self.authority.reuses)
        leaks = self.world.leaks
        self.check("no token in an argument or the environment", not leaks, leaks)
        self.check("no token in a file", not self.files_with_tokens(), self.files_with_tokens())
        (self.home / "planted").write_text(self.must("coffer oauth token work"))
        self.check("a planted token is found", self.files_with_tokens() == ["home/planted"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--coffer", required=True)
    parser.add_argument("--service")
    names = ["git", "msmtp", "kubectl", "curl", "service"]
    parser.add_argument("recipe", nargs="*", choices=[*names, []])
    options = parser.parse_args()
    folder = world.enter()
    world.furnish(folder)
    recipes = Recipes(folder, options)
    expected = {"oauth-sign-in", "oauth-git", "oauth-msmtprc", "oauth-msmtp", "oauth-kubeconfig",
                "oauth-kubectl", "oauth-curl", "client", "service"}
    recipes.check("the article's blocks", set(recipes.blocks) == expected, set(recipes.blocks) ^ expected)
    recipes.world.start()
    for name in ["sign_in", *(options.recipe or names), "leave"]:
        begun, before = time.monotonic(), recipes.failures
        getattr(recipes, name)()
        verdict = "FAILED" if recipes.failures > before else "ok"
        print(f"{name}: {verdict}, {time.monotonic() - begun:.1f} s", flush=True)
    recipes.run(f"coffer wipe --yes; coffer wipe --yes --home {folder}/locked")
    renewals = recipes.authority.renewals
    print(f"{recipes.checks} checks, {recipes.failures} failures, {renewals} renewals", flush=True)
    return 1 if recipes.failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RuntimeError, subprocess.SubprocessError, OSError) as error:
        sys.exit(f"oauth-recipes: {error}")
