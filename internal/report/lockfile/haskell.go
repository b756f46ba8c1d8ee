package lockfile

import (
	"cmp"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

var (
	cabalField  = regexp.MustCompile(`^([A-Za-z][A-Za-z-]*):(.*)$`)
	cabalPinned = regexp.MustCompile(`^(?:any\.)?([A-Za-z0-9-]+)\s*==\s*([0-9.]+)$`)
)

// readCabalFreeze reads cabal.project.freeze. It consists of constraints, of which those on flags
// contain no version. It includes packages of the compiler.
func readCabalFreeze(l *lock) error {
	field := ""
	has := map[string]bool{}
	for number, line := range l.numbered {
		rest := line
		switch m := cabalField.FindStringSubmatch(line); {
		case strings.TrimSpace(line) == "", strings.HasPrefix(strings.TrimSpace(line), "--"):
			continue
		case m != nil:
			field, rest = strings.ToLower(m[1]), m[2]
			has[field] = true
		case line[0] != ' ' && line[0] != '\t':
			return read.NotA("cabal.project.freeze", "line %d is neither a field nor indented", number)
		}
		if field != "constraints" {
			continue
		}
		for constraint := range strings.SplitSeq(rest, ",") {
			if m := cabalPinned.FindStringSubmatch(strings.TrimSpace(constraint)); m != nil {
				l.Add(model.Dependency{Name: m[1], Version: m[2], Line: number})
			}
		}
	}
	if !has["constraints"] && !has["active-repositories"] && !has["index-state"] {
		return read.NotA("cabal.project.freeze", "it has none of constraints, active-repositories and index-state")
	}
	return nil
}

var stackPackage = regexp.MustCompile(`^([A-Za-z0-9-]+)-([0-9]+(?:\.[0-9]+)*)(?:@.*)?$`)

// readStackLock reads stack.yaml.lock. It lists the packages that are not in the snapshot.
func readStackLock(l *lock) error {
	root, err := l.yaml()
	if err != nil {
		return err
	}
	packages := child(root, "packages")
	if packages == nil || packages.Kind != yaml.SequenceNode || child(root, "snapshots") == nil {
		return read.NotA("stack.yaml.lock", "it lacks packages, a list, or snapshots")
	}
	for _, entry := range packages.Content {
		reference := child(child(entry, "completed"), "hackage")
		if m := stackPackage.FindStringSubmatch(scalar(reference)); m != nil {
			l.Add(model.Dependency{Name: m[1], Version: m[2], Line: reference.Line})
			continue
		}
		completed := child(entry, "completed")
		origin := cmp.Or(scalar(child(completed, "git")), scalar(child(completed, "url")),
			scalar(child(completed, "archive")), "elsewhere")
		l.refuse(cmp.Or(scalar(child(completed, "name")), "packages"), "line %d: its source is %s, not Hackage",
			entry.Line, origin)
	}
	return nil
}
