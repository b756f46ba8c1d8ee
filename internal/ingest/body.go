package ingest

import (
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/weblink"
)

// encodeBody encodes the body and the evidence of a sighting, which the API returns.
func encodeBody(s *Sighting, links weblink.Links) (body, evidence []byte, err error) {
	r, b := s.Result, bodyOf(s, links)
	e := model.Evidence{DataFlow: r.DataFlow, Blocking: r.Blocking}
	switch {
	case s.Finding.IssueType != model.Secrets:
		e.Code = r.Code
	case r.Secret != nil:
		b.SyntacticID, e.DataFlow, e.Commit = "", nil, r.Secret.Commit
	default:
		b.SyntacticID, e.DataFlow = "", nil
	}
	if body, err = b.Members(); err != nil {
		return nil, nil, err
	}
	text, err := toJSON(e)
	return body, []byte(text), err
}

// bodyOf returns the body of a sighting.
func bodyOf(s *Sighting, links weblink.Links) model.Body {
	r := s.Result
	at := wireLocation(r)
	b := model.Body{
		Location: at, LineOfCodeURL: links.Line(r.Path, r.Location.Line),
		MatchBasedID: s.shownID(), SyntacticID: r.SyntacticID, RuleMessage: nonEmpty(message(s)),
	}
	if r.Dependency != nil {
		b.SCABody = scaBody(r, at, links)
	}
	return b
}

// message returns the expanded message. A result of a secrets rule without data about the secret
// may contain the secret in its message, so the rule's template is used instead.
func message(s *Sighting) string {
	if s.Finding.IssueType == model.Secrets && s.Result.Secret == nil {
		return s.Result.Rule.Message
	}
	return s.Result.Message
}

func wireLocation(r *model.Result) model.WireLocation {
	l := r.Location
	return model.WireLocation{FilePath: r.Path, Line: l.Line, Column: l.Column, EndLine: l.EndLine, EndColumn: l.EndColumn}
}

func scaBody(r *model.Result, at model.WireLocation, links weblink.Links) *model.SCABody {
	v := r.Dependency
	b := &model.SCABody{
		FixRecommendations: append([]model.Fix{}, v.Fixes...),
		FoundDependency: model.FoundDependency{
			Ecosystem: v.Ecosystem, Package: v.Package, Version: v.Version,
			Transitivity:    cmp.Or(v.Transitivity, model.TransitivityUnknown).String(),
			LockfileLineURL: nonEmpty(links.Line(r.Lockfile(), v.Line)),
		},
		IsMalicious:             v.Malicious,
		Unrated:                 v.Unrated,
		ReachableCondition:      nonEmpty(v.Condition),
		VulnerabilityIdentifier: nonEmpty(v.Vulnerability),
	}
	if v.InCode {
		b.Usage = &model.Usage{Location: at}
	}
	return b
}

func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// toJSON encodes a value without escaping <, > and &.
func toJSON(v any) (string, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return string(bytes.TrimSpace(buf.Bytes())), nil
}
