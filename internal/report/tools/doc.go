// Package tools reads the native JSON formats of gitleaks, Trivy, Grype, TruffleHog, govulncheck,
// npm audit, pip-audit, osv-scanner, Brakeman and GitLab's analyzers.
package tools
