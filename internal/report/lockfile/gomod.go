package lockfile

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// goStdlib is the name of Go's standard library in advisories.
const goStdlib = "stdlib"

// readGoMod reads go.mod. Requirements are direct unless they are marked as indirect. Replaced
// modules are listed as their replacement; those replaced by a local folder are omitted. The
// required release of Go is the version of the standard library.
func readGoMod(l *lock) error {
	m := goMod{lock: l, replaced: map[[2]string]goModule{}}
	for number, line := range l.numbered {
		if err := m.line(number, line); err != nil {
			return err
		}
	}
	switch {
	case m.block != "":
		return read.CutOff("the parenthesis of %s is not closed", m.block)
	case !m.isModule:
		return read.NotA("go.mod", "it has no module line")
	}
	if m.stdlib.Version != "" { // set if there is a go or toolchain line
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
			continue // a local folder
		}
		l.Add(d)
	}
	return nil
}

type goModule struct{ path, version string }

type goMod struct {
	*lock
	isModule bool
	block    string // directive of the open parenthesis
	stdlib   model.Dependency
	required []model.Dependency
	replaced map[[2]string]goModule
}

// goDirectives lists the valid directives of go.mod.
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
		return read.NotA("go.mod", "line %d begins with %s, which is not a directive", number, directive)
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

// release reads a line such as "go 1.22.1" or "toolchain go1.22.3". A toolchain is never older than
// the go line and takes precedence. The toolchain default is not a release.
func (m *goMod) release(number int, directive string, words []string) {
	if len(words) != 1 || m.stdlib.Version != "" && directive == "go" {
		return
	}
	if version := goRelease.FindStringSubmatch(words[0]); version != nil {
		m.stdlib = model.Dependency{Name: goStdlib, Version: version[1], Line: number, Transitivity: model.Direct}
	}
}

// UnknownPackages returns the packages that other tools' inventories of a lockfile lack but this
// package adds.
func UnknownPackages(lockfile string) []string {
	if read.Base(lockfile) == "go.mod" {
		return []string{goStdlib}
	}
	return nil
}

func (m *goMod) require(number int, words []string, note string) {
	if len(words) != 2 {
		m.refuse(fmt.Sprintf("line %d", number), "a requirement needs a module and a version")
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

// goWords splits a line into words, which may be quoted.
func goWords(line string) []string {
	words := strings.Fields(line)
	for i, w := range words {
		words[i] = strings.Trim(w, "\"`")
	}
	return words
}
