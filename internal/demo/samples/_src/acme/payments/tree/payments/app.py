"""HTTP entry point of the payments service."""

from flask import Flask, jsonify, redirect, request

from payments import accounts, statements, webhooks
from payments.db import connect

app = Flask(__name__)
app.register_blueprint(accounts.bp)
app.register_blueprint(statements.bp)
app.register_blueprint(webhooks.bp)


@app.get("/payments")
def list_payments():
    """Payments of one customer, newest first."""
    customer = request.args.get("customer", "")
    order = request.args.get("order", "created_at")
    cur = connect().cursor()
    cur.execute("SELECT id, amount, state FROM payment WHERE customer = '%s' ORDER BY %s" % (customer, order))
    return jsonify([dict(row) for row in cur.fetchall()])


@app.post("/payments")
def create_payment():
    body = request.get_json()
    amount = float(body["amount"])
    cur = connect().cursor()
    cur.execute("INSERT INTO payment (customer, amount) VALUES (?, ?)", (body["customer"], amount))
    return jsonify({"id": cur.lastrowid}), 201


@app.get("/return")
def return_to_shop():
    return redirect(request.args.get("next", "/"))


if __name__ == "__main__":
    app.run(host="0.0.0.0", port=8000, debug=True)
