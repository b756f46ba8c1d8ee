// Adds to each pair on standard input the sign of its comparison by node's semver; leaves out what it does not read.
const semver = require("semver");
for (const line of require("fs").readFileSync(0, "utf8").split("\n")) {
  const [a, b] = line.split("\t");
  if (b && semver.valid(a) && semver.valid(b)) console.log([a, b, semver.compare(a, b)].join("\t"));
}
