"""Runs semgrep in processes that are forked from one that has imported its modules.

The imports take two thirds of the processor time of a small scan.

  python forked.py FOLDER   writes FOLDER/pysemgrep and listens at FOLDER/socket until standard input ends
  pysemgrep ARGUMENT...     runs as the program of that name in the virtual environment: with its arguments,
                            environment, folder and streams, and with its exit code

FOLDER is removed at the end.
"""

import gc
import json
import os
import random
import select
import shutil
import signal
import socket
import sys
import tempfile
import uuid

CLIENT = """#!{python} -IS
import json, os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect({address!r})
text = json.dumps([sys.argv, dict(os.environ), os.getcwd()]).encode()
socket.send_fds(s, [b"%16d" % len(text)], [0, 1, 2])
s.sendall(text)
code = s.recv(16)
sys.exit(int(code) if code else 70)
"""


def receive(connection):
    """Returns the arguments, the environment and the folder of a run, and puts its streams in place of ours."""
    head, fds, _, _ = socket.recv_fds(connection, 16, 3)
    while len(head) < 16:
        head += connection.recv(16 - len(head))
    text = b""
    while len(text) < int(head):
        text += connection.recv(int(head) - len(text)) or sys.exit("forked.py: the request is cut off")
    for stream, fd in enumerate(fds):
        os.dup2(fd, stream)
        os.close(fd)
    return json.loads(text)


def become(args, environment, folder):
    """Makes this process the one that was requested."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = args
    tempfile.tempdir = None  # found again in the new environment
    random.seed()
    # An import made the id of the scan.
    object.__setattr__(sys.modules["semgrep.semgrep_types"].FROZEN_ID, "int", uuid.uuid4().int)


def handle(connection, main):
    """Runs main as requested, in a process of its own, until it ends or the client does."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request = receive(connection)
    ended, running = os.pipe()
    child = os.fork()
    if child == 0:
        connection.close()
        become(*request)
        main()
        sys.exit(0)
    os.close(running)
    os.setpgid(child, child)
    if connection in select.select([connection, ended], [], [])[0]:
        os.killpg(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    connection.sendall(b"%d" % (code if code >= 0 else 128 - code))
    os._exit(0)


def serve(folder):
    address = os.path.join(folder, "socket")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    client = os.path.join(folder, "pysemgrep")
    with open(client, "w", encoding="utf-8") as file:
        file.write(CLIENT.format(python=sys.executable, address=address))
    os.chmod(client, 0o755)
    print("ready", flush=True)

    import semgrep.cli  # noqa: F401 (imported late, as pysemgrep does)
    import semgrep.main  # noqa: F401
    from semgrep.console_scripts.pysemgrep import main

    gc.collect()
    gc.freeze()  # a collection in a child does not copy what all of them share
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while sys.stdin not in select.select([sys.stdin, listener], [], [])[0]:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            handle(connection, main)
        connection.close()
    shutil.rmtree(folder)


if __name__ == "__main__":
    serve(sys.argv[1])
