// Package tools reads the native JSON formats of scanners such as gitleaks, Trivy, Grype, npm audit
// and GitLab's analyzers.
package tools
