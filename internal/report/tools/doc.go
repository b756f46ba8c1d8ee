// Package tools reads the JSON formats that single tools have of their own: gitleaks, Trivy, Grype, TruffleHog,
// govulncheck, npm audit, pip-audit, osv-scanner, Brakeman and GitLab analyzers.
package tools
