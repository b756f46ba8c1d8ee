package report

import (
	"strings"

	"github.com/redoubt/redoubt"
)

// trivyDependency reads the package out of a message of Trivy's SARIF, which
// has it nowhere else: lines as "Package: x", "Installed Version: 1",
// "Vulnerability CVE-1", "Fixed Version: 2, 3". The ecosystem comes from the
// lockfile's name.
func trivyDependency(rule *redoubt.Rule, message, lockfile string) *redoubt.Vulnerable {
	d := &redoubt.Vulnerable{
		Lockfile: lockfile, Vulnerability: rule.Name,
		Transitivity: redoubt.TransitivityUnknown, Reachability: redoubt.ReachabilityUnknown,
	}
	if l := lockfileFor(lockfile); l != nil {
		d.Ecosystem = l.ecosystem
	}
	var fixed string
	for line := range strings.Lines(message) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "Package":
			d.Package = text(value).name()
		case "Installed Version":
			d.Version = text(value).name()
		case "Fixed Version":
			fixed = value
		}
	}
	for _, version := range texts(strings.Split(fixed, ",")).names() {
		d.Fixes = append(d.Fixes, redoubt.Fix{Package: d.Package, Version: version})
	}
	return d
}
