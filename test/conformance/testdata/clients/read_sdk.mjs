// Has apimatic-semgrep-sdk read a deployment to its last pages, and prints what it made of the answers.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const sdk = createRequire(process.env.PACKAGE)('apimatic-semgrep-sdk');
const proxy = new URL(process.env.HTTPS_PROXY);
const client = new sdk.Client({
  semgrepWebTokenCredentials: { accessToken: process.env.TOKEN },
  httpClientOptions: { proxySettings: { address: `http://${proxy.hostname}`, port: Number(proxy.port) } },
});
const { version } = JSON.parse(readFileSync(new URL('node_modules/apimatic-semgrep-sdk/package.json', `file://${process.env.PACKAGE}`)));
const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());

// plain is a value without the SDK's drawer for members that it does not know, and with numbers for its long ones.
function plain(v) {
  if (typeof v === 'bigint') return Number(v);
  if (Array.isArray(v)) return v.map(plain);
  if (v === null || typeof v !== 'object') return v;
  const out = {};
  for (const [name, value] of Object.entries(v)) {
    if (name === 'additionalProperties') Object.assign(out, plain(value));
    else out[camel(name)] = plain(value);
  }
  return out;
}

// tried is what a call makes, or why it refuses the answer.
async function tried(call) {
  try {
    return plain(await call());
  } catch (e) {
    return { refused: `${e.message} ${e.body ?? ""}`.slice(0, 900) };
  }
}

// walk gathers the rows of a list that names its next page.
async function walk(member, ask) {
  const rows = [];
  for (let cursor; ; ) {
    const page = (await ask(cursor)).result;
    rows.push(...page[member]);
    if (!page.cursor || page.hasMore === false) return rows;
    cursor = page.cursor;
  }
}

// count gathers the rows of a list whose pages are counted, up to an empty one.
async function count(member, ask) {
  const rows = [];
  for (let n = 0; ; n++) {
    const page = (await ask(n)).result[member];
    if (page.length === 0) return rows;
    rows.push(...page);
  }
}

const of = (name) => new sdk[name](client);
const deployments = await tried(async () => (await of('DeploymentsServiceApi').listDeployments()).result.deployments);
const { id, slug } = deployments[0];
const here = { deploymentId: String(id) };
const chain = of('SupplyChainServiceApi');
console.log(
  JSON.stringify({
    version,
    deployments,
    projects: await tried(() => count('projects', (n) => of('ProjectsServiceApi').listProjects(slug, n, 5))),
    project: await tried(async () => (await of('ProjectsServiceApi').getProject(slug, 'acme/payments')).result.project),
    findings: await tried(async () => (await of('FindingsServiceApi').listFindings(slug)).result.findings),
    secrets: await tried(() => walk('findings', (at) => of('SecretsServiceApi').listSecretsPath(String(id), at, 50))),
    scans: await tried(() => walk('scans', (cursor) => of('ScansServiceApi').searchScans(String(id), { ...here, cursor, limit: 20 }))),
    dependencies: await tried(() => walk('dependencies', (cursor) => chain.listDependencies(String(id), { ...here, cursor, pageSize: 20 }))),
    repositories: await tried(() => walk('repositorySummaries', (cursor) => chain.listRepositoriesForDependencies(String(id), { ...here, cursor, pageSize: 1 }))),
    lockfiles: await tried(() => walk('lockfileSummaries', (cursor) => chain.listLockfilesForDependencies(String(id), process.env.PROJECT, { ...here, repositoryId: process.env.PROJECT, cursor, pageSize: 1 }))),
    policies: await tried(async () => (await of('PoliciesServiceApi').listPolicies(String(id))).result.policies),
    rules: await tried(() => walk('rules', (at) => of('PoliciesServiceApi').listPolicyRules(String(id), process.env.POLICY, at, 20))),
  }),
);
