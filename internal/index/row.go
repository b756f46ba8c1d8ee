package index

import (
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// row is the packed form of a finding. It has no pointers, so the garbage collector does not scan
// it. Times are microseconds since 1970, 0 for none. Numbers refer to dictionaries, with 0 for
// none.
type row struct {
	relevant  int64
	created   int64
	stateAt   int64
	triagedAt int64 // of the lineage
	scan      int64 // first scan that reported the finding

	id      uint32
	lineage uint32
	next    uint32 // 1 + ordinal of the lineage's next older row; 0 ends the chain
	project uint32
	ref     uint32
	rule    uint32
	pkg     uint32
	secret  uint32
	path    uint32
	vuln    uint32 // name of the vulnerability
	says    uint32 // message of the finding, if its rule has none
	tag     uint32 // of the lineage, as are the next two

	assignee, until uint32
	began           uint32 // day on which the due date's clock started; 0 for the day of relevant
	score           uint32 // of the lineage: EPSS, see packScore

	body bodyRef

	state, severity, confidence    uint8
	scanned                        uint8 // reachability as reported by the scanner
	transitivity, validation       uint8
	malicious, proOnly, historical uint8 // flagNo or flagYes
	unrated, fixable               uint8 // flagNo or flagYes
	triage, reason, status         uint8 // of the lineage, as are the fields below
	verdict, prs, band, reach      uint8
	exploited                      uint8 // flagNo or flagYes
	annotated                      uint8 // flagNo or flagYes

	marks
}

// marks of a row are set by partition.elect.
type marks struct {
	representative, representativeRef uint8 // 1 if dedup retains it: across all refs, within its ref
	primary                           uint8 // 1 if it is on its project's primary branch
}

// A flag is never 0, because 0 is not indexed.
const (
	flagNo  uint8 = 1
	flagYes uint8 = 2
)

func yesNo(b bool) uint8 {
	if b {
		return flagYes
	}
	return flagNo
}

// field is a filterable field of a row. Each value has a bitmap, except 0, which means no value.
type field uint8

const (
	byProject field = iota // the first fields are numbers of a dictionary and may have many values
	byRef
	byRule
	byTag
	byPackage
	bySecretType
	byAssignee
	numbered // number of fields above; these have columns

	bySeverity field = iota - 1
	byConfidence
	byStatus
	byReason
	byVerdict
	byPRs // states of its change requests: bit set of prOpen and prMerged
	byReachability
	byTransitivity
	byMalicious
	byUnrated
	byFixable
	byEPSS
	byExploited
	byProOnly
	byHistorical
	byValidation
	byRepresentative
	byRepresentativeRef
	byPrimary
	byUntil     // end of the triage decision
	byClosedDay // day on which it ceased to be open, see closedDay
	byClockDay  // day on which the due date's clock started, if it differs from the day of relevant_since
	fields      // number of fields
)

const (
	prOpen   = 1
	prMerged = 2
)

// value returns the row's value of a field.
func (r *row) value(f field) uint32 {
	switch f {
	case byProject:
		return r.project
	case byRef:
		return r.ref
	case byRule:
		return r.rule
	case byTag:
		return r.tag
	case byPackage:
		return r.pkg
	case bySecretType:
		return r.secret
	case byAssignee:
		return r.assignee
	case byUntil:
		return r.until
	case byClosedDay:
		return r.closedDay()
	case byClockDay:
		return r.began
	}
	return uint32(r.small(f))
}

func (r *row) small(f field) uint8 {
	switch f {
	case bySeverity:
		return r.severity
	case byConfidence:
		return r.confidence
	case byStatus:
		return r.status
	case byReason:
		return r.reason
	case byVerdict:
		return r.verdict
	case byPRs:
		return r.prs
	case byReachability:
		return r.reach
	case byTransitivity:
		return r.transitivity
	case byMalicious:
		return r.malicious
	case byUnrated:
		return r.unrated
	case byFixable:
		return r.fixable
	case byEPSS:
		return r.band
	case byExploited:
		return r.exploited
	case byProOnly:
		return r.proOnly
	case byHistorical:
		return r.historical
	case byValidation:
		return r.validation
	case byRepresentative:
		return r.representative
	case byRepresentativeRef:
		return r.representativeRef
	case byPrimary:
		return r.primary
	}
	return 0
}

// before reports whether the row has a lower ordinal: earlier relevant_since, then lower ID. Lists
// use the reverse order (docs/reference/finding-queries.md).
func (r *row) before(other *row) bool {
	if r.relevant != other.relevant {
		return r.relevant < other.relevant
	}
	return r.id < other.id
}

// inherit copies the values of the lineage. An annotation sets the reachability only if the scanner
// reported none (docs/reference/findings.md).
func (r *row) inherit(l *lineage, m inherited) {
	r.triage, r.reason, r.triagedAt = uint8(l.triage), uint8(l.reason), l.triagedAt
	r.status = uint8(model.StatusOf(model.State(r.state), l.triage))
	r.verdict, r.prs, r.band, r.tag = uint8(l.verdict), l.prs, uint8(l.band), m.tag
	r.assignee, r.until, r.score = m.assignee, m.until, l.score
	r.exploited, r.annotated = yesNo(l.exploited), yesNo(l.note != nil)
	r.startClock(l.stops)
	r.reach = r.scanned
	if r.scanned == uint8(model.ReachabilityUnknown) && l.reach != 0 {
		r.reach = uint8(l.reach)
	}
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
