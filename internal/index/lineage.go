package index

import (
	"bytes"
	"slices"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/model"
)

// lineage contains the shared values of the rows of one lineage: triage and annotations.
type lineage struct {
	triage    model.TriageState
	reason    model.TriageReason
	triagedAt int64
	verdict   model.Verdict
	band      model.EPSSBand
	score     uint32 // see packScore
	exploited bool
	reach     model.Reachability
	prs       uint8
	tag       string
	assignee  string
	until     int64
	stops     model.ClockPauses
	note      *lineageJSON // nil if it has no content
}

// lineageJSON is the lineage's part of a finding's JSON. Each member ends with a comma.
type lineageJSON struct {
	common []byte // triage_comment, triage_until, assignee, external_ticket, review_comments
	hosted []byte // the same in the hosted dialect
	code   []byte // click_to_fix_prs, click_to_fix_failures, assistant
	supply []byte // epss_score
}

// emptyLineageJSON is the JSON of a lineage without annotations.
var emptyLineageJSON = &lineageJSON{
	common: []byte(`"triage_comment":null,"external_ticket":null,"review_comments":[],`),
	hosted: []byte(`"triage_comment":null,"external_ticket":null,"review_comments":[],`),
	code:   []byte(`"click_to_fix_prs":[],"click_to_fix_failures":[],`),
	supply: []byte(`"epss_score":null,`),
}

// untriagedLineage is shared by all lineages without triage and annotations, which are the
// majority.
var untriagedLineage = &lineage{triage: model.TriageUntriaged, band: model.EPSSNone}

func newLineage(l *model.Lineage) (*lineage, error) {
	a := &l.Annotations
	out := &lineage{
		triage: l.Triage.State, reason: l.Triage.Reason, triagedAt: micros(l.Triage.At),
		assignee: l.Triage.Assignee, until: micros(l.Triage.Until), stops: l.Stops,
		band: model.BandOf(a.EPSS), score: packScore(a.EPSS), exploited: a.Exploited, reach: a.Reachability,
	}
	if out.triage == 0 {
		out.triage = model.TriageUntriaged
	}
	if h := a.Assistant; h != nil && h.Autotriage != nil {
		out.verdict, _ = model.ParseVerdict(h.Autotriage.Verdict)
	}
	if h := a.Assistant; h != nil && h.Component != nil {
		out.tag = h.Component.Tag
	}
	if a.HasPRState("open") {
		out.prs |= prOpen
	}
	if a.HasPRState("merged") {
		out.prs |= prMerged
	}
	var err error
	if out.note, err = newLineageJSON(&l.Triage, a); err == nil && *out == *untriagedLineage {
		return untriagedLineage, nil
	}
	return out, err
}

func newLineageJSON(t *model.Triage, a *model.Annotations) (*lineageJSON, error) {
	assistant := a.Assistant
	if assistant != nil && *assistant == (model.Assistant{}) {
		assistant = nil
	}
	if t.Comment == "" && t.Assignee == "" && t.Until.IsZero() && assistant == nil &&
		a.ExternalTicket == nil && a.EPSS == nil &&
		len(a.ReviewComments)+len(a.ClickToFixPRs)+len(a.ClickToFixFailures) == 0 {
		return nil, nil
	}
	var m members
	m.addTriage(t)
	m.add("external_ticket", ticket(a.ExternalTicket))
	m.add("review_comments", orEmpty(a.ReviewComments))
	common := m.drain()
	m.add("click_to_fix_prs", changeRequests(a.ClickToFixPRs))
	m.add("click_to_fix_failures", failures(a.ClickToFixFailures))
	if assistant != nil {
		m.add("assistant", assistant)
	}
	code := m.drain()
	m.add("epss_score", a.EPSS)
	return &lineageJSON{common: common, hosted: inHosted(common), code: code, supply: m.drain()}, m.err
}

// inHosted returns b with members renamed. It returns b itself if nothing changes, to save memory.
func inHosted(b []byte) []byte {
	if renamed := hostedNames.Replace(string(b)); renamed != string(b) {
		return []byte(renamed)
	}
	return b
}

// addTriage adds the details of a triage decision. Extensions of the contract are omitted if they
// are not set.
func (m *members) addTriage(t *model.Triage) {
	if t.Comment == "" {
		m.add("triage_comment", nil)
	} else {
		m.add("triage_comment", t.Comment)
	}
	if !t.Until.IsZero() {
		m.add("triage_until", model.LastDay(t.Until))
	}
	if t.Assignee != "" {
		m.add("assignee", t.Assignee)
	}
}

// members collects JSON members, each followed by a comma.
type members struct {
	buf []byte
	err error
}

func (m *members) add(name string, value any) {
	if m.err == nil {
		m.buf, m.err = appendMember(m.buf, name, value)
		m.buf = append(m.buf, ',')
	}
}

func (m *members) drain() []byte {
	out := m.buf
	m.buf = nil
	return out
}

// ticket returns a copy in which the list of linked issues is not nil (docs/reference/requests.md).
func ticket(t *model.ExternalTicket) *model.ExternalTicket {
	if t == nil {
		return nil
	}
	out := *t
	out.LinkedIssueIDs = orEmpty(t.LinkedIssueIDs)
	return &out
}

// ticketIn returns the value of external_ticket in lineageJSON.common or hosted. The surrounding
// names cannot occur within JSON strings, where quotes are escaped.
func ticketIn(members []byte) []byte {
	_, value, _ := bytes.Cut(members, []byte(`"external_ticket":`))
	value, _, _ = bytes.Cut(value, []byte(`,"review_comments":`))
	return value
}

// stampedPR is model.ClickToFixPR with the time format of the API.
type stampedPR struct {
	CreatedAt string `json:"created_at"`
	URL       string `json:"url"`
	State     string `json:"state"`
}

func changeRequests(prs []model.ClickToFixPR) []stampedPR {
	out := make([]stampedPR, len(prs))
	for i, pr := range prs {
		out[i] = stampedPR{stamp(pr.CreatedAt), pr.URL, pr.State}
	}
	return out
}

// stampedFailure is model.ClickToFixError with the time format of the API.
type stampedFailure struct {
	CreatedAt string `json:"created_at"`
	Reason    string `json:"reason"`
}

func failures(all []model.ClickToFixError) []stampedFailure {
	out := make([]stampedFailure, len(all))
	for i, f := range all {
		out[i] = stampedFailure{stamp(f.CreatedAt), f.Reason}
	}
	return out
}

func stamp(t time.Time) string { return t.UTC().Format(timeLayout) }

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// inherited contains the dictionary numbers that rows copy from their lineage.
type inherited struct{ tag, assignee, until uint32 }

func (s *state) inheritedOf(l *lineage) inherited {
	return inherited{s.tags.Number(l.tag), s.assignees.Number(l.assignee), s.untils.number(l.until)}
}

// addAssignees adds a filter by assignees. Unassigned findings have no bitmap, so
// model.AssigneeNone selects the complement of all assigned findings.
func (s *state) addAssignees(p *partition, q *query, names []string) {
	if slices.Contains(names, model.AssigneeNone) {
		q.with = append(q.with, s.assignedTo(p, names))
		return
	}
	q.addWords(byAssignee, &s.assignees, names)
}

// assignedTo returns the rows of the given assignees, including model.AssigneeNone.
func (s *state) assignedTo(p *partition, names []string) *roaring.Bitmap {
	out := roaring.FastOr(append(p.bitmaps(byAssignee, s.assignees.Find(names)), emptyBitmap)...)
	if slices.Contains(names, model.AssigneeNone) {
		out.Or(roaring.AndNot(p.listed, roaring.FastOr(append(p.bitmaps(byAssignee, s.assignees.All()), emptyBitmap)...)))
	}
	return out
}

// instants numbers times in microseconds since 1970, starting at 1. 0 means none.
type instants struct {
	numbers map[int64]uint32
	at      []int64 // by number - 1
}

func (x *instants) number(at int64) uint32 {
	if at == 0 {
		return 0
	}
	n, ok := x.numbers[at]
	if !ok {
		if x.numbers == nil {
			x.numbers = map[int64]uint32{}
		}
		x.at = append(x.at, at)
		n = uint32(len(x.at))
		x.numbers[at] = n
	}
	return n
}

// through returns the numbers of all times up to end.
func (x *instants) through(end time.Time) []uint32 {
	var out []uint32
	for i, at := range x.at {
		if !time.UnixMicro(at).After(end) {
			out = append(out, uint32(i+1))
		}
	}
	return out
}

// endHorizons contains the values of FacetEnds in days, where "any" has no limit.
var endHorizons = []struct {
	value string
	days  int
}{{"7", 7}, {"30", 30}, {"any", 0}}

// EndsBy returns the time limit of a FacetEnds value, and whether the value is valid.
func EndsBy(value string, now time.Time) (time.Time, bool) {
	for _, h := range endHorizons {
		switch {
		case h.value != value:
		case h.days == 0:
			return time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), true
		default:
			return now.AddDate(0, 0, h.days), true
		}
	}
	return time.Time{}, false
}

// countByHorizon counts rows by the horizon within which their decision ends.
func (s *state) countByHorizon(p *partition, rows *roaring.Bitmap, now time.Time) map[string]int {
	counts := map[string]int{}
	for _, h := range endHorizons {
		end, _ := EndsBy(h.value, now)
		ending := roaring.FastOr(append(p.bitmaps(byUntil, s.untils.through(end)), emptyBitmap)...)
		if n := ending.AndCardinality(rows); n > 0 {
			counts[h.value] = int(n)
		}
	}
	return counts
}
