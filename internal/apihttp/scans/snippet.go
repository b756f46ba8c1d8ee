package scans

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/secrets"
)

// maxLocations limits the findings of a scan with code.
const maxLocations = 10_000

// snippetScan returns the scan of the path if its project is visible to the token. The token of a
// managed run can access scans of the run's commit only. That includes an earlier scan, which an
// identical upload returns.
func snippetScan(ctx context.Context, c *core.Call) (model.Scan, error) {
	id := c.PathID("scanId")
	scan, err := c.Tx.Scan(ctx, id)
	if err != nil {
		return scan, err
	}
	if _, err = c.VisibleProject(c.Tx.Project(ctx, scan.ProjectID)); err != nil {
		return scan, err
	}
	return scan, gate.CanUpload(ctx, c.Tx, c.Caller, scan.Ref, scan.Commit)
}

// listSnippets lists the findings for which code may be uploaded.
func listSnippets(ctx context.Context, c *core.Call, _ *core.None) (*api.ListSnippetsResponse, error) {
	out := &api.ListSnippetsResponse{
		StoresCode: c.Tx.Deployment().StoresCode,
		Findings:   []api.SnippetPlace{},
		Secrets:    []api.SnippetPlace{},
	}
	scan, err := snippetScan(ctx, c)
	if err != nil || !out.StoresCode {
		return out, err
	}
	locations, more, err := snippetLocations(ctx, c, scan, nil)
	if err != nil {
		return nil, err
	}
	for _, p := range locations {
		out.Findings = append(out.Findings, api.SnippetPlace(p))
	}
	out.More = more
	hidden, err := secretLocations(ctx, c, scan)
	for _, p := range hidden {
		out.Secrets = append(out.Secrets, api.SnippetPlace(p))
	}
	return out, err
}

// snippetLocations returns the locations of the scan's findings, or of those with the given ids.
func snippetLocations(
	ctx context.Context, c *core.Call, scan model.Scan, ids []int64,
) (list []model.SnippetLocation, more bool, err error) {
	locations, more, err := c.Tx.SnippetLocations(ctx, scan, ids, maxLocations)
	if err != nil {
		return nil, false, err
	}
	about := map[int64]bool{} // rules that detect secrets in code
	for _, p := range locations {
		if _, known := about[p.RuleID]; !known {
			rule, err := c.Tx.Rule(ctx, p.RuleID)
			if err != nil {
				return nil, false, err
			}
			about[p.RuleID] = secrets.SpeaksOfSecrets(rule.Name + " " + rule.Message)
		}
		p.Strings = !p.Secret && (about[p.RuleID] || secrets.SpeaksOfSecrets(p.Message))
		list = append(list, p.SnippetLocation)
	}
	return list, more, nil
}

func secretLocations(ctx context.Context, c *core.Call, scan model.Scan) (list []model.SnippetLocation, err error) {
	locations, err := c.Tx.SecretLocations(ctx, scan.ProjectID, scan.Ref)
	for _, p := range locations {
		list = append(list, p.SnippetLocation)
	}
	return list, err
}

// putSnippets stores code around findings whose location matches that of the sender. Possible
// secrets are removed here too, independent of the sender.
func putSnippets(
	ctx context.Context, c *core.Call, in *core.Request[api.PutSnippetsRequest],
) (*api.PutSnippetsResponse, error) {
	scan, err := snippetScan(ctx, c)
	if err != nil {
		return nil, err
	}
	if !c.Tx.Deployment().StoresCode {
		return nil, core.NewProblem(api.CodePermissionDenied, "This deployment does not store code. "+
			"The server operator can change that: redoubt deployment set "+c.Tx.Deployment().Slug+" --code=on.", nil)
	}
	if err := checkSnippets(in.Body.Snippets); err != nil {
		return nil, err
	}
	if len(in.Body.Snippets) == 0 { // no ids would mean all findings
		return &api.PutSnippetsResponse{}, nil
	}
	ids := model.Map(in.Body.Snippets, func(s api.Snippet) int64 { return s.FindingID })
	locations, _, err := snippetLocations(ctx, c, scan, ids)
	if err != nil {
		return nil, err
	}
	hidden, err := secretLocations(ctx, c, scan)
	if err != nil {
		return nil, err
	}
	accepted := snippetsAt(scan, in.Body.Snippets, locations, hidden)
	out := &api.PutSnippetsResponse{Stored: len(accepted), Skipped: len(ids) - len(accepted)}
	return out, c.Tx.PutSnippets(ctx, accepted)
}

// checkSnippets rejects snippets that no client of this server sends.
func checkSnippets(list []api.Snippet) error {
	var bad model.InvalidError
	seen := map[int64]bool{}
	for i, s := range list {
		fault := func(member, text string) {
			bad.Fields = append(bad.Fields, model.FieldError{
				Location: fmt.Sprintf("body.snippets[%d].%s", i, member),
				Message:  text,
			})
		}
		if seen[s.FindingID] {
			fault("finding_id", "occurs more than once")
		}
		seen[s.FindingID] = true
		if s.First > s.Line || s.First+len(s.Lines) <= s.Line {
			fault("first", "the lines do not include the finding's first line")
		}
		if slices.ContainsFunc(s.Lines, func(line string) bool { return len(line) > model.MaxSnippetLine }) {
			fault("lines", fmt.Sprintf("a line has more than %d bytes", model.MaxSnippetLine))
		}
	}
	if len(bad.Fields) > 0 {
		return &bad
	}
	return nil
}

// snippetsAt returns the snippets of findings at the sent locations, without secrets.
func snippetsAt(
	scan model.Scan, sent []api.Snippet, locations, known []model.SnippetLocation,
) (accepted []model.Snippet) {
	at := make(map[int64]model.SnippetLocation, len(locations))
	for _, p := range locations {
		at[p.FindingID] = p
	}
	hidden := map[string][]model.SnippetLocation{}
	for _, p := range known {
		hidden[p.Path] = append(hidden[p.Path], p)
	}
	var blanker secrets.Blanker
	for _, s := range sent {
		blanker.Learn(strings.Join(s.Lines, "\n"))
	}
	for _, s := range sent {
		p, found := at[s.FindingID]
		if !found || p.Path != s.Path || p.Line != s.Line {
			continue
		}
		for i, line := range s.Lines {
			s.Lines[i] = printable(line)
		}
		lines := strings.Split(blanker.Blank(strings.Join(s.Lines, "\n")), "\n")
		secrets.BlankSnippet(lines, s.First, p, hidden[p.Path])
		accepted = append(accepted, model.Snippet{
			FindingID: p.FindingID, ScanID: scan.ID, Commit: scan.Commit,
			Path: p.Path, Line: p.Line, EndLine: p.EndLine, First: s.First, Lines: lines,
		})
	}
	return accepted
}

// printable returns a line of code with invisible characters escaped: those that would end the
// line, reorder text or hide it.
func printable(line string) string {
	if !strings.ContainsFunc(line, isUnseen) {
		return line
	}
	var b strings.Builder
	for _, r := range line {
		switch {
		case r < ' ' && r != '\t', r == unicode.ReplacementChar, r == 0x7f:
			b.WriteRune(unicode.ReplacementChar)
		case isUnseen(r):
			fmt.Fprintf(&b, "[U+%04X]", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isUnseen(r rune) bool {
	return r != '\t' && unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Cf, r)
}
