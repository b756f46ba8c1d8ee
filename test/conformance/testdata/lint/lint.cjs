// Prints what redocly's linter says of a document, by its recommended rules, a line each.
const { createConfig, lint } = require(process.argv[2] + "/@redocly/openapi-core");

(async () => {
  const problems = await lint({ ref: process.argv[3], config: await createConfig({ extends: ["recommended"] }) });
  for (const p of problems) console.log(`${p.severity} ${p.ruleId} ${p.location[0].pointer}: ${p.message}`);
})();
