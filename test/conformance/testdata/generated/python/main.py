"""Calls the ten operations of the contract with the client that openapi-python-client makes, and prints what it read."""

import json
import os

from redoubt.api.dependencies import create_sbom_export, list_dependencies, list_lockfiles
from redoubt.api.findings import list_findings, triage_findings
from redoubt.api.policies import list_policy_rules
from redoubt.api.projects import list_projects, toggle_managed_scan, update_project
from redoubt.api.scans import search_scans
from redoubt.client import AuthenticatedClient
from redoubt.models import (
    CreateSBOMExportRequest,
    DependencyFilter,
    ListDependenciesRequest,
    ListFindingsSeveritiesItem,
    ListLockfilesRequest,
    SearchScansRequest,
    Switch,
    ToggleManagedScanRequest,
    TriageRequest,
    TriageRequestIssueType,
    UpdateProjectRequest,
)

deployment = os.environ["DEPLOYMENT"]
client = AuthenticatedClient(base_url=os.environ["SERVER"], token=os.environ["TOKEN"])


def must(answer):
    """Returns the body of an answer of 200."""
    if answer.status_code != 200:
        raise SystemExit(f"status {answer.status_code}: {answer.content[:500]}")
    return answer.parsed


findings = must(
    list_findings.sync_detailed(
        deployment, client=client, repos=["acme/payments"], severities=[ListFindingsSeveritiesItem.LOW, ListFindingsSeveritiesItem.MEDIUM]
    )
).sast_findings.findings
triaged = must(
    triage_findings.sync_detailed(
        deployment,
        client=client,
        body=TriageRequest(issue_type=TriageRequestIssueType.SAST, issue_ids=[findings[0].id], new_note="by a generated client"),
    )
)
projects = must(list_projects.sync_detailed(deployment, client=client)).projects
tagged = must(update_project.sync_detailed(deployment, "acme/payments", client=client, body=UpdateProjectRequest(tags=["made", "by python"])))
managed = must(
    toggle_managed_scan.sync_detailed(deployment, "acme/payments", client=client, body=ToggleManagedScanRequest(full_scan=Switch(enabled=True)))
)
scans = must(search_scans.sync_detailed(deployment, client=client, body=SearchScansRequest(limit=5))).scans
dependencies = must(
    list_dependencies.sync_detailed(deployment, client=client, body=ListDependenciesRequest(dependency_filter=DependencyFilter(name="lodash")))
).dependencies
lockfiles = must(list_lockfiles.sync_detailed(deployment, os.environ["PROJECT"], client=client, body=ListLockfilesRequest())).lockfile_summaries
rules = must(list_policy_rules.sync_detailed(deployment, os.environ["POLICY"], client=client)).rules
started = must(create_sbom_export.sync_detailed(deployment, client=client, body=CreateSBOMExportRequest()))

print(
    json.dumps(
        {
            "findings": [f.id for f in findings],
            "triaged": triaged.num_triaged,
            "projects": [p.name for p in projects],
            "tags": tagged.project.tags,
            "full": managed.project.managed_scan_config.full_scan.enabled,
            "scans": [s.id for s in scans],
            "dependencies": [f"{d.name} {d.version}" for d in dependencies],
            "lockfiles": [l.lockfile_path for l in lockfiles],
            "rules": [r.path for r in rules],
            "export": started.task_token != "",
        }
    )
)
