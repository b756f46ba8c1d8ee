import hashlib
import os
import pickle
import random
import secrets
import ssl
import subprocess

import flask
import jinja2
import jwt
import markupsafe
import requests
import yaml
from flask import redirect, request, url_for

app = flask.Flask(__name__)


def sql(cursor, name):
    # ruleid: redoubt-python-sql-from-text
    cursor.execute(f"SELECT * FROM users WHERE name = '{name}'")
    # ruleid: redoubt-python-sql-from-text
    cursor.execute("SELECT * FROM users WHERE name = '%s'" % name)
    # ruleid: redoubt-python-sql-from-text
    cursor.execute("SELECT * FROM users WHERE name = '" + name + "'")
    # ruleid: redoubt-python-sql-from-text
    cursor.executemany("DELETE FROM {}".format(name), [])
    statement = "SELECT * FROM users WHERE name = '" + name
    # ruleid: redoubt-python-sql-from-text
    cursor.execute(statement)
    # ok: redoubt-python-sql-from-text
    cursor.execute("SELECT * FROM users WHERE name = ?", (name,))
    # ok: redoubt-python-sql-from-text
    print("hello %s" % name)


def shell(name):
    # ruleid: redoubt-python-shell-command
    subprocess.run("ls " + name, shell=True)
    # ruleid: redoubt-python-shell-command
    os.system(f"rm {name}")
    # ok: redoubt-python-shell-command
    os.system("date")
    # ok: redoubt-python-shell-command
    subprocess.run("date | wc", shell=True)
    # ok: redoubt-python-shell-command
    subprocess.run(["ls", name])


def evaluate(text):
    # ruleid: redoubt-python-eval
    eval(text)
    # ruleid: redoubt-python-eval
    exec(text, {})
    # ok: redoubt-python-eval
    eval("1 + 1")


def load(data, stream):
    # ruleid: redoubt-python-unsafe-deserialization
    pickle.loads(data)
    # ruleid: redoubt-python-unsafe-deserialization
    yaml.load(stream)
    # ruleid: redoubt-python-unsafe-deserialization
    yaml.load(stream, Loader=yaml.Loader)
    # ok: redoubt-python-unsafe-deserialization
    yaml.load(stream, Loader=yaml.SafeLoader)
    # ok: redoubt-python-unsafe-deserialization
    yaml.safe_load(stream)


def store(user, password, content):
    # ruleid: redoubt-python-weak-password-hash
    user.hash = hashlib.md5(password.encode()).hexdigest()
    # ruleid: redoubt-python-weak-password-hash
    user.hash = hashlib.sha256(user.password.encode() + b"salt").digest()
    # ok: redoubt-python-weak-password-hash
    etag = hashlib.sha256(content).hexdigest()
    # ok: redoubt-python-weak-password-hash
    user.hash = hashlib.scrypt(password.encode(), salt=user.salt, n=16384, r=8, p=1)
    return etag


def fetch(session, url, context):
    # ruleid: redoubt-python-tls-verification-off
    requests.get(url, verify=False)
    # ruleid: redoubt-python-tls-verification-off
    session.post(url, json={}, verify=False)
    # ruleid: redoubt-python-tls-verification-off
    context.verify_mode = ssl.CERT_NONE
    # ok: redoubt-python-tls-verification-off
    requests.get(url, verify="ca.pem")
    # ok: redoubt-python-tls-verification-off
    requests.get(url)


def who(token, key):
    # ruleid: redoubt-python-jwt-unverified
    jwt.decode(token, options={"verify_signature": False})
    # ruleid: redoubt-python-jwt-unverified
    jwt.decode(token, key, algorithms=["HS256", "none"])
    # ok: redoubt-python-jwt-unverified
    return jwt.decode(token, key, algorithms=["HS256"])


@app.route("/file")
def file():
    name = request.args.get("name")
    # ruleid: redoubt-python-path-from-request
    with open("files/" + name) as f:
        f.read()
    # ok: redoubt-python-path-from-request
    with open("files/" + os.path.basename(name)) as f:
        f.read()
    # ruleid: redoubt-python-path-from-request
    return flask.send_file(flask.request.form["name"])


@app.route("/next")
def go_on():
    if request.args.get("home"):
        # ok: redoubt-python-open-redirect
        return redirect(url_for("index", tab=request.args.get("tab")))
    # ruleid: redoubt-python-open-redirect
    return redirect(request.args.get("next"))


def start(port):
    # ruleid: redoubt-python-debug-on
    app.run(port=port, debug=True)
    # ok: redoubt-python-debug-on
    app.run(port=port, debug=os.environ.get("DEBUG") == "1")


def tokens(user):
    # ruleid: redoubt-python-weak-random-token
    token = "".join(random.choice("abcdef0123456789") for _ in range(32))
    # ruleid: redoubt-python-weak-random-token
    user.reset_token = str(random.randint(0, 1000000))
    # ok: redoubt-python-weak-random-token
    color = random.choice(["red", "blue"])
    # ok: redoubt-python-weak-random-token
    api_key = secrets.token_urlsafe()
    return token, color, api_key


def page(name):
    # ruleid: redoubt-python-html-unescaped
    env = jinja2.Environment(autoescape=False)
    # ruleid: redoubt-python-html-unescaped
    title = markupsafe.Markup("<b>" + name + "</b>")
    # ok: redoubt-python-html-unescaped
    line = markupsafe.Markup("<hr>")
    # ok: redoubt-python-html-unescaped
    return jinja2.Environment(autoescape=True), env, title, line
