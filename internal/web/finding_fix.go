package web

import (
	"path"
	"regexp"
	"strings"

	"github.com/redoubt/redoubt/internal/version"
)

// upgrade is how a vulnerable package is brought to a version without the
// vulnerability, as its package manager takes it.
type upgrade struct {
	Command string // to copy, in the folder of the lockfile
	Line    string // or the line of the file that the project writes by hand
	In      string // the folder; empty for the root
}

// upgradeOf finds how to get rid of a finding in a dependency; nil where no version is
// known to be safe, or nothing sure can be said of the file.
func upgradeOf(f shownFinding) *upgrade {
	d := f.FoundDependency
	if d == nil {
		return nil
	}
	to := strings.TrimPrefix(nearestFix(f), "v")
	if !plainWord.MatchString(d.Package) || !plainWord.MatchString(to) {
		return nil // nothing that a shell could take for more than a name
	}
	u := &upgrade{}
	if u.In = path.Dir(f.Location.FilePath); u.In == "." {
		u.In = ""
	}
	name := path.Base(f.Location.FilePath)
	if fits, _ := path.Match("*requirements*.txt", name); fits {
		u.Line = d.Package + "==" + to
		return u
	}
	commands := upgradeCommands[name]
	text := commands.direct
	if d.Transitivity != "direct" {
		text = commands.transitive
	}
	if text == "" {
		return nil
	}
	u.Command = strings.NewReplacer("PACKAGE", d.Package, "VERSION", to).Replace(text)
	return u
}

// plainWord is a name or version that stands in a command without quotes. An option is
// none.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9@_][A-Za-z0-9@._/+:-]{0,213}$`)

// nearestFix is the first safe version after the installed one; empty for none.
func nearestFix(f shownFinding) (nearest string) {
	d, order := f.FoundDependency, version.OrderOf(f.FoundDependency.Ecosystem)
	for _, fix := range f.FixRecommendations {
		if fix.Package != d.Package || !order.IsVersion(fix.Version) || order.Compare(fix.Version, d.Version) <= 0 {
			continue
		}
		if nearest == "" || order.Compare(fix.Version, nearest) < 0 {
			nearest = fix.Version
		}
	}
	return nearest
}

// upgradeCommands are what package managers take, by the file that they write. Where
// one cannot set the version of what others ask for, there is no command for it.
var upgradeCommands = map[string]struct{ direct, transitive string }{
	"package-lock.json":   {"npm install PACKAGE@VERSION", "npm update PACKAGE"},
	"npm-shrinkwrap.json": {"npm install PACKAGE@VERSION", "npm update PACKAGE"},
	"yarn.lock":           {"yarn add PACKAGE@VERSION", ""},
	"pnpm-lock.yaml":      {"pnpm add PACKAGE@VERSION", ""},
	"bun.lock":            {"bun add PACKAGE@VERSION", ""},
	"go.mod":              {"go get PACKAGE@vVERSION", "go get PACKAGE@vVERSION"},
	"go.sum":              {"go get PACKAGE@vVERSION", "go get PACKAGE@vVERSION"},
	"Cargo.lock":          {"cargo update PACKAGE --precise VERSION", "cargo update PACKAGE --precise VERSION"},
	"Gemfile.lock":        {"bundle update PACKAGE --conservative", "bundle update PACKAGE --conservative"},
	"composer.lock":       {"composer require PACKAGE:^VERSION", "composer update PACKAGE"},
	"poetry.lock":         {"poetry add PACKAGE@^VERSION", "poetry update PACKAGE"},
	"uv.lock":             {"uv lock --upgrade-package PACKAGE==VERSION", "uv lock --upgrade-package PACKAGE==VERSION"},
	"Pipfile.lock":        {"pipenv upgrade PACKAGE==VERSION", "pipenv upgrade PACKAGE==VERSION"},
	"packages.lock.json":  {"dotnet add package PACKAGE --version VERSION", ""},
	"mix.lock":            {"mix deps.update PACKAGE", "mix deps.update PACKAGE"},
	"pubspec.lock":        {"dart pub upgrade PACKAGE", "dart pub upgrade PACKAGE"},
}
