package index

import (
	"bytes"
	"strconv"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// encoder writes findings as JSON. It caches the last value of each time member, because findings
// of one commit often have equal times.
type encoder struct {
	created, relevant, stateAt, triagedAt, dueAt lastTime

	today int    // findings due before this day are overdue
	org   string // URL of the deployment's pages, for links in the hosted dialect
}

// finding appends a finding as JSON: its changing members, the body from the scan, then the members
// of its rule (docs/reference/requests.md).
func (e *encoder) finding(b []byte, it *item) []byte {
	r := &it.row
	b = strconv.AppendUint(append(b, `{"id":`...), uint64(r.id), 10)
	b = e.created.append(append(b, `,"created_at":`...), r.created)
	b = e.relevant.append(append(b, `,"relevant_since":`...), r.relevant)
	b = e.stateAt.append(append(b, `,"state_updated_at":`...), r.stateAt)
	b = e.triagedAt.append(append(b, `,"triaged_at":`...), r.triagedAt)
	b = strconv.AppendInt(append(b, `,"first_seen_scan_id":`...), r.scan, 10)
	b = append(b, ',')
	b = append(b, confidences.of(r.confidence)...)
	b = append(b, severities.of(r.severity)...)
	b = append(b, it.ref...)
	b = append(b, it.project.wire...)
	b = append(b, states.of(r.state)...)
	b = append(b, statuses.of(r.status)...)
	b = append(b, triageStates.of(r.triage)...)
	b = append(b, triageReasons.of(r.reason)...)
	b = append(b, it.note.common...)
	b = e.due(b, it)
	switch it.issueType {
	case model.SAST:
		b = append(b, it.source...)
		b = append(b, it.note.code...)
	case model.SCA:
		b = append(b, it.note.supply...)
		b = append(b, reachabilities.of(r.reach)...)
	case model.Secrets:
		b = append(b, it.secret...)
		b = append(b, validations.of(r.validation)...)
		b = append(b, historical.of(r.historical)...)
	}
	b = it.withTicket(b)
	b = append(b, ',')
	b = append(b, it.rule.wire...)
	if !it.rule.open {
		return b
	}
	if message := model.BodyMessage(it.body); message != nil {
		return append(append(b, message...), "}}"...)
	}
	return append(b, `""}}`...)
}

// withTicket appends the body from the scan. For a supply-chain finding, it inserts the lineage's
// ticket into the usage member. The stored body has null there, because it was encoded before the
// ticket existed (docs/reference/requests.md).
func (it *item) withTicket(b []byte) []byte {
	const before = `"usage":{"external_ticket":`
	if it.issueType != model.SCA || it.note == emptyLineageJSON {
		return append(b, it.body...)
	}
	use := bytes.Index(it.body, []byte(before+"null"))
	if use < 0 {
		return append(b, it.body...)
	}
	b = append(b, it.body[:use+len(before)]...)
	b = append(b, ticketIn(it.note.common)...)
	return append(b, it.body[use+len(before+"null"):]...)
}

// due appends the due date, which is the last microsecond of its day in UTC. It appends nothing if
// there is no due date, because the member is an extension of the contract.
func (e *encoder) due(b []byte, it *item) []byte {
	if it.due == 0 {
		return b
	}
	b = e.dueAt.append(append(b, `"due_at":`...), int64(it.due)*dayMicros-1)
	return append(strconv.AppendBool(append(b, `,"overdue":`...), it.due < e.today), ',')
}

// memberTexts contains the JSON member of an enumeration, including the comma, for each value.
type memberTexts []string

func (w memberTexts) of(v uint8) string {
	if int(v) < len(w) {
		return w[v]
	}
	return w[0]
}

// newMemberTexts encodes a member for the values 0 to last.
func newMemberTexts[T interface {
	~uint8
	String() string
}](member string, last T) memberTexts {
	out := make(memberTexts, last+1)
	for v := range out {
		out[v] = `"` + member + `":"` + T(v).String() + `",`
	}
	return out
}

// orNull encodes the member as null for the value 0.
func (w memberTexts) orNull(member string) memberTexts {
	w[0] = `"` + member + `":null,`
	return w
}

var (
	confidences    = newMemberTexts("confidence", model.ConfidenceHigh)
	severities     = newMemberTexts("severity", model.SeverityCritical)
	states         = newMemberTexts("state", model.StateRemoved)
	statuses       = newMemberTexts("status", model.StatusFixing)
	triageStates   = newMemberTexts("triage_state", model.TriageReopened)
	triageReasons  = newMemberTexts("triage_reason", model.NoTriageReason).orNull("triage_reason")
	reachabilities = newMemberTexts("reachability", model.ReachabilityUnknown)
	validations    = newMemberTexts("validation_state", model.ValidationError)
	historical     = memberTexts{flagNo: `"historical":false,`, flagYes: `"historical":true,`}
)

// timeLayout is the time format of the API, in UTC (docs/reference/requests.md).
const timeLayout = "2006-01-02T15:04:05.000000Z"

const dayMicros = 24 * 3600 * 1_000_000

// lastTime caches a time as quoted text. Formatting the date is expensive, so times of the same day
// reuse it.
type lastTime struct {
	at  int64
	day int64 // days since 1970
	set bool
	buf [len(timeLayout) + 2]byte
}

// append appends microseconds since 1970 as a quoted time, or null for 0.
func (l *lastTime) append(b []byte, at int64) []byte {
	switch {
	case at == 0:
		return append(b, "null"...)
	case at < 0 || at >= 2_932_897*dayMicros: // before 1970, after 9999
		return append(b, time.UnixMicro(at).UTC().Format(`"`+timeLayout+`"`)...)
	case !l.set || at != l.at:
		l.write(at)
	}
	return append(b, l.buf[:]...)
}

func (l *lastTime) write(at int64) {
	day, micros := at/dayMicros, at%dayMicros
	if !l.set || day != l.day {
		var scratch [64]byte // AppendFormat needs more space than it appends
		copy(l.buf[:], time.UnixMicro(at).UTC().AppendFormat(scratch[:0], `"`+timeLayout+`"`))
	}
	l.at, l.day, l.set = at, day, true
	seconds := micros / 1_000_000
	digits(l.buf[12:14], seconds/3600)
	digits(l.buf[15:17], seconds/60%60)
	digits(l.buf[18:20], seconds%60)
	digits(l.buf[21:27], micros%1_000_000)
}

// digits writes the decimal digits of v to b, padded with zeros.
func digits(b []byte, v int64) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte('0' + v%10)
		v /= 10
	}
}
