package index

import (
	"bytes"
	"io"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// Hosted is a page in the hosted dialect (docs/reference/response-formats.md).
type Hosted struct {
	page *Page
	org  string // URL of the deployment's pages, without a trailing slash
}

// Hosted returns the page in the format of the hosted service. org is the URL of the deployment's
// pages, which replaces required links to repositories without a known URL.
func (p *Page) Hosted(org string) Hosted { return Hosted{p, org} }

// WriteTo writes the page as a JSON array of findings. See Page.WriteTo.
func (h Hosted) WriteTo(w io.Writer) (int64, error) {
	e := encoder{org: h.org, today: h.page.today}
	return h.page.write(w, e.hosted)
}

// hosted appends a finding in the hosted dialect. It has the content of finding under that
// dialect's names. Links are not empty and texts are not null.
func (e *encoder) hosted(b []byte, it *item) []byte {
	r := &it.row
	b = strconv.AppendUint(append(b, `{"id":`...), uint64(r.id), 10)
	b = e.created.append(append(b, `,"created_at":`...), r.created)
	b = e.relevant.append(append(b, `,"relevant_since":`...), r.relevant)
	b = append(b, `,"state_updated_at":`...)
	if r.stateAt != 0 {
		b = e.stateAt.append(b, r.stateAt)
	} else { // not nullable in this dialect: use the creation time
		b = e.created.append(b, r.created)
	}
	b = e.triagedAt.append(append(b, `,"triaged_at":`...), r.triagedAt)
	b = strconv.AppendInt(append(b, `,"first_seen_scan_id":`...), r.scan, 10)
	b = append(b, ',')
	b = append(b, confidences.of(r.confidence)...)
	b = append(b, severities.of(r.severity)...)
	b = shortRef(b, it.ref)
	b = e.repository(b, it)
	b = append(b, states.of(r.state)...)
	b = append(b, statuses.of(r.status)...)
	b = append(b, triageStates.of(r.triage)...)
	b = append(b, triageReasons.of(r.reason)...)
	b = append(b, it.note.hosted...)
	b = e.due(b, it)
	switch it.issueType {
	case model.SAST:
		if len(it.source) > 0 {
			b = append(b, it.source...)
		} else {
			b = append(b, `"sourcing_policy":null,`...)
		}
		b = append(b, it.note.code...)
	case model.SCA:
		b = append(b, it.note.supply...)
		b = append(b, hostedReachabilities.of(r.reach)...)
	case model.Secrets:
		b = append(b, it.secret...)
		b = append(b, validations.of(r.validation)...)
		b = append(b, historical.of(r.historical)...)
	}
	message := model.BodyMessage(it.body)
	b = e.body(b, it, message)
	b = append(append(b, ','), it.rule.hosted...)
	if !it.rule.open {
		return b
	}
	return append(append(b, orEmptyText(message)...), "}}"...)
}

// shortRef appends the member ref, with the prefix of a branch removed.
func shortRef(b []byte, member string) []byte {
	const full, short = `"ref":"refs/heads/`, `"ref":"`
	if len(member) < len(full) || member[:len(full)] != full {
		return append(b, member...)
	}
	return append(append(b, short...), member[len(full):]...)
}

// repository appends the member repository. If its URL is unknown, it uses the project's page.
func (e *encoder) repository(b []byte, it *item) []byte {
	wire := it.project.wire
	if !it.project.bare {
		return append(b, wire...)
	}
	b = append(b, wire[:len(wire)-len(noAddress)]...)
	b = append(append(b, `"url":"`...), e.org...)
	b = strconv.AppendInt(append(b, "/projects/"...), it.project.scoped.ID, 10)
	return append(b, `"},`...)
}

// noAddress is the end of a repository member without a URL.
const noAddress = `"url":""},`

// link appends the URL of the finding's page as a JSON string.
func (e *encoder) link(b []byte, it *item) []byte {
	b = append(append(append(b, '"'), e.org...), "/findings/"...)
	return append(strconv.AppendUint(b, uint64(it.row.id), 10), '"')
}

// body appends the body from the scan with the location and the usage renamed. It relies on the
// order in which model.Body writes members, and copies unchanged parts as they are.
func (e *encoder) body(b []byte, it *item, message []byte) []byte {
	const name, column = `"rule_message":`, `,"location":{"column":`
	rest, same := it.body, len(name)+len(message) // same is the number of bytes to copy unchanged
	if message == nil {
		var ok bool
		if rest, ok = bytes.CutPrefix(it.body, []byte(name)); !ok {
			return append(b, it.body...)
		}
		b = append(append(b, name...), orEmptyText(it.rule.template)...)
		rest, same = bytes.TrimPrefix(rest, []byte("null")), 0
	}
	if tail := rest[same:]; len(tail) >= len(column) && string(tail[:len(column)]) == column {
		same += len(column)
		same += len(jsonNumber(rest[same:]))
		b, rest = append(b, rest[:same]...), rest[same:]
		b, rest = renamedEnd(b, rest)
	}
	at := linkAfter(rest)
	if at > 0 && at+1 < len(rest) && rest[at+1] == '"' {
		b = e.link(append(b, rest[:at]...), it)
		rest, at = rest[at+len(`""`):], 0
	}
	if it.issueType != model.SCA {
		return append(b, rest...)
	}
	use := bytes.Index(rest, []byte(`,"usage":{`))
	if use < 0 {
		return append(b, rest...)
	}
	var known []byte
	if at > 0 {
		known = jsonText(rest[at:])
	}
	b = append(b, rest[:use]...)
	return e.usage(b, it, known, rest[use+len(`,"usage":{`):])
}

// linkAfter returns the start of the link's value, given the rest of a location after the name of
// the path. It returns 0 if the rest has another form.
func linkAfter(rest []byte) int {
	const line, link = `,"line":`, `},"line_of_code_url":`
	if len(rest) == 0 || rest[0] != '"' {
		return 0
	}
	at := len(jsonText(rest))
	if tail := rest[at:]; len(tail) < len(line) || string(tail[:len(line)]) != line {
		return 0
	}
	at += len(line)
	at += len(jsonNumber(rest[at:]))
	if tail := rest[at:]; len(tail) < len(link) || string(tail[:len(link)]) != link {
		return 0
	}
	return at + len(link)
}

// renamedEnd appends the part of a location from its column to the value of its path, and returns
// the rest. Names are compared as constants, which the compiler optimizes: this code runs for every
// finding.
func renamedEnd(b, rest []byte) (out, left []byte) {
	const endColumn, endLine, filePath = `,"endColumn":`, `,"endLine":`, `,"filePath":`
	if len(rest) < len(endColumn) || string(rest[:len(endColumn)]) != endColumn {
		return b, rest
	}
	rest = rest[len(endColumn):]
	n := len(jsonNumber(rest))
	b, rest = append(append(b, `,"end_column":`...), rest[:n]...), rest[n:]
	if len(rest) < len(endLine) || string(rest[:len(endLine)]) != endLine {
		return b, rest
	}
	rest = rest[len(endLine):]
	n = len(jsonNumber(rest))
	b, rest = append(append(b, `,"end_line":`...), rest[:n]...), rest[n:]
	if len(rest) < len(filePath) || string(rest[:len(filePath)]) != filePath {
		return b, rest
	}
	return append(b, `,"file_path":`...), rest[len(filePath):]
}

// usage appends the member usage and the following bytes. Its location has a link, and both
// spellings that clients read.
func (e *encoder) usage(b []byte, it *item, known, rest []byte) []byte {
	_, at, ok := bytes.Cut(rest, []byte(`"location":`))
	member := func(name string, value func([]byte) []byte) (v []byte) {
		var is bool
		if at, is = bytes.CutPrefix(at, []byte(name)); is {
			v = value(at)
			at = at[len(v):]
		}
		ok = ok && is
		return v
	}
	column := member(`{"column":`, jsonNumber)
	endColumn, endLine := member(`,"endColumn":`, jsonNumber), member(`,"endLine":`, jsonNumber)
	path, line := member(`,"filePath":`, jsonText), member(`,"line":`, jsonNumber)
	b = append(b, `,"usage":{`...)
	if !ok {
		return append(b, rest...)
	}
	b = append(append(b, `"external_ticket":`...), ticketIn(it.note.hosted)...)
	b = append(b, `,"location":{"file_path":`...)
	b = append(append(append(b, path...), `,"path":`...), path...)
	b = append(append(append(b, `,"line":`...), line...), `,"start_line":`...)
	b = append(append(append(b, line...), `,"column":`...), column...)
	b = append(append(append(b, `,"start_col":`...), column...), `,"end_line":`...)
	b = append(append(append(b, endLine...), `,"end_column":`...), endColumn...)
	b = append(append(append(b, `,"end_col":`...), endColumn...), `,"url":`...)
	if known == nil {
		b = e.link(b, it)
	}
	return append(append(b, known...), at...)
}

// jsonNumber returns the integer at the start of b, if any.
func jsonNumber(b []byte) []byte {
	end := 0
	for end < len(b) && (b[end] >= '0' && b[end] <= '9' || b[end] == '-') {
		end++
	}
	return b[:end]
}

// jsonText returns the JSON string at the start of b, including its quotes.
func jsonText(b []byte) []byte {
	for at := 1; ; at++ {
		quote := bytes.IndexByte(b[min(at, len(b)):], '"')
		if quote < 0 {
			return b
		}
		at += quote
		escapes := 0
		for at-1-escapes > 0 && b[at-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return b[:at+1]
		}
	}
}

func orEmptyText(text []byte) []byte {
	if text == nil {
		return []byte(`""`)
	}
	return text
}

// hostedNames renames members for the hosted dialect. It cannot match within JSON strings, where
// quotes are escaped.
var hostedNames = strings.NewReplacer(
	`"cweNames":`, `"cwe_names":`, `"owaspNames":`, `"owasp_names":`,
	`"vulnerabilityClasses":`, `"vulnerability_classes":`,
	`"externalSlug":`, `"external_slug":`, `"linkedIssueIds":`, `"linked_issue_ids":`,
	`"externalDiscussionId":`, `"external_discussion_id":`, `"externalNoteId":`, `"external_note_id":`,
)

// hostedReachabilities contains the values of the hosted dialect.
var hostedReachabilities = hostedReachability()

func hostedReachability() memberTexts {
	out := newMemberTexts("reachability", model.ReachabilityUnknown)
	for v, text := range out {
		text = strings.ReplaceAll(text, "_", " ")
		out[v] = strings.ReplaceAll(text, `:"unknown"`, `:"no reachability analysis"`)
	}
	return out
}
