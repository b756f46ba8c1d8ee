package ingest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/weblink"
)

// Check normalizes the upload and reports all its invalid fields at once.
func (u *Upload) Check(now time.Time) error {
	var bad model.InvalidError
	fault := func(location, format string, args ...any) {
		bad.Fields = append(bad.Fields, model.FieldError{Location: location, Message: fmt.Sprintf(format, args...)})
	}
	if u.Report == nil {
		fault("report", "is missing")
		return &bad
	}
	if err := model.CheckProjectName(u.Project.Name); err != nil {
		fault("project", "%v", err)
	}
	if err := model.CheckProjectURL(u.Project.URL); err != nil {
		fault("url", "%v", err)
	}
	tags, err := model.NormalTags(u.Project.Tags)
	if err != nil {
		fault("tags", "%v", err)
	}
	u.Project.Tags = tags
	u.Project.URL = weblink.URL(u.Project.URL)
	u.Ref = model.FullRef(u.Ref)
	u.Commit = cmp.Or(u.Commit, u.Report.Commit)
	u.Category = cmp.Or(u.Category, u.Report.Category)
	u.At = u.At.UTC().Truncate(time.Microsecond)
	for _, name := range []struct{ location, value string }{
		{"ref", u.Ref},
		{"commit", u.Commit},
		{"category", u.Category},
		{"tool", u.Report.Tool},
		{"image", u.Report.Image},
	} {
		if err := model.CheckRef(name.value); err != nil {
			fault(name.location, "%v", err)
		}
	}
	if model.CanonicalTool(u.Report.Tool) == "" {
		fault("tool", "the report does not name the tool that created it")
	}
	if u.DeclaredFull && !u.Full {
		fault("full", "a diff scan cannot be declared full: remove one of the two")
	}
	if u.At.After(now) {
		fault("at", "is in the future (it is %s here)", now.UTC().Format(time.RFC3339))
	}
	if len(bad.Fields) > 0 {
		return &bad
	}
	return nil
}

// source returns the tool, category and image. A scan closes only findings of its own source
// (docs/explanation/identity.md).
func (u *Upload) source() string {
	parts := []string{model.CanonicalTool(u.Report.Tool), u.Category, u.Report.Image}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ":")
}

// scan returns the row that records the upload. If the start is in the future, because of a wrong
// clock, the scan starts now. Otherwise all later scans would be late.
func (u *Upload) scan(projectID int64, now time.Time, sightings []Sighting) model.Scan {
	r := u.Report
	started, known := u.At, true
	if started.IsZero() {
		started = r.StartedAt.UTC().Truncate(time.Microsecond)
	}
	if r.StartedAt.IsZero() && u.At.IsZero() || started.After(now) {
		started, known = now, false
	}
	scan := model.Scan{
		ProjectID: projectID, Ref: u.Ref, Commit: u.Commit, Source: u.source(), Full: u.Full,
		StartedAt: started, CompletedAt: now, TotalTime: r.TotalTime,
		Products: products(r, sightings), Status: model.ScanCompleted, Counts: countSightings(sightings),
	}
	scan.Muted = len(sightings) - scan.Counts.Total()
	if end := started.Add(r.TotalTime); known && r.TotalTime >= 0 && end.Before(now) &&
		(r.TotalTime > 0 || !u.At.IsZero()) {
		scan.CompletedAt = end
	}
	if r.TotalTime <= 0 {
		scan.TotalTime = -1
	}
	scan.ExitCode, scan.Unread = u.ExitCode, u.Unread
	if u.Begun != nil {
		scan.ID, scan.StartedAt, scan.CompletedAt = u.Begun.ID, u.Begun.StartedAt, now
	}
	if r.Failed {
		scan.Status, scan.ExitCode, scan.Error = model.ScanError, max(2,
			u.ExitCode), "the report states that the scanner's run failed"
	}
	return scan
}

// products returns the products of the rules that ran (docs/reference/scans.md). They are those of
// the report, or else those of its rules and inventories. Products of results are always included.
func products(r *model.Report, sightings []Sighting) model.Products {
	p := r.Products
	if p == 0 {
		for _, rule := range r.Rules {
			if rule.IssueType != 0 {
				p = p.With(rule.IssueType)
			}
		}
		if len(r.Inventories) > 0 {
			p = p.With(model.SCA)
		}
	}
	for i := range sightings {
		p = p.With(sightings[i].Finding.IssueType)
	}
	return p
}

// invalidItems returns the error that rejects an upload for its refused items.
func invalidItems(refused model.Refusals) error {
	bad := &model.InvalidError{}
	for _, r := range refused.Refused {
		bad.Fields = append(bad.Fields, model.FieldError{Location: r.Item, Message: r.Reason})
	}
	if refused.MoreRefused > 0 {
		bad.Fields = append(bad.Fields, model.FieldError{
			Location: "report",
			Message:  fmt.Sprintf("%d more of its items are invalid", refused.MoreRefused),
		})
	}
	return bad
}
