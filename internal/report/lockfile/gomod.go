package lockfile

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// goStdlib is Go's own library, as advisories name it.
const goStdlib = "stdlib"

// readGoMod reads go.mod: what is required, direct unless marked as indirect.
// Replaced modules are listed as what they are replaced with; those replaced
// with a folder are left out, for they are part of the repository. The release
// of Go that it asks for is the version of Go's own library.
func readGoMod(l *lock) error {
	m := goMod{lock: l, replaced: map[[2]string]goModule{}}
	for number, line := range l.numbered {
		if err := m.line(number, line); err != nil {
			return err
		}
	}
	switch {
	case m.block != "":
		return read.CutOff("the parenthesis that %s opens is not closed", m.block)
	case !m.isModule:
		return read.NotA("go.mod", "it has no module line")
	}
	if m.stdlib.Version != "" { // there is none without a line of go
		l.Add(m.stdlib)
	}
	for _, d := range m.required {
		to, ok := m.replaced[[2]string{d.Name, d.Version}]
		if !ok {
			to, ok = m.replaced[[2]string{d.Name, ""}]
		}
		if ok {
			d.Name, d.Version = to.path, to.version
		}
		if ok && d.Version == "" {
			continue // a folder
		}
		l.Add(d)
	}
	return nil
}

type goModule struct{ path, version string }

type goMod struct {
	*lock
	isModule bool
	block    string // the directive whose parentheses are open
	stdlib   model.Dependency
	required []model.Dependency
	replaced map[[2]string]goModule
}

// goDirectives are those that a go.mod may have.
var goDirectives = map[string]bool{
	"module": true, "go": true, "toolchain": true, "godebug": true,
	"require": true, "exclude": true, "replace": true, "retract": true,
	"tool": true, "ignore": true,
}

func (m *goMod) line(number int, line string) error {
	line, note, _ := strings.Cut(line, "//")
	words := goWords(line)
	if len(words) == 0 {
		return nil
	}
	directive := m.block
	switch {
	case m.block != "" && words[0] == ")":
		m.block = ""
		return nil
	case m.block == "":
		directive, words = words[0], words[1:]
	}
	if !goDirectives[directive] {
		return read.NotA("go.mod", "line %d begins with %s, which is no directive", number, directive)
	}
	if len(words) == 1 && words[0] == "(" {
		m.block = directive
		return nil
	}
	switch directive {
	case "module":
		if len(words) != 1 || m.isModule {
			return read.NotA("go.mod", "line %d does not name one module", number)
		}
		m.isModule = true
	case "go", "toolchain":
		m.release(number, directive, words)
	case "require":
		m.require(number, words, note)
	case "replace":
		m.replace(words)
	}
	return nil
}

var goRelease = regexp.MustCompile(`^(?:go)?(\d+\.\d+(?:\.\d+)?(?:(?:alpha|beta|rc)\d+)?)(?:-.*)?$`)

// release reads "go 1.22.1" or "toolchain go1.22.3", which is never older and
// beats it. A toolchain may be called default, which is no release.
func (m *goMod) release(number int, directive string, words []string) {
	if len(words) != 1 || m.stdlib.Version != "" && directive == "go" {
		return
	}
	if version := goRelease.FindStringSubmatch(words[0]); version != nil {
		m.stdlib = model.Dependency{Name: goStdlib, Version: version[1], Line: number, Transitivity: model.Direct}
	}
}

// UnknownPackages is what a list of the modules of a lockfile cannot tell that was
// not made by reading the lockfile here.
func UnknownPackages(lockfile string) []string {
	if read.Base(lockfile) == "go.mod" {
		return []string{goStdlib}
	}
	return nil
}

func (m *goMod) require(number int, words []string, note string) {
	if len(words) != 2 {
		m.refuse(fmt.Sprintf("line %d", number), "a requirement is a module and a version")
		return
	}
	indirect := strings.HasPrefix(strings.TrimSpace(note), "indirect")
	m.required = append(m.required, model.Dependency{
		Name: words[0], Version: words[1], Line: number, Transitivity: TransitivityOf(true, !indirect),
	})
}

// replace reads "old [version] => new [version]".
func (m *goMod) replace(words []string) {
	var from, to goModule
	target, n := &from, 0
	for _, w := range words {
		switch {
		case w == "=>":
			target, n = &to, 0
		case n == 0:
			target.path, n = w, 1
		default:
			target.version = w
		}
	}
	if to.path != "" {
		m.replaced[[2]string{from.path, from.version}] = to
	}
}

// goWords splits a line; words may be quoted.
func goWords(line string) []string {
	words := strings.Fields(line)
	for i, w := range words {
		words[i] = strings.Trim(w, "\"`")
	}
	return words
}
