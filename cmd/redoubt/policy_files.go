package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/policy"
)

// readRules reads the rules of files and folders. What is wrong with any of them
// comes back at once, each fault with the file in front.
func readRules(names []string) (rules []policy.Rule, err error) {
	files, err := ruleFiles(names)
	if err != nil {
		return nil, err
	}
	var faults redoubt.InvalidError
	from := map[string]string{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		parsed, err := policy.Parse(text)
		var invalid *redoubt.InvalidError
		if err = inFile(name, err); errors.As(err, &invalid) {
			faults.Fields = append(faults.Fields, invalid.Fields...)
		} else if err != nil {
			return nil, err
		}
		for _, r := range parsed {
			if first := from[r.ID]; first != "" {
				faults.Fields = append(faults.Fields, redoubt.FieldError{Location: name, Message: fmt.Sprintf("the rule %s is in %s and in %s", r.ID, first, name)})
				continue
			}
			from[r.ID] = name
		}
		rules = append(rules, parsed...)
	}
	if len(faults.Fields) > 0 {
		return nil, &faults
	}
	return rules, nil
}

// inFile names the file in front of each fault.
func inFile(name string, err error) error {
	var invalid *redoubt.InvalidError
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

// ruleFiles are those that were named, and of a folder what ends in .yaml or
// .yml, at any depth. Links in a folder are left out, and so are hidden folders.
func ruleFiles(names []string) (files []string, err error) {
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, name)
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
				files = append(files, file)
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
