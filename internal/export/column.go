package export

import (
	"strings"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// column is a column of a table. Its function returns a finding's value: a string, int64, float64,
// bool or time.Time, or nil for an empty cell.
type column struct {
	name  string
	width int // in characters, for formats with column widths
	of    func(*finding) any
}

// columns contains the columns of CSV and XLSX in order. Clients may use positions, so new columns
// must be appended.
var columns = []column{
	{"id", 10, func(f *finding) any { return f.ID }},
	{"issue_type", 10, func(f *finding) any { return f.issueType.String() }},
	{"project", 28, func(f *finding) any { return f.Repository.Name }},
	{"ref", 20, func(f *finding) any { return f.Ref }},
	{"severity", 10, func(f *finding) any { return f.severity() }},
	{"confidence", 10, func(f *finding) any { return f.Confidence }},
	{"status", 10, func(f *finding) any { return f.Status }},
	{"rule", 48, func(f *finding) any { return f.RuleName }},
	{"message", 60, func(f *finding) any { return f.message() }},
	{"path", 40, func(f *finding) any { return f.Location.FilePath }},
	{"line", 7, func(f *finding) any { return known(f.Location.Line) }},
	{"column", 7, func(f *finding) any { return known(f.Location.Column) }},
	{"end_line", 8, func(f *finding) any { return known(f.Location.EndLine) }},
	{"end_column", 10, func(f *finding) any { return known(f.Location.EndColumn) }},
	{"line_of_code_url", 40, func(f *finding) any { return f.LineOfCodeURL }},
	{"categories", 14, func(f *finding) any { return joined(f.Categories) }},
	{"cwe", 32, func(f *finding) any { return joined(f.Rule.CWENames) }},
	{"owasp", 32, func(f *finding) any { return joined(f.Rule.OWASPNames) }},
	{"state", 10, func(f *finding) any { return f.State }},
	{"triage_state", 12, func(f *finding) any { return f.TriageState }},
	{"triage_reason", 16, func(f *finding) any { return text(f.TriageReason) }},
	{"triage_comment", 40, func(f *finding) any { return text(f.TriageComment) }},
	{"triage_until", 12, func(f *finding) any { return f.TriageUntil }},
	{"assignee", 14, func(f *finding) any { return f.Assignee }},
	{"ticket_url", 32, func(f *finding) any { return f.ticket() }},
	{"created_at", 20, func(f *finding) any { return f.CreatedAt.Time }},
	{"relevant_since", 20, func(f *finding) any { return f.RelevantSince.Time }},
	{"state_updated_at", 20, func(f *finding) any { return moment(f.StateUpdatedAt) }},
	{"triaged_at", 20, func(f *finding) any { return moment(f.TriagedAt) }},
	{"first_seen_scan_id", 10, func(f *finding) any { return f.FirstSeenScanID }},
	{"match_based_id", 32, func(f *finding) any { return f.MatchBasedID }},
	{"vulnerability", 18, func(f *finding) any { return text(f.VulnerabilityIdentifier) }},
	{"ecosystem", 10, func(f *finding) any { return f.dependency().Ecosystem }},
	{"package", 28, func(f *finding) any { return f.dependency().Package }},
	{"version", 12, func(f *finding) any { return f.dependency().Version }},
	{"fixed_in", 20, func(f *finding) any { return f.fixes() }},
	{"transitivity", 12, func(f *finding) any { return f.dependency().Transitivity }},
	{"reachability", 16, func(f *finding) any { return f.Reachability }},
	{"malicious", 10, func(f *finding) any { return truth(f.IsMalicious) }},
	{"epss_score", 10, func(f *finding) any { return f.epss(func(e api.EPSSScore) float64 { return e.Score }) }},
	{"epss_percentile", 10, func(f *finding) any { return f.epss(func(e api.EPSSScore) float64 { return e.Percentile }) }},
	{"secret_type", 18, func(f *finding) any { return text(f.SecretType) }},
	{"validation_state", 18, func(f *finding) any { return f.ValidationState }},
	{"historical", 10, func(f *finding) any { return truth(f.Historical) }},
	{"repository_url", 40, func(f *finding) any { return f.Repository.URL }},
	{"due_at", 20, func(f *finding) any { return moment(f.DueAt) }},
	{"overdue", 10, func(f *finding) any { return truth(f.Overdue) }},
}

// severity returns the severity for display. An unrated vulnerability counts as medium but is not
// displayed as such.
func (f *finding) severity() string {
	if f.Unrated {
		return model.NotRated
	}
	return f.Severity
}

// message returns the message of the match, or that of its rule.
func (f *finding) message() string {
	if f.RuleMessage != nil && *f.RuleMessage != "" {
		return *f.RuleMessage
	}
	return f.Rule.Message
}

func (f *finding) dependency() api.FoundDependency {
	if f.FoundDependency == nil {
		return api.FoundDependency{}
	}
	return *f.FoundDependency
}

// fixes returns the versions with a fix, with the package name if it differs.
func (f *finding) fixes() any {
	all := make([]string, len(f.FixRecommendations))
	for i, fix := range f.FixRecommendations {
		if all[i] = fix.Version; fix.Package != f.dependency().Package {
			all[i] = fix.Package + " " + fix.Version
		}
	}
	return joined(all)
}

func (f *finding) epss(of func(api.EPSSScore) float64) any {
	if f.EPSSScore == nil {
		return nil
	}
	return of(*f.EPSSScore)
}

func (f *finding) ticket() any {
	if f.ExternalTicket == nil {
		return nil
	}
	return f.ExternalTicket.URL
}

func joined(all []string) any { return strings.Join(all, "; ") }

// known returns a line or column number, or nil for 0.
func known(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

func text(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

func truth(b *bool) any {
	if b == nil {
		return nil
	}
	return *b
}

func moment(t *api.Time) any {
	if t == nil {
		return nil
	}
	return t.Time
}

// timeFormat is the time format of the web API.
const timeFormat = time.RFC3339Nano
