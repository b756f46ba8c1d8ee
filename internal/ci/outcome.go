package ci

import (
	"fmt"
	"strings"
)

// Outcome is what a run came to. It is the document of `redoubt ci --json`:
// members are added to it, and keep their meaning, while Version is 1.
type Outcome struct {
	Version     int          `json:"version"` // 1
	System      string       `json:"ci"`      // as github-actions, git
	Deployment  string       `json:"deployment"`
	Project     string       `json:"project"`
	Ref         string       `json:"ref"` // in full
	Commit      string       `json:"commit"`
	PullRequest string       `json:"pull_request"` // empty for none
	URL         string       `json:"url"`          // the project's findings, for people
	Blocked     bool         `json:"blocked"`      // by the policies
	Reason      string       `json:"reason"`       // why; empty where nothing blocks
	Unblock     []string     `json:"unblock"`      // pages about what blocks, one of each scan that it does
	Trouble     []string     `json:"trouble"`      // what could not be done
	Unread      []UnreadFile `json:"unread"`       // lockfiles that could not be read, each a trouble too
	ExitCode    int          `json:"exit_code"`    // 0, 1 or 2
	New         []Finding    `json:"new"`          // that were not there, or are back
	Fixed       []Finding    `json:"fixed"`
	Blocking    []Finding    `json:"blocking"`
	Noted       []Finding    `json:"noted"`   // that conditions hold for which fail no build
	Sources     []Source     `json:"sources"` // what was handed in
	Code        int          `json:"code"`    // findings that code was sent of
}

// UnreadFile is a lockfile of which nothing could be taken, so that what was known
// of it stays.
type UnreadFile struct {
	Name   string `json:"name"` // its path in the repository
	Reason string `json:"reason"`
}

// Finding is one that a run brought, ended or was stopped by.
type Finding struct {
	ID     int64  `json:"id"`
	URL    string `json:"url"` // its page
	Source string `json:"source"`
	Rule   string `json:"rule"`
	Path   string `json:"path"`
	Line   int    `json:"line"`   // 0 when not known
	Change string `json:"change"` // new, returned, closed, …, unchanged
	// Of what a condition of a policy holds for: the condition, its mode, and the
	// dependency with its fix, for people.
	Condition string `json:"condition,omitempty"`
	Mode      string `json:"mode,omitempty"`
	Text      string `json:"text,omitempty"`
}

// commentFindings are the findings that conditions in mode comment hold for, which
// people are shown.
func (o *Outcome) commentFindings() (list []Finding) {
	for _, f := range o.Noted {
		if f.Mode == "comment" {
			list = append(list, f)
		}
	}
	return list
}

// Source is what one tool had to say.
type Source struct {
	Name      string   `json:"name"`
	ScanID    string   `json:"scan_id"`
	Outcome   string   `json:"outcome"` // applied, repeat, late, superseded
	New       int      `json:"new"`
	Fixed     int      `json:"fixed"`
	Unchanged int      `json:"unchanged"`
	Lockfiles int      `json:"lockfiles"`
	Added     int      `json:"dependencies_added"`
	Removed   int      `json:"dependencies_removed"` // those of lockfiles that are gone too
	Dropped   []string `json:"lockfiles_dropped"`
	Refused   []string `json:"refused"` // items that could not be taken, and why
	// MoreRefused counts those beyond the ones that are listed.
	MoreRefused int `json:"more_refused,omitempty"`
}

// place is where a finding is, for people.
func (f Finding) place() string {
	if f.Line == 0 {
		return f.Path
	}
	return fmt.Sprintf("%s:%d", f.Path, f.Line)
}

// maxShown bounds how many findings of a kind are shown to people.
const maxShown = 50

// Text tells people what a run came to. Names from reports go in on one line,
// without what a terminal would obey.
func (o *Outcome) Text() string {
	var b strings.Builder
	for _, s := range o.Sources {
		fmt.Fprintf(&b, "%s: %d new, %d fixed, %d unchanged", singleLine(s.Name), s.New, s.Fixed, s.Unchanged)
		if s.Lockfiles > 0 || s.Removed > 0 { // the last one may be gone
			fmt.Fprintf(&b, "; %d lockfiles, %d dependencies added, %d removed", s.Lockfiles, s.Added, s.Removed)
		}
		switch s.Outcome {
		case "", "applied":
		case "late":
			b.WriteString(" (late: a scan of this branch that started later counts already; this one is recorded and " +
				"changes no finding)")
		case "superseded":
			b.WriteString(" (superseded: the branch had this commit before and others since; this scan is recorded and " +
				"changes no finding)")
		default:
			fmt.Fprintf(&b, " (%s)", singleLine(s.Outcome))
		}
		b.WriteByte('\n')
		for _, path := range s.Dropped {
			fmt.Fprintf(&b, "  gone: %s\n", singleLine(path))
		}
		for _, why := range s.Refused {
			fmt.Fprintf(&b, "  refused %s\n", singleLine(why))
		}
		if s.MoreRefused > 0 {
			fmt.Fprintf(&b, "  refused %d more\n", s.MoreRefused)
		}
	}
	for _, list := range []struct {
		title string
		of    []Finding
	}{{"New", o.New}, {"Fixed", o.Fixed}, {"To look at", o.commentFindings()}, {"Blocking", o.Blocking}} {
		if len(list.of) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s: %d\n", list.title, len(list.of))
		for _, f := range list.of[:min(len(list.of), maxShown)] {
			fmt.Fprintf(&b, "  %s  %s\n    %s\n", singleLine(f.place()), singleLine(f.Rule), f.URL)
			if f.Text != "" {
				fmt.Fprintf(&b, "    %s\n", singleLine(f.Text))
			}
		}
		if more := len(list.of) - maxShown; more > 0 {
			fmt.Fprintf(&b, "  and %d more\n", more)
		}
	}
	if o.Code > 0 {
		fmt.Fprintf(&b, "\nSent the code around %d findings, without what looks like a secret (--no-code sends none).\n",
			o.Code)
	}
	if o.Reason != "" {
		fmt.Fprintf(&b, "\n%s\n", singleLine(o.Reason))
	}
	for _, page := range o.Unblock {
		fmt.Fprintf(&b, "What blocks, and what to do: %s\n", page)
	}
	fmt.Fprintf(&b, "\nAll findings: %s\n", o.URL)
	return b.String()
}

// singleLine is text on one line, free of what a terminal or a CI log would obey.
func singleLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r >= '\u202a' && r <= '\u202e' ||
			r >= '\u2066' && r <= '\u2069' {
			return ' '
		}
		return r
	}, strings.ReplaceAll(s, "::", ": :"))
}
