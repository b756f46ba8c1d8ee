package index

import (
	"bytes"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// lineage is what the rows of one lineage share: triage and annotations.
type lineage struct {
	triage    model.TriageState
	reason    model.TriageReason
	triagedAt int64
	verdict   model.Verdict
	band      model.EPSSBand
	score     uint32 // as packScore has it
	exploited bool
	reach     model.Reachability
	prs       uint8
	tag       string
	assignee  string
	until     int64
	stops     model.Stops
	note      *lineageJSON // nil when there is nothing to tell
}

// lineageJSON is the lineage's part of a finding's JSON. Each ends with a comma.
type lineageJSON struct {
	common []byte // triage_comment, triage_until, assignee, external_ticket, review_comments
	hosted []byte // the same in the hosted dialect
	code   []byte // click_to_fix_prs, click_to_fix_failures, assistant
	supply []byte // epss_score
}

// emptyLineageJSON is that of a lineage that nobody annotated.
var emptyLineageJSON = &lineageJSON{
	common: []byte(`"triage_comment":null,"external_ticket":null,"review_comments":[],`),
	hosted: []byte(`"triage_comment":null,"external_ticket":null,"review_comments":[],`),
	code:   []byte(`"click_to_fix_prs":[],"click_to_fix_failures":[],`),
	supply: []byte(`"epss_score":null,`),
}

// untriagedLineage stands for every lineage that nobody triaged or annotated, which
// most are.
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
	if t.Comment == "" && t.Assignee == "" && t.Until.IsZero() && assistant == nil && a.ExternalTicket == nil && a.EPSS == nil &&
		len(a.ReviewComments)+len(a.ClickToFixPRs)+len(a.ClickToFixFailures) == 0 {
		return nil, nil
	}
	var m members
	m.addTriage(t)
	m.add("external_ticket", ticket(a.ExternalTicket))
	m.add("review_comments", orEmpty(a.ReviewComments))
	common := m.take()
	m.add("click_to_fix_prs", changeRequests(a.ClickToFixPRs))
	m.add("click_to_fix_failures", failures(a.ClickToFixFailures))
	if assistant != nil {
		m.add("assistant", assistant)
	}
	code := m.take()
	m.add("epss_score", a.EPSS)
	return &lineageJSON{common: common, hosted: inHosted(common), code: code, supply: m.take()}, m.err
}

// inHosted renames members. What needs none is kept once.
func inHosted(b []byte) []byte {
	if renamed := hostedNames.Replace(string(b)); renamed != string(b) {
		return []byte(renamed)
	}
	return b
}

// addTriage adds what there is of a decision beyond its state: what the contract
// does not have is left out where it is not set.
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

// members gathers JSON members, each with a comma behind it.
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

func (m *members) take() []byte {
	out := m.buf
	m.buf = nil
	return out
}

// ticket gives the list in a ticket, which is never null (semantics §2).
func ticket(t *model.ExternalTicket) *model.ExternalTicket {
	if t == nil {
		return nil
	}
	out := *t
	out.LinkedIssueIDs = orEmpty(t.LinkedIssueIDs)
	return &out
}

// ticketIn returns the value of external_ticket in what lineageJSON has in common or
// hosted. No text can hold the names around it: its quotes are escaped.
func ticketIn(members []byte) []byte {
	_, value, _ := bytes.Cut(members, []byte(`"external_ticket":`))
	value, _, _ = bytes.Cut(value, []byte(`,"review_comments":`))
	return value
}

// stampedPR is model.ClickToFixPR with its time as this API writes times.
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

// stampedFailure is model.ClickToFixError likewise.
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
