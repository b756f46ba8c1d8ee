package semgrep

import (
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"

	"github.com/redoubt/redoubt/internal/report/secrets"
)

const spanSize = 16 // bytes

// semgrepSpan is one of the spans of an error, with lines from 1.
type semgrepSpan struct {
	File  read.Text     `json:"file"`
	Start secrets.Place `json:"start"`
	End   secrets.Place `json:"end"`
}

// partial returns the lines of the file that could not be parsed, or nil for
// another error, and where not all of them are told.
func (e *semgrepError) partial() []model.Span {
	if e.Type.First() != "PartialParsing" || e.Path == "" {
		return nil
	}
	var spans []model.Span
	for _, s := range e.Spans {
		if s.File != e.Path || s.Start.Line < 1 || s.End.Line < s.Start.Line {
			return nil
		}
		spans = append(spans, model.Span{First: int(s.Start.Line), Last: int(s.End.Line)})
	}
	return spans
}

// partial notes a file that was parsed in part, and why.
func (s *semgrep) partial(raw string, spans []model.Span, gap model.ScanGap) {
	if p, err := s.checkout.Path(raw); err == nil {
		s.In.Build(len(spans) * spanSize)
		gap.What = p
		s.rep.Partial, s.rep.Gaps = append(s.rep.Partial, model.PartialFile{Path: p, Spans: spans}), append(s.rep.Gaps, gap)
	}
}
