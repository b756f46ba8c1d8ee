package tools

import (
	"cmp"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
	"github.com/redoubt/redoubt/internal/report/bom"
	"github.com/redoubt/redoubt/internal/report/lockfile"
	"github.com/redoubt/redoubt/internal/report/read"
)

// affected is a vulnerable package in a native report.
type affected struct {
	item         string
	rule         model.Rule // named by the id that the tool displays
	aliases      read.Texts // other ids of the same vulnerability
	message      string
	purl         read.Text // takes precedence over the following members if valid
	kind         read.Text // the tool's name of the ecosystem or package manager
	name         read.Text
	version      read.Text
	location     string // a file in the report
	declared     bool   // whether that file declares the package, whatever its name
	line         int
	fixes        read.Texts
	transitivity model.Transitivity
	reachability model.Reachability
	flow         []model.FlowStep
}

// vulnerable adds a finding of a vulnerable package. Its path is the lockfile in the report or, if
// it has none, the report file itself.
func (n *native) vulnerable(a affected) {
	file := n.lockfile(a.location, a.declared)
	d := &model.Vulnerable{
		Package: a.name.Name(), Version: bom.RealVersion(a.version.Name()), Lockfile: file, Line: a.line,
		Vulnerability: knownAs(a.rule.Name, a.aliases),
		Transitivity:  cmp.Or(a.transitivity, model.TransitivityUnknown),
		Reachability:  cmp.Or(a.reachability, model.ReachabilityUnknown),
		Unrated:       a.rule.Severity == 0,
	}
	if ecosystem, name, version, ok := purl.Parse(string(a.purl)); ok {
		d.Ecosystem, d.Package, d.Version = read.Text(ecosystem).Name(), read.Text(name).Name(), cmp.Or(
			read.Text(version).Name(), d.Version,
		)
	} else {
		d.Ecosystem = EcosystemOf(a.kind, file)
		d.Package = spelling(d.Ecosystem, d.Package)
	}
	d.Version = lockfile.SpellVersion(d.Ecosystem, d.Version)
	if d.Package == "" {
		n.refuse(a.item, "it has no package")
		return
	}
	for _, version := range a.fixes.Names() {
		d.Fixes = append(d.Fixes, model.Fix{Package: d.Package, Version: lockfile.SpellVersion(d.Ecosystem, version)})
	}
	a.rule.IssueType, a.rule.Unrated = model.SCA, d.Unrated
	location := model.Location{}
	if file != n.file {
		location.Line = a.line
	}
	n.AddResult(model.Result{
		Item: a.item, Message: a.message, Location: location, Severity: a.rule.Severity, Dependency: d, DataFlow: a.flow,
	}, a.rule, file)
}

// lockfile returns the file in the report if it is a lockfile of the repository, else the report
// file. Some tools write paths relative to the scanned folder with a leading slash.
func (n *native) lockfile(location string, declared bool) string {
	if !declared && !lockfile.Is(location) {
		return n.file
	}
	for _, spelling := range []string{location, strings.TrimLeft(location, "/")} {
		if file, err := n.checkout.Path(spelling); err == nil {
			return file
		}
	}
	return n.file
}

// spelling returns a name in the spelling of its ecosystem. GitLab separates the parts of Maven
// names with a slash.
func spelling(ecosystem, name string) string {
	if i := strings.LastIndexByte(name, '/'); i > 0 && purl.Separator(ecosystem) == ":" && !strings.Contains(name, ":") {
		return name[:i] + ":" + name[i+1:]
	}
	return name
}

// knownAs returns the CVE among the ids of a vulnerability, or else its own id
// (docs/reference/advisories.md).
func knownAs(id string, aliases read.Texts) string {
	ids := append([]string{id}, aliases.Names()...)
	cves := slices.DeleteFunc(slices.Clone(ids), func(s string) bool { return !strings.HasPrefix(s, "CVE-") })
	if len(cves) == 0 {
		return id
	}
	return slices.Min(cves)
}

// packageKinds lists the scanners' names of package managers and kinds of packages by ecosystem.
var packageKinds = map[string][]string{
	"npm":      {"npm", "yarn", "pnpm", "bun", "node-pkg", "javascript"},
	"pypi":     {"pypi", "pip", "pipenv", "poetry", "uv", "python", "python-pkg", "setuptools", "pylock"},
	"gomod":    {"go", "gomod", "gobinary", "go-module", "golang"},
	"cargo":    {"cargo", "rust-crate", "rustbinary", "crates.io", "rust"},
	"gem":      {"gem", "bundler", "gemspec", "rubygems"},
	"composer": {"composer", "packagist", "php-composer", "composer-vendor"},
	"maven":    {"maven", "pom", "jar", "gradle", "sbt", "java-archive", "jenkins-plugin"},
	"nuget":    {"nuget", "dotnet", "dotnet-core", "packages-props"},
	"pub":      {"pub", "dart-pub"},
	"swiftpm":  {"swift", "swiftpm", "swifturl"},
	"mix":      {"hex", "mix"},
}

// EcosystemOf returns the ecosystem of a tool's name for it, such as "PyPI" or "Debian:12". If the
// name is empty, it returns the ecosystem of the lockfile.
func EcosystemOf(kind read.Text, file string) string {
	word, _, _ := strings.Cut(strings.ToLower(kind.Name()), ":")
	for ecosystem, kinds := range packageKinds {
		if slices.Contains(kinds, word) {
			return ecosystem
		}
	}
	return cmp.Or(lockfile.Ecosystem(file), strings.Join(strings.Fields(word), "-"), "generic")
}
