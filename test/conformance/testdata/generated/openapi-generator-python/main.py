"""Calls the operations of the contract with the client that openapi-generator makes, and prints the results."""

import json
import os

from redoubt import ApiClient, Configuration
from redoubt.api import DependenciesApi, FindingsApi, PoliciesApi, ProjectsApi, ScansApi
from redoubt.models import (
    CreateSBOMExportRequest,
    DependencyFilter,
    ListDependenciesRequest,
    ListLockfilesRequest,
    SearchScansRequest,
    Switch,
    TextList,
    ToggleManagedScanRequest,
    TriageRequest,
    UpdateProjectRequest,
    WholeNumber,
)

deployment = os.environ["DEPLOYMENT"]
client = ApiClient(Configuration(host=os.environ["SERVER"], access_token=os.environ["TOKEN"]))
findings_api, projects_api, dependencies_api = FindingsApi(client), ProjectsApi(client), DependenciesApi(client)

findings = findings_api.list_findings(deployment, repos=["acme/payments"], severities=["low", "medium"]).sast_findings.findings
supply_chain = findings_api.list_findings(deployment, issue_type="sca").sca_findings.findings
triaged = findings_api.triage_findings(
    deployment, TriageRequest(issue_type="sast", issue_ids=[WholeNumber(findings[0].id)], new_note="by a generated client")
)
projects = projects_api.list_projects(deployment).projects
tagged = projects_api.update_project(
    deployment, "acme/payments", update_project_request=UpdateProjectRequest(tags=TextList(["made", "by openapi-generator-python"]))
)
managed = projects_api.toggle_managed_scan(
    deployment, "acme/payments", toggle_managed_scan_request=ToggleManagedScanRequest(full_scan=Switch(enabled=True))
)
scans = ScansApi(client).search_scans(deployment, search_scans_request=SearchScansRequest(limit=5)).scans
dependencies = dependencies_api.list_dependencies(
    deployment, list_dependencies_request=ListDependenciesRequest(dependency_filter=DependencyFilter(name="lodash"))
).dependencies
lockfiles = dependencies_api.list_lockfiles(
    deployment, os.environ["PROJECT"], list_lockfiles_request=ListLockfilesRequest()
).lockfile_summaries
rules = PoliciesApi(client).list_policy_rules(deployment, os.environ["POLICY"]).rules
started = dependencies_api.create_sbom_export(deployment, create_sbom_export_request=CreateSBOMExportRequest())

print(
    json.dumps(
        {
            "findings": [f.id for f in findings],
            "supply chain": [f.id for f in supply_chain],
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
