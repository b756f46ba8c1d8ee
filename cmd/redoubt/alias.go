package main

import (
	"cmp"
	"slices"
	"strings"
)

// oldNouns and oldVerbs map former command names to the current ones; the keys of oldVerbs are
// current nouns. oldVEX maps the verbs of the former command vex to current commands. A further
// former name is export, now findings export. Former names are accepted but undocumented.
var (
	oldNouns = map[string]string{
		"project":    "projects",
		"scan":       "scans",
		"run":        "runs",
		"connection": "connections",
		"exception":  "exceptions",
		"policy":     "policies",
	}
	oldVerbs = map[string]map[string]string{
		"connections": {"add": "create", "remove": "delete"},
		"exceptions":  {"add": "create", "remove": "delete", "ask": "request"},
		"policies":    {"test": "preview", "set": "update", "remove": "remove-rule", "condition": "conditions"},
		"conditions":  {"add": "create", "remove": "delete"},
	}
	oldVEX = map[string][]string{
		"list": {"exceptions", "list", "--kind", "document"},
		"show": {"exceptions", "show"}, "remove": {"exceptions", "delete"},
		"accept": {"exceptions", "approve"}, "refuse": {"exceptions", "refuse"}, "add": {"exceptions", "import"},
		"export": {"sbom"},
	}
)

// currentWords replaces former names at the beginning of a command line. Flags before the names and
// the leading command man are preserved.
func currentWords(args []string) []string {
	args = slices.Clone(args)
	words := commandWords(args)
	if len(words) > 0 && args[words[0]] == "man" {
		words = words[1:]
	}
	if len(words) == 0 {
		return args
	}
	noun := &args[words[0]]
	if len(words) > 1 {
		switch now, old := oldVEX[args[words[1]]]; {
		case *noun == "exception" && args[words[1]] == "list": // the former command listed only active exceptions
			args = slices.Insert(args, words[1]+1, "--state", "active")
			noun = &args[words[0]]
		case old && *noun == "vex" && words[1] == words[0]+1:
			args = slices.Replace(args, words[0], words[1]+1, now...)
			if now[0] == "sbom" {
				args = vexExport(args)
			}
			return args
		}
	}
	if now, old := oldNouns[*noun]; old {
		*noun = now
	}
	if *noun == "export" {
		return slices.Replace(args, words[0], words[0]+1, "findings", "export")
	}
	if len(words) > 1 {
		verb := &args[words[1]]
		if now, old := oldVerbs[*noun][*verb]; old {
			*verb = now
		}
		if len(words) > 2 && *noun == "policies" { // as policies conditions add: the verb is also a noun
			last := &args[words[2]]
			*last = cmp.Or(oldVerbs[*verb][*last], *last)
		}
	}
	return args
}

// commandWords returns the indexes of the first arguments that are not flags, at most three. The
// only flag with a value before a command is --config.
func commandWords(args []string) (indexes []int) {
	for i := 0; i < len(args) && len(indexes) < 3; i++ {
		switch {
		case args[i] == "--config":
			i++
		case args[i] == "--":
			return indexes
		case !strings.HasPrefix(args[i], "-"):
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// vexExport converts the flags of vex export. Its default format was OpenVEX, --project is now an
// argument, and --output is now --to.
func vexExport(args []string) []string {
	given := false
	for i := 0; i < len(args); i++ {
		switch name, value, joined := strings.Cut(args[i], "="); {
		case name == "--format":
			given = true
		case name == "--project" && joined:
			args[i] = value
		case name == "--project":
			args = slices.Delete(args, i, i+1)
		case name == "--output":
			args[i] = "--to" + strings.TrimPrefix(args[i], name)
		}
	}
	if !given {
		args = append(args, "--format", "openvex")
	}
	return args
}
