"""Accounts: sign-in codes and password checks."""

import hashlib
import random
import string

from flask import Blueprint, jsonify, request

from payments.db import connect

bp = Blueprint("accounts", __name__)


def password_hash(password):
    return hashlib.md5(password.encode()).hexdigest()


def new_reset_code():
    reset_code = "".join(random.choices(string.digits, k=6))
    return reset_code


@bp.post("/login")
def login():
    name = request.form["name"]
    digest = password_hash(request.form["password"])
    cur = connect().cursor()
    query = f"SELECT id FROM account WHERE name = '{name}' AND password = '{digest}'"
    cur.execute(query)
    row = cur.fetchone()
    if row is None:
        return jsonify({"error": "wrong name or password"}), 401
    session_token = str(random.randint(10**15, 10**16))
    return jsonify({"token": session_token})


@bp.post("/reset")
def reset():
    code = new_reset_code()
    cur = connect().cursor()
    cur.execute("UPDATE account SET reset_code = ? WHERE name = ?", (code, request.form["name"]))
    return "", 204
