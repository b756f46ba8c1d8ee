const fs = require("fs");
const path = require("path");
const crypto = require("crypto");
const jwt = require("jsonwebtoken");
const { exec, execFile } = require("child_process");

function show(element, text) {
  // ruleid: redoubt-js-html-from-data
  element.innerHTML = "<b>" + text + "</b>";
  // ruleid: redoubt-js-html-from-data
  document.write(text);
  // ok: redoubt-js-html-from-data
  element.innerHTML = "<hr>";
  // ok: redoubt-js-html-from-data
  element.innerHTML = DOMPurify.sanitize(text);
  // ok: redoubt-js-html-from-data
  element.textContent = text;
}

function Note({ text }) {
  // ruleid: redoubt-js-html-from-data
  return <div dangerouslySetInnerHTML={{ __html: text }} />;
}

function evaluate(text) {
  // ruleid: redoubt-js-eval
  eval(text);
  // ruleid: redoubt-js-eval
  const f = new Function("a", text);
  // ok: redoubt-js-eval
  eval("1 + 1");
  // ok: redoubt-js-eval
  return JSON.parse(text), f;
}

function shell(name) {
  // ruleid: redoubt-js-shell-command
  exec(`ls ${name}`);
  // ruleid: redoubt-js-shell-command
  exec("ls " + name, () => {});
  // ok: redoubt-js-shell-command
  exec("ls");
  // ok: redoubt-js-shell-command
  execFile("ls", [name]);
  // ok: redoubt-js-shell-command
  /x/.exec(name);
}

async function sql(db, name) {
  // ruleid: redoubt-js-sql-from-text
  await db.query(`SELECT * FROM users WHERE name = '${name}'`);
  // ruleid: redoubt-js-sql-from-text
  await db.query("SELECT * FROM users WHERE name = '" + name + "'");
  // ruleid: redoubt-js-sql-from-text
  await db.raw("DELETE FROM " + name);
  // ok: redoubt-js-sql-from-text
  await db.query("SELECT * FROM users WHERE name = $1", [name]);
  // ok: redoubt-js-sql-from-text
  cache.get(`user-${name}`);
}

function fetchAll(https, url) {
  // ruleid: redoubt-js-tls-verification-off
  https.get(url, { rejectUnauthorized: false });
  // ruleid: redoubt-js-tls-verification-off
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
  // ok: redoubt-js-tls-verification-off
  https.get(url, { rejectUnauthorized: true });
}

function who(token, key) {
  // ruleid: redoubt-js-jwt-unverified
  jwt.verify(token, key, { algorithms: ["HS256", "none"] });
  // ruleid: redoubt-js-jwt-unverified
  jwt.sign({ admin: true }, "", { algorithm: "none" });
  // ok: redoubt-js-jwt-unverified
  return jwt.verify(token, key, { algorithms: ["HS256"] });
}

app.get("/file/:name", (req, res) => {
  // ruleid: redoubt-js-path-from-request
  fs.readFile(path.join("files", req.params.name), () => {});
  // ok: redoubt-js-path-from-request
  fs.readFile(path.join("files", path.basename(req.params.name)), () => {});
  // ruleid: redoubt-js-path-from-request
  res.sendFile("files/" + req.query.name);
});

app.get("/next", (req, res) => {
  // ok: redoubt-js-open-redirect
  if (req.query.home) return res.redirect("/home");
  const next = req.query.next;
  // ruleid: redoubt-js-open-redirect
  res.redirect(302, next);
});

function tokens(user) {
  // ruleid: redoubt-js-weak-random-token
  const token = Math.random().toString(36).slice(2);
  // ruleid: redoubt-js-weak-random-token
  user.resetToken = String(Math.random());
  // ok: redoubt-js-weak-random-token
  const angle = Math.random() * 360;
  // ok: redoubt-js-weak-random-token
  const secret = crypto.randomBytes(32).toString("hex");
  return [token, angle, secret];
}
