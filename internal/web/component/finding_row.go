package component

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/version"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// ShownFinding is a finding as the Web API returns it, with additions for pages.
type ShownFinding struct {
	api.Finding
	Exploited bool   `json:"-"` // the vulnerability is in the KEV catalog of known exploited vulnerabilities
	Person    string `json:"-"` // display name of the assignee; empty if unassigned
}

// ShownFindings decodes a page of findings from its API form, so that pages and API agree.
func ShownFindings(p *index.Page) ([]ShownFinding, error) {
	var buf bytes.Buffer
	if _, err := p.WriteTo(&buf); err != nil {
		return nil, err
	}
	var out []ShownFinding
	err := json.Unmarshal(buf.Bytes(), &out)
	for i := range out {
		out[i].Exploited = p.Exploited(i)
	}
	return out, err
}

// Title returns a short title of the finding.
func (f ShownFinding) Title() string {
	switch {
	case f.FoundDependency != nil && f.FoundDependency.Package != "":
		return f.FoundDependency.Package + " " + f.FoundDependency.Version
	case f.SecretType != nil && *f.SecretType != "":
		return *f.SecretType
	}
	return ui.ShortRule(f.RuleName)
}

// Vulnerability returns the identifier of the vulnerability, or an empty string.
func (f ShownFinding) Vulnerability() string {
	if f.VulnerabilityIdentifier == nil {
		return ""
	}
	return *f.VulnerabilityIdentifier
}

// Likely reports whether the EPSS probability of an exploit within 30 days is at least 10%.
func (f ShownFinding) Likely() bool { return f.EPSSScore != nil && f.EPSSScore.Score >= 0.1 }

// Malicious reports whether the package itself is malicious.
func (f ShownFinding) Malicious() bool { return f.IsMalicious != nil && *f.IsMalicious }

// Message returns the first paragraph of the rule's message.
func (f ShownFinding) Message() string {
	text := f.Rule.Message
	if f.RuleMessage != nil {
		text = *f.RuleMessage
	}
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n\n")
	return first
}

// Text returns the complete message of the rule for this match.
func (f ShownFinding) Text() string {
	if f.RuleMessage != nil && *f.RuleMessage != "" {
		return *f.RuleMessage
	}
	return f.Rule.Message
}

// FileLine returns the file and, if known, the line.
func (f ShownFinding) FileLine() string {
	if f.Location.Line > 0 {
		return f.Location.FilePath + ":" + strconv.FormatInt(f.Location.Line, 10)
	}
	return f.Location.FilePath
}

// Suggested returns the change that an assistant proposes, or nil.
func (f ShownFinding) Suggested() *api.Autofix {
	if f.Assistant == nil {
		return nil
	}
	return f.Assistant.Autofix
}

// Decided reports whether a triage decision exists that reopening would undo.
func (f ShownFinding) Decided() bool {
	return f.TriageState != model.TriageUntriaged.String() && f.TriageState != model.TriageReopened.String()
}

// Fixes joins the versions that are no longer vulnerable.
func (f ShownFinding) Fixes() string {
	var out []string
	for _, fix := range f.FixRecommendations {
		if f.FoundDependency != nil && fix.Package == f.FoundDependency.Package {
			out = append(out, fix.Version)
			continue
		}
		out = append(out, fix.Package+" "+fix.Version)
	}
	return strings.Join(out, ", ")
}

// Late reports whether the finding is overdue.
func (f ShownFinding) Late() bool { return f.Overdue != nil && *f.Overdue }

// Since returns the time at which the finding was first seen or reopened.
func (f ShownFinding) Since() time.Time { return f.RelevantSince.Time }

// Reason returns the reason for ignoring the finding, or an empty string.
func (f ShownFinding) Reason() string {
	if f.TriageReason == nil {
		return ""
	}
	return *f.TriageReason
}

// Unrated reports which findings have vulnerabilities without a severity rating. Their severity
// defaults to medium.
func Unrated(req *ui.Request, view *index.View, ids []int64) (map[int64]bool, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	page, err := view.Page(req.HTTP.Context(), model.FindingFilter{
		IssueType:  model.SCA,
		HasIDs:     true,
		IDs:        ids,
		Severities: []model.Severity{model.SeverityMedium},
	}, 0, len(ids))
	if err != nil {
		return nil, err
	}
	shown, err := ShownFindings(page)
	out := map[int64]bool{}
	for _, f := range shown {
		out[f.ID] = f.Unrated
	}
	return out, err
}

// NearestFix returns the lowest safe version above the installed one, or an empty string.
func NearestFix(f ShownFinding) (nearest string) {
	d, order := f.FoundDependency, version.OrderOf(f.FoundDependency.Ecosystem)
	for _, fix := range f.FixRecommendations {
		if fix.Package != d.Package || !order.IsVersion(fix.Version) || order.Compare(fix.Version, d.Version) <= 0 {
			continue
		}
		if nearest == "" || order.Compare(fix.Version, nearest) < 0 {
			nearest = fix.Version
		}
	}
	return nearest
}
