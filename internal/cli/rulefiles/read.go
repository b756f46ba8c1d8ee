// Package rulefiles reads rules from files and reports invalid rules with the name of their file.
// If a scanner is installed, it also parses the rules.
package rulefiles

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
)

// Set contains the rules of several files.
type Set struct {
	Rules []policy.Rule
	files []string           // the file of each rule, as the user named it
	Left  []model.FieldError // faults of omitted rules, each prefixed with its file
}

// Read reads the rules of files and directories. It returns all faults at once, each prefixed with
// its file. If skip is true, it omits invalid rules instead.
func Read(names []string, skip bool) (*Set, error) {
	files, err := ruleFiles(names)
	if err != nil {
		return nil, err
	}
	set := &Set{}
	var prefixes []string
	for _, file := range files {
		text, err := readRuleFile(file.name)
		if err != nil {
			return nil, err
		}
		parsed, err := policy.ParseValid(text)
		var invalid *model.InvalidError
		if err = InFile(file.name, err); errors.As(err, &invalid) {
			set.Left = append(set.Left, invalid.Fields...)
		} else if err != nil {
			return nil, err
		}
		for _, r := range parsed {
			set.Rules, set.files, prefixes = append(set.Rules, r), append(set.files, file.name), append(prefixes, file.prefix)
		}
	}
	set.qualifyIDs(prefixes)
	if len(set.Left) > 0 && !skip {
		return nil, &model.InvalidError{Fields: set.Left}
	}
	return set, nil
}

// maxRuleFile is the maximum number of bytes read from a file. It is above the limit of rules.
const maxRuleFile = 17 << 20

func readRuleFile(name string) (text []byte, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxRuleFile))
}

// qualifyIDs prefixes ids that occur in several files with their path, as the scanner does. It omits
// rules whose id is still not unique, and merges identical rules.
func (s *Set) qualifyIDs(prefixes []string) {
	files := map[string]map[string]bool{}
	for i, r := range s.Rules {
		if files[r.ID] == nil {
			files[r.ID] = map[string]bool{}
		}
		files[r.ID][s.files[i]] = true
	}
	all := *s
	s.Rules, s.files = nil, nil
	first := map[string]int{}
	for i, r := range all.Rules {
		name, valid := r, true
		if len(files[r.ID]) > 1 && prefixes[i] != "" {
			name, valid = r.Renamed(prefixes[i] + r.ID)
		}
		at, exists := first[name.ID]
		switch {
		case !valid:
			s.leaveOut(all.files[i], "rule %s is in multiple files, and its id with the path prefix is too long", r.ID)
		case !exists:
			first[name.ID] = len(s.Rules)
			s.Rules, s.files = append(s.Rules, name), append(s.files, all.files[i])
		case !bytes.Equal(s.Rules[at].Text, name.Text):
			s.leaveOut(all.files[i], "rule %s is in both %s and %s", name.ID, s.files[at], all.files[i])
		}
	}
}

func (s *Set) leaveOut(file, format string, args ...any) {
	s.Left = append(s.Left, model.FieldError{Location: file, Message: fmt.Sprintf(format, args...)})
}

// withoutBad drops the rules that the scanner rejects. The faults name the user's files.
func (s *Set) withoutBad(bad *badRulesError) {
	remaining := Set{Left: s.Left}
	for i, r := range s.Rules {
		if why, rejected := bad.why[r.ID]; rejected {
			remaining.leaveOut(s.files[i], "the scanner rejects rule %s: %s", r.ID, why)
			continue
		}
		remaining.Rules, remaining.files = append(remaining.Rules, r), append(remaining.files, s.files[i])
	}
	*s = remaining
}

// InFile prefixes each fault with the name of the file.
func InFile(name string, err error) error {
	var invalid *model.InvalidError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &invalid):
		return fmt.Errorf("%s: %w", name, err)
	}
	for i := range invalid.Fields {
		invalid.Fields[i].Location = name + ": " + invalid.Fields[i].Location
	}
	return invalid
}

// ruleFile is a file of rules and the prefix that the scanner adds to its ids: the directories of
// its path.
type ruleFile struct{ name, prefix string }

// ruleFiles returns the named files, and all .yaml and .yml files below named directories. Links
// and hidden directories are skipped.
func ruleFiles(names []string) (files []ruleFile, err error) {
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, ruleFile{name, idPrefix(relativePath(name))})
			continue
		}
		before := len(files)
		err = filepath.WalkDir(name, func(file string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && file != name && entry.Name()[0] == '.':
				return fs.SkipDir
			case entry.Type().IsRegular() && slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(file)):
				files = append(files, ruleFile{file, idPrefix(relativePath(file))})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if len(files) == before {
			return nil, fmt.Errorf("folder %s contains no .yaml or .yml files", name)
		}
	}
	return files, nil
}

// relativePath returns an absolute path relative to the working directory if it is below that.
// Other paths are only cleaned: the scanner does not resolve "..".
func relativePath(name string) string {
	dir, err := os.Getwd()
	if err != nil || !filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	if below, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(below) {
		return below
	}
	return name
}

var noID = regexp.MustCompile(`[^a-zA-Z0-9._-]`)

// idPrefix returns the prefix that the scanner adds to the ids of a file. For both a/b.yml and
// ../a/b.yml it is "a.".
func idPrefix(path string) string {
	folders := filepath.ToSlash(filepath.Dir(path))
	prefix := strings.TrimLeft(strings.ReplaceAll(folders, "/", "."), ".")
	if prefix == "" {
		return ""
	}
	return noID.ReplaceAllString(prefix, "") + "."
}
