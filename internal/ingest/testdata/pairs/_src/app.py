import hashlib
import subprocess


def check(given):
    return given == given


def run(command):
    subprocess.call(command, shell=True)


def first(data):
    return hashlib.md5(data)


def twice(data):
    subprocess.call("date", shell=True)
    subprocess.call("date", shell=True)  # the second
