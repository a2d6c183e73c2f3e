"""Types a command line and TAB into a shell on a terminal of its own, and checks the answer.

press_tab.py SHELL FOLDER LINE EXPECTED...: FOLDER has the scripts as they are installed (liana, _liana). Each EXPECTED is
a text that the terminal must show after TAB. A text that begins with '!' must not be there.
"""

import os
import pty
import re
import select
import sys
import time

SECONDS = int(os.environ.get("SECONDS", 60))  # the machine may be busy

SETTINGS = {
    "bash": "PS1='READY> '; bind 'set show-all-if-ambiguous on'; bind 'set page-completions off'; "
            "bind 'set completion-query-items 0'; bind 'set bell-style none'; bind 'set enable-bracketed-paste off'; "
            "complete -r; source {folder}/liana",
    "zsh": "PROMPT='READY> '; unsetopt zle_bracketed_paste; LISTMAX=0; fpath=({folder} $fpath); autoload -Uz compinit; "
           "compinit -u -D; setopt auto_list; unsetopt list_beep",
}
PROGRAMS = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}


def read_until(terminal, done, seconds):
    """All that comes until done(text), or until the time is over."""
    text, end = "", time.monotonic() + seconds
    while time.monotonic() < end and not done(text):
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                text += os.read(terminal, 65536).decode(errors="replace")
            except OSError:
                break
    return text


def plain(text):
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|[\x00\x07\r]", "", text)
    return re.sub(r"[^\x08]\x08", "", text)


def main():
    shell, folder, line = sys.argv[1:4]
    wanted = [text for text in sys.argv[4:] if not text.startswith("!")]
    unwanted = [text[1:] for text in sys.argv[4:] if text.startswith("!")]
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(TERM="dumb" if shell == "bash" else "xterm", COLUMNS="200", LINES="60")
        os.execvp(PROGRAMS[shell][0], PROGRAMS[shell])
    os.write(terminal, (SETTINGS[shell].format(folder=folder) + "; stty cols 200 rows 200; echo set''tled\n").encode())
    seen = read_until(terminal, lambda text: re.search("settled.*READY> ", plain(text), re.S), SECONDS)
    os.write(terminal, line.encode() + b"\t")
    begun = plain(seen)
    answer = read_until(terminal, lambda text: all(want in plain(text) for want in wanted), SECONDS if wanted else 2)
    answer += read_until(terminal, lambda text: False, 0.3)
    os.write(terminal, b"\x15exit\n")
    os.close(terminal)
    os.waitpid(child, 0)
    answer = plain(answer)
    missing = [want for want in wanted if want not in answer] + ["no " + text for text in unwanted if text in answer]
    if missing:
        sys.exit(f"{shell}: after '{line}' and TAB: expected {missing}, found {answer!r}; before: {begun[-300:]!r}")


main()
