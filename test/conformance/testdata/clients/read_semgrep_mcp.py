"""Reads findings of both types with the models of semgrep-mcp, page by page, and prints what they hold."""

import importlib.metadata
import json
import os
import sys

import httpx

sys.path.insert(0, os.environ["PACKAGE"])
from semgrep_mcp.models import Finding

client = httpx.Client(headers={"Authorization": "Bearer " + os.environ["TOKEN"]})
slug = client.get("https://semgrep.dev/api/v1/deployments").raise_for_status().json()["deployments"][0]["slug"]
findings, page = [], 0
while True:
    answer = client.get(
        f"https://semgrep.dev/api/v1/deployments/{slug}/findings",
        params={"issue_type": ["sast", "sca"], "status": "open", "page": page, "page_size": 100},
    )
    rows = [Finding.model_validate(f) for f in answer.raise_for_status().json()["findings"]]
    if not rows:
        break
    findings, page = findings + rows, page + 1
print(json.dumps({"Version": importlib.metadata.version("semgrep-mcp"), "Pages": page, "Findings": [f.model_dump(mode="json") for f in findings]}))
