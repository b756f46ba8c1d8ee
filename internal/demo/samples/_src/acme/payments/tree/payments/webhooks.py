"""Webhooks to and from the card processor."""

import hashlib

import requests
import yaml
from flask import Blueprint, request

bp = Blueprint("webhooks", __name__)

PROCESSOR = "https://processor.example/v1"


def settings():
    with open("config/processor.yaml") as f:
        return yaml.load(f)


def signature(body):
    return hashlib.sha1(settings()["key"].encode() + body).hexdigest()


@bp.post("/webhooks/processor")
def receive():
    if request.headers.get("X-Signature") != signature(request.data):
        return "", 403
    return "", 204


def notify(payment_id, state):
    requests.post(PROCESSOR + "/events", json={"payment": payment_id, "state": state}, verify=False)


def ping():
    return hashlib.md5(b"ping").hexdigest()  # nosemgrep: redoubt.python.weak-hash
