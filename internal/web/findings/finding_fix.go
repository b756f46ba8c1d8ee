package findings

import (
	"path"
	"regexp"
	"strings"

	"github.com/redoubt/redoubt/internal/web/component"
)

// upgrade describes how to update a vulnerable package with its package manager.
type upgrade struct {
	Command string // to run in the folder of the lockfile
	Line    string // or the line of the manifest that the user edits
	In      string // the folder; empty for the root
}

// upgradeOf returns the upgrade for a finding in a dependency. It is nil if no safe version is
// known or the file is not supported.
func upgradeOf(f component.ShownFinding) *upgrade {
	d := f.FoundDependency
	if d == nil {
		return nil
	}
	to := strings.TrimPrefix(component.NearestFix(f), "v")
	if !plainVersion.MatchString(to) || !plainVersion.MatchString(d.Version) ||
		!plainName(d.Ecosystem).MatchString(d.Package) {
		return nil // excludes names that a shell or a package manager could interpret
	}
	u := &upgrade{}
	if u.In = path.Dir(f.Location.FilePath); u.In == "." {
		u.In = ""
	}
	name := path.Base(f.Location.FilePath)
	if matches, _ := path.Match("*requirements*.txt", name); matches && d.Ecosystem == "pypi" {
		u.Line = d.Package + "==" + to
		return u
	}
	c := upgradeCommands[name]
	text := c.direct
	switch {
	case c.ecosystem != d.Ecosystem:
		return nil
	case c.ecosystem == "gomod" && d.Package == "stdlib":
		text = "go get go@VERSION"
	case d.Transitivity != "direct":
		text = c.transitive
	}
	if text == "" {
		return nil
	}
	u.Command = strings.NewReplacer("PACKAGE", d.Package, "INSTALLED", strings.TrimPrefix(d.Version, "v"),
		"VERSION", to).Replace(text)
	return u
}

// plainVersion matches versions that need no quotes in a command.
var plainVersion = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+_-]{0,99}$`)

// Names that need no quotes in a command and cannot be mistaken for options or URLs. Only names of
// npm, Composer and Go packages may have several parts.
var (
	plainWord     = regexp.MustCompile(`^[0-9A-Za-z_][0-9A-Za-z._-]{0,213}$`)
	npmName       = regexp.MustCompile(`^(@[0-9A-Za-z_][0-9A-Za-z._-]*/)?[0-9A-Za-z_][0-9A-Za-z._-]{0,213}$`)
	composerName  = regexp.MustCompile(`^[0-9A-Za-z_][0-9A-Za-z._-]*/[0-9A-Za-z_][0-9A-Za-z._-]{0,213}$`)
	goModulesName = regexp.MustCompile(`^[0-9A-Za-z_][0-9A-Za-z._~-]*(/[0-9A-Za-z_][0-9A-Za-z._~-]*){0,20}$`)
)

func plainName(ecosystem string) *regexp.Regexp {
	switch ecosystem {
	case "npm":
		return npmName
	case "composer":
		return composerName
	case "gomod":
		return goModulesName
	}
	return plainWord
}

// upgradeCommands maps lockfiles to commands. A command is empty if the package manager cannot set
// the version of a transitive dependency, or would add the package to the production dependencies.
var upgradeCommands = map[string]struct{ ecosystem, direct, transitive string }{
	"package-lock.json":   {"npm", "npm install PACKAGE@VERSION", "npm update PACKAGE"},
	"npm-shrinkwrap.json": {"npm", "npm install PACKAGE@VERSION", "npm update PACKAGE"},
	"pnpm-lock.yaml":      {"npm", "pnpm update PACKAGE@VERSION", ""},
	"go.mod":              {"gomod", "go get PACKAGE@vVERSION", "go get PACKAGE@vVERSION"},
	"Cargo.lock": {
		"cargo", "cargo update PACKAGE@INSTALLED --precise VERSION", "cargo update PACKAGE@INSTALLED --precise VERSION",
	},
	"Gemfile.lock":  {"gem", "bundle update PACKAGE --conservative", "bundle update PACKAGE --conservative"},
	"composer.lock": {"composer", "composer update PACKAGE", "composer update PACKAGE"},
	"poetry.lock":   {"pypi", "poetry update PACKAGE", "poetry update PACKAGE"},
	"uv.lock": {
		"pypi", "uv lock --upgrade-package PACKAGE==VERSION", "uv lock --upgrade-package PACKAGE==VERSION",
	},
	"Pipfile.lock":       {"pypi", "pipenv update PACKAGE", "pipenv update PACKAGE"},
	"packages.lock.json": {"nuget", "dotnet add package PACKAGE --version VERSION", ""},
	"mix.lock":           {"mix", "mix deps.update PACKAGE", "mix deps.update PACKAGE"},
	"pubspec.lock":       {"pub", "dart pub upgrade PACKAGE", "dart pub upgrade PACKAGE"},
}
