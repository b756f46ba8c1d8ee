package semgrep

import (
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
	"github.com/redoubt/redoubt/internal/report/secrets"
)

const spanSize = 16 // bytes

// semgrepSpan is a span of an error; lines are 1-based.
type semgrepSpan struct {
	File  read.Text        `json:"file"`
	Start secrets.Position `json:"start"`
	End   secrets.Position `json:"end"`
}

// partial returns the unparsed lines of the file. It returns nil for other errors, and if the lines
// are incomplete.
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

// partial records a partially parsed file and the reason.
func (s *semgrep) partial(raw string, spans []model.Span, gap model.ScanGap) {
	if p, err := s.checkout.Path(raw); err == nil {
		s.In.Build(len(spans) * spanSize)
		gap.What = p
		s.rep.Partial, s.rep.Gaps = append(s.rep.Partial, model.PartialFile{Path: p, Spans: spans}), append(s.rep.Gaps, gap)
	}
}
