// Package rulefiles reads rules from files.
// It reports invalid rules with the name of their file.
// If a scanner is installed, it parses the rules too.
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

// Set is what was read of files of rules.
type Set struct {
	Rules []policy.Rule
	files []string           // of each rule, as the user names it
	Left  []model.FieldError // what could not be taken, each with its file in front
}

// Read reads the rules of files and folders. What is wrong with any of them
// comes back at once, each fault with the file in front; skip leaves it out.
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
	set.tellApart(prefixes)
	if len(set.Left) > 0 && !skip {
		return nil, &model.InvalidError{Fields: set.Left}
	}
	return set, nil
}

// maxRuleFile bounds how much of a file is read, in bytes: more than the rules
// may have.
const maxRuleFile = 17 << 20

func readRuleFile(name string) (text []byte, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxRuleFile))
}

// tellApart puts the path in front of ids that stand in several files, as the
// scanner does, and leaves out what still has the id of another rule. The same
// rule twice under one id is one.
func (s *Set) tellApart(prefixes []string) {
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
		name, fits := r, true
		if len(files[r.ID]) > 1 && prefixes[i] != "" {
			name, fits = r.Renamed(prefixes[i] + r.ID)
		}
		at, taken := first[name.ID]
		switch {
		case !fits:
			s.leaveOut(all.files[i], "the rule %s is in several files, and with its path in front its id is too long", r.ID)
		case !taken:
			first[name.ID] = len(s.Rules)
			s.Rules, s.files = append(s.Rules, name), append(s.files, all.files[i])
		case !bytes.Equal(s.Rules[at].Text, name.Text):
			s.leaveOut(all.files[i], "the rule %s is in %s and in %s", name.ID, s.files[at], all.files[i])
		}
	}
}

func (s *Set) leaveOut(file, format string, args ...any) {
	s.Left = append(s.Left, model.FieldError{Location: file, Message: fmt.Sprintf(format, args...)})
}

// withoutBad drops the rules that the scanner names. Its complaints name the user's files.
func (s *Set) withoutBad(bad *badRulesError) {
	kept := Set{Left: s.Left}
	for i, r := range s.Rules {
		if why, rejected := bad.why[r.ID]; rejected {
			kept.leaveOut(s.files[i], "the scanner rejects the rule %s: %s", r.ID, why)
			continue
		}
		kept.Rules, kept.files = append(kept.Rules, r), append(kept.files, s.files[i])
	}
	*s = kept
}

// InFile names the file in front of each fault.
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

// ruleFile is a file of rules, with what the scanner puts in front of its ids:
// the folders that lead to it.
type ruleFile struct{ name, prefix string }

// ruleFiles are those that were named, and of a folder what ends in .yaml or
// .yml, at any depth. Links in a folder are left out, and so are hidden folders.
func ruleFiles(names []string) (files []ruleFile, err error) {
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, ruleFile{name, idPrefix(fromHere(name))})
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
				files = append(files, ruleFile{file, idPrefix(fromHere(file))})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if len(files) == before {
			return nil, fmt.Errorf("the folder %s has no .yaml or .yml files", name)
		}
	}
	return files, nil
}

// fromHere is an absolute path as seen from the working folder, where it is below
// that. Any other path is as it is: the scanner does not look where .. leads.
func fromHere(name string) string {
	here, err := os.Getwd()
	if err != nil || !filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	if below, err := filepath.Rel(here, name); err == nil && filepath.IsLocal(below) {
		return below
	}
	return name
}

var noID = regexp.MustCompile(`[^a-zA-Z0-9._-]`)

// idPrefix is what the scanner puts in front of the ids of a file: a/b.yml has a, and
// so has ../a/b.yml.
func idPrefix(path string) string {
	folders := filepath.ToSlash(filepath.Dir(path))
	prefix := strings.TrimLeft(strings.ReplaceAll(folders, "/", "."), ".")
	if prefix == "" {
		return ""
	}
	return noID.ReplaceAllString(prefix, "") + "."
}
