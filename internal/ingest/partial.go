package ingest

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// addPartial adds the partly parsed files. They count as searched.
func (s *Scope) addPartial(files []model.PartialFile) {
	for _, f := range files {
		if s.skipped[f.Path] || len(f.Spans) == 0 {
			continue
		}
		if s.partial == nil {
			s.partial = make(map[string][]model.Span, len(files))
		}
		s.partial[f.Path] = f.Spans
		if s.searched != nil {
			s.searched[f.Path] = true
		}
	}
}

// unparsed reports whether the finding is on a line that the scanner could not parse. The line is
// that of the last report; an unknown line, 0, counts as unparsed.
func (s Scope) unparsed(f *model.Finding) bool {
	spans := s.partial[f.Path]
	if len(spans) == 0 || s.plain[f.RuleName] {
		return false
	}
	return f.Line == 0 || slices.ContainsFunc(spans, func(span model.Span) bool { return span.Contains(f.Line) })
}

// learnPlain determines which rules of findings in partly parsed files need no parser. A rule of
// unknown language is assumed to need one.
func (u *Upload) learnPlain(ctx context.Context, s Store, projectID int64) error {
	if len(u.Report.Partial) == 0 {
		return nil
	}
	rows, err := u.stored(ctx, s, projectID)
	if err != nil {
		return err
	}
	partial := make(map[string]bool, len(u.Report.Partial))
	for _, f := range u.Report.Partial {
		partial[f.Path] = true
	}
	var names []string
	for i := range rows {
		if live(rows[i].State) && partial[rows[i].Path] {
			names = append(names, rows[i].RuleName)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	languages, err := s.RuleLanguages(ctx, slices.Compact(names))
	if err != nil {
		return err
	}
	u.plain = map[string]bool{}
	for name, list := range languages {
		u.plain[name] = len(list) > 0 && !slices.ContainsFunc(list, func(l string) bool { return !model.PlainLanguage(l) })
	}
	return nil
}
