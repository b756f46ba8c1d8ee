package lifetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/redoubt/redoubt"
)

// Sighting is what a report tells of a finding.
type Sighting struct {
	Rule, Path, Code, Pattern, Package, Edges string
	Message                                   string // of a secret none
	Alike                                     string // what it shares with those like it, where nothing of its code is told

	Line, Length int // length is 0 where it is in several lines, or not told
	State        redoubt.State
	Tells        int    // 2 the scanner's own id, 1 the code, 0 neither
	Coverage     string // of its file: all was "", some was "partly"; "missed" where the last that looked did not see it
	ByFull       bool   // a full scan saw it
}

// sightings names what a report sees, by identity, and the identities in the
// order of position.
func sightings(u Upload) (map[string]Sighting, []string) {
	results := slices.Clone(u.Report.Results)
	slices.SortStableFunc(results, func(a, b redoubt.Result) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), a.Location.Line-b.Location.Line, a.Location.Column-b.Location.Column,
			strings.Compare(a.Rule.Name, b.Rule.Name), strings.Compare(a.Message, b.Message), strings.Compare(a.MatchBasedID, b.MatchBasedID))
	})
	seen, order, told := map[string]Sighting{}, []string{}, map[string]string{}
	for _, r := range results {
		id, again := told[unmuted(r)]
		if !again {
			id = nameOf(u, r, order)
			told[unmuted(r)] = id
		}
		before, known := seen[id]
		if !known {
			order = append(order, id)
		}
		if !known || before.State == redoubt.Muted && !r.Muted {
			one := see(r)
			one.Coverage, one.ByFull = covered(u, one), u.Full
			if key, _ := identityOf(u, r); blind(key) {
				one.Alike = key
			}
			seen[id] = one
		}
	}
	return seen, order
}

func unmuted(r redoubt.Result) string {
	r.Muted = false
	return resultText(r)
}

// blind are the kinds of identities of results that tell nothing of their code.
func blind(key string) bool {
	return strings.HasPrefix(key, "redacted ") || strings.HasPrefix(key, "said ")
}

// nameOf is a result's identity: its key and the number among equal ones, the
// scanner's own where code of a formula group has one, else the first free.
func nameOf(u Upload, r redoubt.Result, taken []string) string {
	key, numbered := identityOf(u, r)
	name := func(n int) string {
		if n == 0 {
			return key
		}
		return fmt.Sprint(key, "#", n)
	}
	if strings.HasPrefix(key, "match ") && strings.Contains(key, " code ") && r.CodeNumber > 0 && !slices.Contains(taken, name(r.CodeNumber-1)) {
		return name(r.CodeNumber - 1)
	}
	n := 0
	for numbered && slices.Contains(taken, name(n)) {
		n++
	}
	return name(n)
}

func see(r redoubt.Result) Sighting {
	s := Sighting{Rule: r.Rule.Name, Path: r.Path, Line: r.Location.Line, Length: length(r), State: redoubt.Unresolved, Code: r.Code, Pattern: r.PatternHash}
	if r.Muted {
		s.State = redoubt.Muted
	}
	if r.Secret == nil {
		s.Message = r.Message
	}
	switch {
	case r.Secret != nil:
		s.Code = strings.Trim(fmt.Sprint(r.Secret.Hash[0]), "0")
	case r.CodeHash != "":
		s.Code = "hash " + r.CodeHash
	case r.Dependency != nil:
		s.Code = "package " + r.Dependency.Package
	}
	if r.Dependency != nil {
		s.Package = r.Dependency.Package
	}
	if r.MatchBasedID != "" && r.StartHash != "" && r.EndHash != "" && r.Location.EndLine > r.Location.Line {
		s.Edges = group(r) + " " + r.StartHash + " " + r.EndHash
	}
	switch {
	case r.MatchBasedID != "" && s.Code != "":
		s.Tells = 2
	case s.Code != "" && r.Dependency == nil:
		s.Tells = 1
	}
	return s
}

func length(r redoubt.Result) int {
	if at := r.Location; at.EndLine == at.Line && at.Column > 0 && at.EndColumn > at.Column {
		return at.EndColumn - at.Column
	}
	return 0
}

// identityOf: kinds never mix, so each key starts with its kind. Keys that
// repeat in a report are numbered, but for those whose nature it is to repeat.
func identityOf(u Upload, r redoubt.Result) (key string, numbered bool) {
	tool, _, _ := strings.Cut(sourceOf(u), ":")
	tool = strings.Fields(tool)[0]
	place := fmt.Sprint(r.Rule.Name, " ", r.Path, " ")
	part := "" // what a diff scan tells of without code is of its ref alone
	if !u.Full {
		part = " of a part of " + u.Ref
	}
	part += fmt.Sprint(" long ", length(r))
	switch {
	case r.Secret != nil && r.Secret.Hash != redoubt.Digest{}:
		return fmt.Sprint("secret ", place, r.Secret.Hash), false
	case r.MatchBasedID != "" && r.Dependency == nil && see(r).Code != "":
		return "match " + group(r) + " code " + see(r).Code, true
	case r.MatchBasedID != "":
		return "match " + r.MatchBasedID, true
	case r.Secret != nil:
		return "redacted " + place + part, true
	case r.Dependency != nil:
		return fmt.Sprint("dependency ", r.Rule.Name, " ", r.Dependency.Lockfile, " ", r.Dependency.Package), false
	case r.Fingerprint != "":
		return fmt.Sprint("tool ", tool, " ", place, r.Fingerprint), true
	case r.Code != "":
		return fmt.Sprint("own ", tool, " ", place, r.Code), true
	}
	return fmt.Sprint("said ", tool, " ", place, r.Message, part), true
}

// group is the rule, path and pattern of a match: its id without the ordinal.
func group(r redoubt.Result) string {
	parts := strings.Split(r.MatchBasedID, "_")
	return strings.Join(parts[:len(parts)-1], "_")
}

func resultText(r redoubt.Result) string {
	text := fmt.Sprint(r.Rule.Name, r.Path, r.Location, r.Message, r.MatchBasedID, r.Fingerprint, r.CodeHash, r.PatternHash, r.Code, r.Muted, r.StartHash, r.EndHash)
	if r.Secret != nil {
		text += fmt.Sprint(" secret ", r.Secret.Hash)
	}
	if r.Dependency != nil {
		text += fmt.Sprint(" dependency ", *r.Dependency)
	}
	return text
}
