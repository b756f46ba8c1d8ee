package report

import (
	"encoding/json"
	"unicode/utf8"
)

// parse reads a result, where it is as the tool writes them.
func (s *semgrep) parse(c *cursor) {
	s.quick = semgrepResult{}
	s.quick.quickResult(c)
}

// quickResult reads a result as the decoder would, or has the cursor stop. Its raw
// members are parts of the cursor's text.
func (m *semgrepResult) quickResult(c *cursor) {
	var seen uint32
	if !c.open('{') {
		c.odd = !c.short
	}
	for !c.stopped() && c.member() {
		switch string(c.name) {
		case "check_id":
			if c.once(&seen, 0) {
				c.textInto(&m.CheckID)
			}
		case "path":
			if c.once(&seen, 1) {
				c.textInto(&m.Path)
			}
		case "start":
			if c.once(&seen, 2) {
				m.Start.quickPlace(c)
			}
		case "end":
			if c.once(&seen, 3) {
				m.End.quickPlace(c)
			}
		case "extra":
			if c.once(&seen, 4) {
				if !c.isNull() {
					m.Extra = &semgrepExtra{}
					m.Extra.quickExtra(c)
				}
			}
		default:
			c.other()
		}
	}
}

func (p *semgrepPlace) quickPlace(c *cursor) {
	if c.isNull() {
		return
	}
	var seen uint32
	if !c.open('{') {
		c.odd = !c.short
	}
	for !c.stopped() && c.member() {
		switch string(c.name) {
		case "line":
			if c.once(&seen, 0) {
				c.numberInto(&p.Line)
			}
		case "col":
			if c.once(&seen, 1) {
				c.numberInto(&p.Col)
			}
		case "offset":
			if c.once(&seen, 2) {
				c.numberInto(&p.Offset)
			}
		default:
			c.other()
		}
	}
}

func (e *semgrepExtra) quickExtra(c *cursor) {
	var seen uint32
	if !c.open('{') {
		c.odd = !c.short
	}
	for !c.stopped() && c.member() {
		switch string(c.name) {
		case "message":
			if c.once(&seen, 0) {
				c.textInto(&e.Message)
			}
		case "severity":
			if c.once(&seen, 1) {
				c.textInto(&e.Severity)
			}
		case "metadata":
			if c.once(&seen, 2) {
				e.Metadata = c.value()
			}
		case "metavars":
			if c.once(&seen, 3) {
				e.Metavars = c.value()
			}
		case "fingerprint":
			if c.once(&seen, 4) {
				c.textInto(&e.Fingerprint)
			}
		case "lines":
			if c.once(&seen, 5) {
				c.textInto(&e.Lines)
			}
		case "is_ignored":
			if c.once(&seen, 6) {
				if raw := c.value(); raw != nil {
					_ = e.Ignored.UnmarshalJSON(raw) // it never fails
				}
			}
		case "validation_state":
			if c.once(&seen, 7) {
				c.textInto(&e.Validation)
			}
		case "engine_kind":
			if c.once(&seen, 8) {
				e.Engine = c.value()
			}
		case "sca_info":
			if c.once(&seen, 9) {
				c.decodeInto(&e.SCA)
			}
		case "historical_info":
			if c.once(&seen, 10) {
				c.decodeInto(&e.Historical)
			}
		case "dataflow_trace":
			if c.once(&seen, 11) {
				c.decodeInto(&e.Trace)
			}
		default:
			c.other()
		}
	}
}

// decodeInto has the decoder read a member that few results have.
func (c *cursor) decodeInto(v any) {
	if raw := c.value(); raw != nil && json.Unmarshal(raw, v) != nil {
		c.odd = true // it has to be told what does not fit
	}
}

// once notes a member that is read. It stops the cursor at one that came before in the
// object, for the decoder merges the two.
func (c *cursor) once(seen *uint32, place int) bool {
	c.odd = c.odd || *seen&(1<<place) != 0
	*seen |= 1 << place
	return !c.odd
}

// other passes over a member that is not read. It stops at one with a letter of another
// case than those that are, which the decoder may take for one of them.
func (c *cursor) other() {
	for _, b := range c.name {
		c.odd = c.odd || 'A' <= b && b <= 'Z' || b >= utf8.RuneSelf
	}
	c.skip(0)
}
