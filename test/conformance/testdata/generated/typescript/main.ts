// Calls the ten operations of the contract with the types that openapi-typescript makes, and prints what it read.
import createClient from "openapi-fetch";
import type { paths } from "./redoubt";

const env = (name: string): string => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
};
const deployment = env("DEPLOYMENT");
const client = createClient<paths>({ baseUrl: env("SERVER"), headers: { Authorization: `Bearer ${env("TOKEN")}` } });

// must returns the body of an answer of 200.
function must<T>(answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

const bySlug = { deploymentSlug: deployment };
const byId = { deploymentId: deployment };
const payments = { ...bySlug, projectName: "acme/payments" };

const findings = must(
  await client.GET("/api/v1/deployments/{deploymentSlug}/findings", {
    params: { path: bySlug, query: { repos: ["acme/payments"], severities: ["low", "medium"] } },
  }),
).sastFindings.findings;
const triaged = must(
  await client.POST("/api/v1/deployments/{deploymentSlug}/triage", {
    params: { path: bySlug },
    body: { issue_type: "sast", issue_ids: [findings[0]!.id], new_note: "by a generated client" },
  }),
);
const projects = must(await client.GET("/api/v1/deployments/{deploymentSlug}/projects", { params: { path: bySlug } }));
const tagged = must(
  await client.PATCH("/api/v1/deployments/{deploymentSlug}/projects/{projectName}", {
    params: { path: payments },
    body: { tags: ["made", "by typescript"] },
  }),
);
const managed = must(
  await client.PATCH("/api/v1/deployments/{deploymentSlug}/projects/{projectName}/managed-scan", {
    params: { path: payments },
    body: { full_scan: { enabled: true } },
  }),
);
const scans = must(
  await client.POST("/api/v1/deployments/{deploymentId}/scans/search", { params: { path: byId }, body: { limit: 5 } }),
);
const dependencies = must(
  await client.POST("/api/v1/deployments/{deploymentId}/dependencies", {
    params: { path: byId },
    body: { dependencyFilter: { name: "lodash" } },
  }),
);
const lockfiles = must(
  await client.POST("/api/v1/deployments/{deploymentId}/dependencies/repositories/{repositoryId}/lockfiles", {
    params: { path: { ...byId, repositoryId: env("PROJECT") } },
    body: {},
  }),
);
const rules = must(
  await client.GET("/api/v1/deployments/{deploymentId}/policies/{policyId}", {
    params: { path: { ...byId, policyId: env("POLICY") } },
  }),
);
const started = must(
  await client.POST("/api/v1/deployments/{deploymentId}/sbom/export", { params: { path: byId }, body: {} }),
);

console.log(
  JSON.stringify({
    findings: findings.map((f) => f.id),
    triaged: triaged.num_triaged,
    projects: projects.projects.map((p) => p.name),
    tags: tagged.project.tags,
    full: managed.project.managed_scan_config?.full_scan?.enabled,
    scans: scans.scans.map((s) => s.id),
    dependencies: dependencies.dependencies.map((d) => `${d.name} ${d.version}`),
    lockfiles: lockfiles.lockfileSummaries.map((l) => l.lockfilePath),
    rules: rules.rules.map((r) => r.path),
    export: started.taskToken !== "",
  }),
);
