"""Writes what runs in the cloud account into the inventory."""

import hashlib
import os
import sys

import requests
import yaml

INVENTORY = "https://inventory.example/api/hosts"


def load(path):
    with open(path) as f:
        return yaml.load(f, Loader=yaml.Loader)


def host_id(host):
    return hashlib.sha1(host["name"].encode()).hexdigest()


def push(hosts):
    for host in hosts:
        requests.put(INVENTORY + "/" + host_id(host), json=host)


def matching(hosts, rule):
    """Hosts for which a rule such as `host['zone'] == 'a'` holds."""
    return [host for host in hosts if eval(rule, {"host": host})]


if __name__ == "__main__":
    os.umask(0)
    push(matching(load(sys.argv[1]), sys.argv[2]))
