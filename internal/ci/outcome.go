package ci

import (
	"fmt"
	"strings"
)

// Outcome is the result of a CI run and the document of `redoubt ci --json`. While Version is 1,
// members are only added and retain their meaning.
type Outcome struct {
	Version     int          `json:"version"` // 1
	System      string       `json:"ci"`      // as github-actions, git
	Deployment  string       `json:"deployment"`
	Project     string       `json:"project"`
	Ref         string       `json:"ref"` // full ref
	Commit      string       `json:"commit"`
	PullRequest string       `json:"pull_request"` // empty: none
	URL         string       `json:"url"`          // page of the project's findings
	Blocked     bool         `json:"blocked"`      // by the policies
	Reason      string       `json:"reason"`       // empty unless blocked
	Unblock     []string     `json:"unblock"`      // pages about blocking findings, one for each blocked scan
	Trouble     []string     `json:"trouble"`      // errors
	Unread      []UnreadFile `json:"unread"`       // lockfiles that could not be read, each also an error
	ExitCode    int          `json:"exit_code"`    // 0, 1 or 2
	New         []Finding    `json:"new"`          // new or returned
	Fixed       []Finding    `json:"fixed"`
	Blocking    []Finding    `json:"blocking"`
	Noted       []Finding    `json:"noted"`   // matched by conditions that block no build
	Sources     []Source     `json:"sources"` // uploads
	Code        int          `json:"code"`    // findings with uploaded code
}

// UnreadFile is a lockfile that could not be read. Its known dependencies are unchanged.
type UnreadFile struct {
	Name   string `json:"name"` // path in the repository
	Reason string `json:"reason"`
}

// Finding is a finding that a run added, ended or was blocked by.
type Finding struct {
	ID     int64  `json:"id"`
	URL    string `json:"url"` // page of the finding
	Source string `json:"source"`
	Rule   string `json:"rule"`
	Path   string `json:"path"`
	Line   int    `json:"line"`   // 0 if unknown
	Change string `json:"change"` // new, returned, closed, …, unchanged
	// If a condition of a policy matches: the condition, its mode, and a text with the dependency
	// and its fix.
	Condition string `json:"condition,omitempty"`
	Mode      string `json:"mode,omitempty"`
	Text      string `json:"text,omitempty"`
}

// commentFindings returns the findings that conditions in mode comment match.
func (o *Outcome) commentFindings() (list []Finding) {
	for _, f := range o.Noted {
		if f.Mode == "comment" {
			list = append(list, f)
		}
	}
	return list
}

// Source is the result of one tool.
type Source struct {
	Name      string   `json:"name"`
	ScanID    string   `json:"scan_id"`
	Outcome   string   `json:"outcome"` // applied, repeat, late, superseded
	New       int      `json:"new"`
	Fixed     int      `json:"fixed"`
	Unchanged int      `json:"unchanged"`
	Lockfiles int      `json:"lockfiles"`
	Added     int      `json:"dependencies_added"`
	Removed   int      `json:"dependencies_removed"` // including those of removed lockfiles
	Dropped   []string `json:"lockfiles_dropped"`
	Refused   []string `json:"refused"` // rejected items, with reasons
	// MoreRefused counts rejected items beyond those listed.
	MoreRefused int `json:"more_refused,omitempty"`
}

// location formats the path and line of a finding.
func (f Finding) location() string {
	if f.Line == 0 {
		return f.Path
	}
	return fmt.Sprintf("%s:%d", f.Path, f.Line)
}

// maxShown is the maximum number of findings of a kind that texts show.
const maxShown = 50

// Text returns the result as text for a terminal. Names from reports are written on one line,
// without control characters.
func (o *Outcome) Text() string {
	var b strings.Builder
	for _, s := range o.Sources {
		fmt.Fprintf(&b, "%s: %d new, %d fixed, %d unchanged", singleLine(s.Name), s.New, s.Fixed, s.Unchanged)
		if s.Lockfiles > 0 || s.Removed > 0 { // the last lockfile may have been removed
			fmt.Fprintf(&b, "; %d lockfiles, %d dependencies added, %d removed", s.Lockfiles, s.Added, s.Removed)
		}
		switch s.Outcome {
		case "", "applied":
		case "late":
			b.WriteString(" (late: a later scan of this branch was already applied; this scan is recorded and " +
				"changes no finding)")
		case "superseded":
			b.WriteString(" (superseded: newer commits of this branch were scanned; this scan is recorded and " +
				"changes no finding)")
		default:
			fmt.Fprintf(&b, " (%s)", singleLine(s.Outcome))
		}
		b.WriteByte('\n')
		for _, path := range s.Dropped {
			fmt.Fprintf(&b, "  removed: %s\n", singleLine(path))
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
	}{{"New", o.New}, {"Fixed", o.Fixed}, {"Review", o.commentFindings()}, {"Blocking", o.Blocking}} {
		if len(list.of) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s: %d\n", list.title, len(list.of))
		for _, f := range list.of[:min(len(list.of), maxShown)] {
			fmt.Fprintf(&b, "  %s  %s\n    %s\n", singleLine(f.location()), singleLine(f.Rule), f.URL)
			if f.Text != "" {
				fmt.Fprintf(&b, "    %s\n", singleLine(f.Text))
			}
		}
		if more := len(list.of) - maxShown; more > 0 {
			fmt.Fprintf(&b, "  and %d more\n", more)
		}
	}
	if o.Code > 0 {
		fmt.Fprintf(&b, "\nSent the code of %d findings with secrets redacted (--no-code sends none).\n",
			o.Code)
	}
	if o.Reason != "" {
		fmt.Fprintf(&b, "\n%s\n", singleLine(o.Reason))
	}
	for _, page := range o.Unblock {
		fmt.Fprintf(&b, "View blocking findings: %s\n", page)
	}
	fmt.Fprintf(&b, "\nAll findings: %s\n", o.URL)
	return b.String()
}

// singleLine returns text on one line, without characters that control a terminal or a CI log.
func singleLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r >= '\u202a' && r <= '\u202e' ||
			r >= '\u2066' && r <= '\u2069' {
			return ' '
		}
		return r
	}, strings.ReplaceAll(s, "::", ": :"))
}
