package findings

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// getEvidence returns the evidence for judging a finding.
func getEvidence(ctx context.Context, c *core.Call, _ *core.None) (*api.EvidenceResponse, error) {
	found, err := pathFinding(ctx, c)
	if err != nil {
		return nil, err
	}
	out := &api.EvidenceResponse{Code: []api.CodeLine{}, Flow: []api.FlowStep{}, Dependency: []string{}}
	if err := addEvidence(out, found); err != nil {
		return nil, err
	}
	if err := addCode(ctx, c, out, found); err != nil {
		return nil, err
	}
	if err := addDependencyPath(ctx, c, out, found); err != nil {
		return nil, err
	}
	view, err := c.Findings(ctx)
	if err != nil {
		return nil, err
	}
	out.Precedent = precedentOf(view, c.Caller.Globs(), found)
	out.Others, err = others(ctx, c, view, found)
	return out, err
}

// addEvidence adds the code and the data flow of the report.
func addEvidence(out *api.EvidenceResponse, found store.Occurrence) error {
	if len(found.Evidence) == 0 {
		return nil
	}
	var e model.Evidence
	if err := json.Unmarshal(found.Evidence, &e); err != nil {
		return err
	}
	for _, s := range e.DataFlow {
		out.Flow = append(out.Flow, api.FlowStep{Path: s.Path, Line: s.Line, Column: s.Column, Content: s.Content})
	}
	if e.Code == "" {
		return nil
	}
	for i, text := range strings.Split(strings.TrimRight(e.Code, "\n"), "\n") {
		line := api.CodeLine{Text: text, Hit: true}
		if found.Line > 0 {
			line.Number = found.Line + i
		}
		out.Code = append(out.Code, line)
	}
	return nil
}

// addCode replaces the code of the report by the lines around the finding that a build uploaded.
func addCode(ctx context.Context, c *core.Call, out *api.EvidenceResponse, found store.Occurrence) error {
	if found.State != model.Unresolved && found.State != model.Muted {
		return nil
	}
	s, err := c.Tx.Snippet(ctx, found.ID)
	if errors.Is(err, model.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	out.Code = out.Code[:0]
	for i, text := range s.Lines {
		number := s.First + i
		out.Code = append(out.Code, api.CodeLine{Number: number, Text: text, Hit: number >= s.Line && number <= s.EndLine})
	}
	if s.Path != found.Path || s.Line != found.Line {
		out.CodeAt = &api.CodePlace{Path: s.Path, Line: s.Line, Commit: s.Commit}
	}
	return nil
}

// addDependencyPath adds the path from the project to the package of a supply-chain finding.
func addDependencyPath(ctx context.Context, c *core.Call, out *api.EvidenceResponse, found store.Occurrence) error {
	if found.IssueType != model.SCA {
		return nil
	}
	id, err := c.Tx.FindingDependency(ctx, found.ID)
	if errors.Is(err, model.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	paths, err := c.Tx.DependencyPaths(ctx, []int64{id})
	for _, step := range paths[id].Steps {
		out.Dependency = append(out.Dependency, step.Name+"@"+step.Version)
	}
	return err
}

// others returns the same finding on other refs of its project.
func others(ctx context.Context, c *core.Call, view *index.View, found store.Occurrence) ([]api.Elsewhere, error) {
	out := []api.Elsewhere{}
	ids, err := view.Occurrences(ctx, found.IssueType, []int64{found.LineageID})
	if err != nil || len(ids) == 0 {
		return out, err
	}
	filter := model.FindingFilter{IssueType: found.IssueType, Visible: c.Caller.Globs(), HasIDs: true, IDs: ids}
	list, err := findingsOf(ctx, view, filter, 0, len(ids))
	for _, f := range list {
		if f.ID != found.ID {
			out = append(out, api.Elsewhere{ID: f.ID, Ref: f.Ref, Status: f.Status})
		}
	}
	return out, err
}

// precedentOf counts the findings of a rule that are visible to the caller.
func precedentOf(view *index.View, visible model.ProjectGlobs, found store.Occurrence) (out api.Precedent) {
	filter := model.FindingFilter{
		IssueType: found.IssueType,
		Visible:   visible,
		Dedup:     true,
		Rules:     []string{found.RuleName},
	}
	out.Total = view.Count(filter)
	ignored, fixed := filter, filter
	ignored.Statuses, fixed.Statuses = []model.Status{model.StatusIgnored}, []model.Status{model.StatusFixed}
	out.Ignored, out.Fixed = view.Count(ignored), view.Count(fixed)
	ignored.TriageReasons = []model.TriageReason{model.FalsePositive}
	out.FalsePositive = view.Count(ignored)
	return out
}
