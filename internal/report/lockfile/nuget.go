package lockfile

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// readAssetsJSON reads project.assets.json, which a restore writes. It contains libraries, and the
// direct requirements by framework.
func readAssetsJSON(l *lock) error {
	w := newObjectWalker(l.Data)
	has := map[string]bool{}
	var groups map[string][]read.Text
	var found []model.Dependency
	err := w.object(func(name string, _ int) error {
		switch has[name] = true; name {
		case "projectFileDependencyGroups":
			return w.decode(&groups)
		case "libraries":
			return w.object(func(key string, offset int) error {
				var p struct {
					Type read.Text `json:"type"`
					Sum  read.Text `json:"sha512"`
				}
				err := w.decode(&p)
				if name, version, ok := strings.Cut(key, "/"); ok && p.Type == "package" {
					found = append(found, model.Dependency{
						Name:    name,
						Version: version,
						Line:    l.lineAt(offset),
						Hashes:  base64SHA512(string(p.Sum)),
					})
				}
				return err
			})
		}
		return w.skip()
	})
	switch {
	case err != nil:
		return err
	case !has["targets"] || !has["libraries"]:
		return read.NotA("project.assets.json", "it lacks targets or libraries")
	}
	direct := map[string]bool{}
	for _, group := range groups {
		for _, wanted := range group {
			name, _, _ := strings.Cut(string(wanted), " ")
			direct[strings.ToLower(name)] = true
		}
	}
	for _, d := range found {
		d.Transitivity = TransitivityOf(has["projectFileDependencyGroups"], direct[strings.ToLower(d.Name)])
		l.Add(d)
	}
	return w.end()
}

// base64SHA512 parses a checksum in NuGet's encoding.
func base64SHA512(s string) []model.Hash {
	sum, err := base64.StdEncoding.DecodeString(s)
	if err != nil || len(sum) != 64 {
		return nil
	}
	return []model.Hash{{Algorithm: "SHA-512", Hex: hex.EncodeToString(sum)}}
}

var (
	paketSection = regexp.MustCompile(`^(?:NUGET|GITHUB|GIST|HTTP|GIT|GROUP \S+|[A-Z][A-Z_-]*: \S.*)$`)
	paketOwn     = regexp.MustCompile(`^(?:NUGET|GITHUB|GIST|HTTP|GIT|GROUP ` +
		`.*|(?:STORAGE|RESTRICTION|REFERENCES|FRAMEWORK|CONTENT|STRATEGY|LOWEST_MATCHING): .*)$`)
	paketFile    = regexp.MustCompile(`^ {4}([^\s:]\S*)(?: \([^()]*\))?$`)
	paketPackage = regexp.MustCompile(`^ {4}([A-Za-z0-9_.-]+) \(([^()\s]+)\)(?: .*)?$`)
)

// readPaketLock reads paket.lock: packages are indented by four spaces, their requirements by six.
// Direct packages are only in paket.dependencies. Files from GitHub, gists and URLs do not belong
// to a registry and are refused.
func readPaketLock(l *lock) error {
	section, isPaket := "", false
	for number, line := range l.numbered {
		trimmed := strings.TrimSpace(line)
		switch m := paketPackage.FindStringSubmatch(line); {
		case trimmed == "":
		case paketSection.MatchString(line):
			section, isPaket = line, isPaket || paketOwn.MatchString(line)
		case section == "" || line[0] != ' ':
			return read.NotA("paket.lock", "line %d is neither a section nor below one", number)
		case m != nil && section == "NUGET":
			l.Add(model.Dependency{Name: m[1], Version: m[2], Line: number})
		case paketFile.MatchString(line) && section != "NUGET" && !strings.HasPrefix(section, "GROUP "):
			l.refuse(paketFile.FindStringSubmatch(line)[1], "line %d: its source is %s, not NuGet", number, section)
		case section == "NUGET" && !strings.HasPrefix(line, "      ") && !strings.HasPrefix(trimmed, "remote: ") &&
			!strings.HasPrefix(trimmed, "specs:"):
			return read.NotA("paket.lock", "line %d is neither a remote nor a package and its version", number)
		}
	}
	if !isPaket && len(bytes.TrimSpace(l.Data)) > 0 { // Paket writes an empty file for no packages
		return read.NotA("paket.lock", "it has no known section")
	}
	return nil
}
