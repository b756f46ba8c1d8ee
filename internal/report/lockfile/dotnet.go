package lockfile

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// readNuGetLock reads packages.lock.json, which lists direct and transitive packages by target
// framework. Other projects of the solution are omitted.
func readNuGetLock(l *lock) error {
	w := newObjectWalker(l.Data)
	has := map[string]bool{}
	err := w.object(func(name string, _ int) error {
		if name == "version" {
			isNumber, err := w.number()
			has[name] = isNumber
			return err
		}
		if has[name] = true; name != "dependencies" {
			return w.skip()
		}
		return w.object(func(string, int) error { return w.object(l.nuget(w)) })
	})
	switch {
	case err != nil:
		return err
	case !has["version"] || !has["dependencies"]:
		return read.NotA("packages.lock.json", "it lacks version or dependencies")
	}
	return w.end()
}

func (l *lock) nuget(w *objectWalker) func(name string, offset int) error {
	return func(name string, offset int) error {
		var p struct {
			Type     read.Text `json:"type"`
			Resolved read.Text `json:"resolved"`
			Hash     read.Text `json:"contentHash"`
		}
		if err := w.decode(&p); err != nil || strings.EqualFold(string(p.Type), "project") {
			return err
		}
		d := model.Dependency{
			Name: name, Version: string(p.Resolved), Line: l.lineAt(offset),
			Transitivity: TransitivityOf(p.Type != "", strings.EqualFold(string(p.Type), "direct")),
		}
		if sum, err := base64.StdEncoding.DecodeString(string(p.Hash)); err == nil && len(sum) == 64 {
			d.Hashes = []model.Hash{{Algorithm: "SHA-512", Hex: hex.EncodeToString(sum)}}
		}
		l.Add(d)
		return nil
	}
}

// readPackagesConfig reads packages.config. It lists all packages of a project without their
// transitivity.
func readPackagesConfig(l *lock) error {
	dec := l.xml()
	isRead := false // whether the root element was read
	for depth := 0; ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) && isRead {
			return nil
		}
		if err != nil {
			return &read.PositionError{Offset: dec.InputOffset(), Err: err}
		}
		switch t := token.(type) {
		case xml.StartElement:
			if depth++; depth == 1 && (isRead || t.Name.Local != "packages") {
				return read.NotA("packages.config", "its root element is not packages, once")
			}
			isRead = true
			if depth == 2 && t.Name.Local == "package" {
				line, _ := dec.InputPos()
				l.Add(model.Dependency{Name: attribute(t, "id"), Version: attribute(t, "version"), Line: line})
			}
		case xml.EndElement:
			depth--
		}
	}
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// readDepsJSON reads the deps.json file that a build writes for an assembly. Packages that a
// project requires are direct.
func readDepsJSON(l *lock) error {
	w := newObjectWalker(l.Data)
	has := map[string]bool{}
	var targets map[string]map[string]struct {
		Dependencies map[string]read.Text `json:"dependencies"`
	}
	var projects []string
	var found []model.Dependency
	err := w.object(func(name string, _ int) error {
		switch has[name] = true; name {
		case "targets":
			return w.decode(&targets)
		case "libraries":
			return w.object(func(key string, offset int) error {
				var p struct {
					Type read.Text `json:"type"`
				}
				err := w.decode(&p)
				if name, version, _ := strings.Cut(key, "/"); p.Type == "package" {
					found = append(found, model.Dependency{Name: name, Version: version, Line: l.lineAt(offset)})
				} else if p.Type == "project" {
					projects = append(projects, key)
				}
				return err
			})
		}
		return w.skip()
	})
	switch {
	case err != nil:
		return err
	case !has["runtimeTarget"] || !has["targets"] || !has["libraries"]:
		return read.NotA("deps.json", "it lacks runtimeTarget, targets or libraries")
	}
	direct := map[string]bool{}
	for _, target := range targets {
		for _, project := range projects {
			for name := range target[project].Dependencies {
				direct[name] = true
			}
		}
	}
	for _, d := range found {
		d.Transitivity = TransitivityOf(len(direct) > 0, direct[d.Name])
		l.Add(d)
	}
	return w.end()
}
