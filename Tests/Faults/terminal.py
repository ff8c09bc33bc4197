"""Runs a command on a terminal of its own and answers its prompts.

    terminal.py [--no-echo] ANSWER ... -- COMMAND ...

Prints one JSON document: the exit code (negative: the signal that ended it), all that appeared on the
terminal, and whether the terminal's echo was off at each prompt and on at the end. An answer ^C is the
interrupt key, and ^D the end of input. Before an answer that begins with ^Z, the command is stopped, the echo
switched on as by a shell, and the command continued. An answer that ends with ^HUP hangs up the terminal in
place of the line's end. An answer ^SHEET types the groups of the recovery key that appeared last, all on
one line; ^SHEET1 to ^SHEET8 type one of them. With --no-echo, the terminal has no echo from the start.
"""

import fcntl
import json
import os
import pty
import re
import select
import signal
import sys
import termios
import time


KEYS = {"^C": b"\x03", "^D": b"\x04"}


def recovery_key(shown, number):
    groups = b" ".join(re.findall(rb"[1-8]-[1-8]:  ([0-9A-Z-]+)", shown)[-2:]).replace(b"-", b" ").split()
    return b" ".join(groups if number is None else groups[number - 1:number]) + b"\n"


def echoes(terminal):
    try:
        return bool(termios.tcgetattr(terminal)[3] & termios.ECHO)
    except termios.error:  # The terminal was hung up.
        return False


def switch_echo(terminal, is_on):
    settings = termios.tcgetattr(terminal)
    settings[3] = settings[3] | termios.ECHO if is_on else settings[3] & ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, settings)


def is_quiet_again(process, terminal):
    os.kill(process, signal.SIGSTOP)
    os.waitpid(process, os.WUNTRACED)
    switch_echo(terminal, True)
    os.kill(process, signal.SIGCONT)
    deadline = time.monotonic() + 20
    while echoes(terminal) and time.monotonic() < deadline:
        select.select([], [], [], 0.02)
    return not echoes(terminal)


def main():
    split = sys.argv.index("--")
    answers, command = sys.argv[1:split], sys.argv[split + 1:]
    controller, terminal = pty.openpty()
    if answers[:1] == ["--no-echo"]:
        del answers[0]
        switch_echo(terminal, False)
    process = os.fork()
    if process == 0:
        os.setsid()
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        for number in range(3):
            os.dup2(terminal, number)
        os.closerange(3, 64)
        os.execvp(command[0], command)
    shown, answered, quiet, status = b"", 0, True, None
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if select.select([] if controller is None else [controller], [], [], 0.02)[0]:
            shown += os.read(controller, 4096)
            if shown.endswith(b": ") and answered < len(answers):
                quiet = quiet and not echoes(terminal)
                answer = answers[answered]
                if answer.startswith("^Z"):
                    quiet = is_quiet_again(process, terminal) and quiet
                    answer = answer[2:]
                if answer.startswith("^SHEET"):
                    os.write(controller, recovery_key(shown, int(answer[6:]) if answer[6:] else None))
                elif answer.endswith("^HUP"):
                    os.write(controller, answer.removesuffix("^HUP").encode())
                    os.close(controller)
                    controller = None
                else:
                    os.write(controller, KEYS.get(answer, answer.encode() + b"\n"))
                answered += 1
            continue
        if status is None:
            ended, result = os.waitpid(process, os.WNOHANG)
            status = result if ended else None
        else:
            break
    if status is None:
        os.kill(process, 9)
        status = os.waitpid(process, 0)[1]
    print(json.dumps({
        "code": os.waitstatus_to_exitcode(status), "shown": shown.decode(errors="replace"),
        "quiet": quiet, "echoAtEnd": echoes(terminal), "prompts": answered,
    }))


main()
