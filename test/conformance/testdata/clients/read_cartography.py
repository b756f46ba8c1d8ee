"""Has cartography read a deployment by its own functions, and prints what its own transforms make of it."""

import importlib.metadata
import json
import os

from cartography.intel.semgrep import dependencies, deployment, findings, secrets

token = os.environ["TOKEN"]
for module in (dependencies, findings, secrets):
    module._PAGE_SIZE = int(os.environ["PAGE_SIZE"])

here = deployment.get_deployment(token)
code = findings.get_sast_findings(token, here["slug"])
vulns = findings.get_sca_vulns(token, here["slug"])
sca, usages = findings.transform_sca_vulns(vulns)
for usage in usages:
    del usage["findingId"]  # Python's hash of the link, another one in each process
print(
    json.dumps(
        {
            "Version": importlib.metadata.version("cartography"),
            "Deployment": here,
            "SAST": findings.transform_sast_findings(code),
            "SCA": sca,
            "Usages": usages,
            "Assistants": findings._extract_assistants(code) + findings._extract_assistants(vulns),
            "Dependencies": dependencies.transform_dependencies(dependencies.get_dependencies(token, here["id"], "npm")),
            "Secrets": secrets.transform_secret_findings(secrets.get_secret_findings(token, here["id"])),
        }
    )
)
