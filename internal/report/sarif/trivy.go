package sarif

import (
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/lockfile"
	"github.com/redoubt/redoubt/internal/report/read"
)

// trivyDependency parses the package in a message of Trivy's SARIF, which no other member contains.
// It has lines such as "Package: x", "Installed Version: 1" and "Fixed Version: 2, 3". The
// ecosystem is that of the lockfile's name.
func trivyDependency(rule *model.Rule, message, file string) *model.Vulnerable {
	d := &model.Vulnerable{
		Ecosystem: lockfile.Ecosystem(file), Lockfile: file, Vulnerability: rule.Name,
		Transitivity: model.TransitivityUnknown, Reachability: model.ReachabilityUnknown,
	}
	var fixed string
	for line := range strings.Lines(message) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "Package":
			d.Package = read.Text(value).Name()
		case "Installed Version":
			d.Version = read.Text(value).Name()
		case "Fixed Version":
			fixed = value
		}
	}
	for _, version := range read.Texts(strings.Split(fixed, ",")).Names() {
		d.Fixes = append(d.Fixes, model.Fix{Package: d.Package, Version: version})
	}
	return d
}
