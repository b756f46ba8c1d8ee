package gate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
)

// ImportAnswer converts the results of an upload for the API and the command line.
func ImportAnswer(summaries []ingest.Summary) *api.ImportResponse {
	out := &api.ImportResponse{
		Imports: make([]api.Import, len(summaries)),
		Unread:  []api.UnreadFile{},
		Gate:    api.ImportGate{Blocking: []api.ImportItem{}, BlockingScans: []string{}},
	}
	for i, s := range summaries {
		out.Imports[i] = importOf(s)
	}
	return out
}

// notDecided explains why an upload did not change the triage of findings.
const notDecided = "The token has no triage permission. Its VEX statements are proposals, and findings that the " +
	"report mutes outside of the code stay open. " +
	"Users with the triager role accept proposals on the VEX page, with the API or with redoubt exceptions approve, " +
	"or send the report again."

func importOf(s ingest.Summary) api.Import {
	out := api.Import{
		Project: s.Project, ProjectID: s.ProjectID, Ref: s.Ref,
		Source: s.Source, ScanID: strconv.FormatInt(s.ScanID, 10), Outcome: outcomeOf(s),
		New: s.New, Changed: s.Changed, Returned: s.Returned, Moved: s.Moved,
		Closed: s.Closed, Removed: s.Removed, Unchanged: s.Unchanged,
		MorePlaces: s.MoreLocations, ProposedMutes: s.ProposedMutes,
		Items: importItems(s.Items), Advised: []api.ImportItem{}, Refused: make([]api.RefusedItem, len(s.Refused)),
		RefusedCount: s.CountRefused(), Counts: CountsOf(s.Counts),
		Changes: api.InventoryChange{
			Lockfiles: s.Lockfiles, Added: s.DependenciesAdded,
			Removed: s.DependenciesRemoved, LockfilesDropped: append([]string{}, s.LockfilesDropped...),
		},
		VEX: make([]api.ImportVEX, len(s.VEX)),
	}
	dropped, own := 0, 0
	for i, r := range s.VEX {
		out.VEX[i] = VEXAnswer(r)
		if r.Outcome == model.VEXProposed {
			out.Note = notDecided
		}
		dropped += len(r.Dropped)
		if r.Outcome == model.VEXDropped {
			own++
		}
	}
	if s.ProposedMutes > 0 {
		out.Note = notDecided
	}
	var gone []string
	if dropped > 0 {
		gone = append(gone, fmt.Sprintf("%d older proposals of the project", dropped))
	}
	if own > 0 {
		gone = append(gone, fmt.Sprintf("%d of this upload", own))
	}
	if len(gone) > 0 {
		out.Note = strings.TrimSpace(out.Note + fmt.Sprintf(" Dropped: %s; a project may have %d documents with %d "+
			"statements of %d MiB, a deployment %d documents of %d MiB.",
			strings.Join(gone, " and "), model.MaxVEXProposals, model.MaxVEXProposedStatements, model.MaxVEXProposedBytes>>20,
			model.MaxAllVEXProposals, model.MaxAllVEXProposedBytes>>20))
	}
	if s.SkippedVulnerabilities > 0 {
		out.Note = strings.TrimSpace(out.Note + " " + SkippedNote(s.SkippedVulnerabilities))
	}
	if s.Followed != nil {
		out.Advised = importItems(s.Followed.Items)
	}
	for i, r := range s.Refused {
		out.Refused[i] = api.RefusedItem{Item: r.Item, Reason: r.Reason}
	}
	return out
}

// SkippedNote explains to users how many vulnerabilities of an SBOM were skipped.
func SkippedNote(n int) string {
	return fmt.Sprintf("Skipped vulnerabilities: %d. Redoubt wrote this SBOM, so only its packages were imported. To "+
		"move decisions, import a VEX document.", n)
}

func importItems(items []ingest.Item) []api.ImportItem {
	out := make([]api.ImportItem, len(items))
	for i, item := range items {
		out[i] = api.ImportItem{
			FindingID: item.FindingID,
			Rule:      item.Rule,
			Path:      item.Path,
			Line:      item.Line,
			Change:    string(item.Change),
			Muted:     item.Muted,
		}
	}
	return out
}

func outcomeOf(s ingest.Summary) string {
	switch {
	case s.Repeat:
		return "repeat"
	case s.Outcome == model.ScanLate:
		return "late"
	case s.Outcome == model.ScanSuperseded:
		return "superseded"
	}
	return "applied"
}

// Answer combines the verdicts for an upload's reports. A finding of an advisory occurs with every
// report, but is listed once.
func Answer(summaries []ingest.Summary, verdicts []policy.Verdict) api.ImportGate {
	changes := map[int64]ingest.ItemChange{}
	note := func(items []ingest.Item) {
		for _, item := range items {
			changes[item.FindingID] = item.Change
		}
	}
	for _, s := range summaries {
		note(s.Items)
		if s.Followed != nil {
			note(s.Followed.Items)
		}
	}
	out := api.ImportGate{Blocking: []api.ImportItem{}, Noted: []api.ImportItem{}, BlockingScans: []string{}}
	var reasons []string
	listed := map[int64]bool{}
	add := func(list *[]api.ImportItem, sightings []policy.Sighting) {
		for i := range sightings {
			s, f := &sightings[i], &sightings[i].Finding
			if f.ID != 0 && listed[f.ID] {
				continue
			}
			listed[f.ID] = true
			*list = append(*list, api.ImportItem{
				FindingID: f.ID, Rule: f.RuleName, Path: f.Path, Line: f.Line,
				Change:    string(cmp.Or(changes[f.ID], ingest.ItemUnchanged)),
				Condition: s.Condition, Mode: s.Mode.String(), Text: s.Explained(),
			})
		}
	}
	for i, verdict := range verdicts {
		if len(verdict.Blocking) > 0 {
			out.BlockingScans = append(out.BlockingScans, strconv.FormatInt(summaries[i].ScanID, 10))
		}
		before := len(out.Blocking)
		add(&out.Blocking, verdict.Blocking)
		if len(out.Blocking) > before {
			reasons = append(reasons, verdict.Reason)
		}
	}
	for _, verdict := range verdicts {
		add(&out.Noted, verdict.Noted)
	}
	out.Blocked, out.Reason = len(out.Blocking) > 0, strings.Join(reasons, " ")
	return out
}

// maxListed limits the findings of each kind in the stored result of a scan.
const maxListed = 1000

// ScanAnswer returns the result of a directly reported scan as JSON, in the format of an import. It
// contains the first findings only.
func ScanAnswer(summary ingest.Summary, verdict policy.Verdict) ([]byte, error) {
	summaries := []ingest.Summary{summary}
	out := ImportAnswer(summaries)
	out.Gate = Answer(summaries, []policy.Verdict{verdict})
	first := &out.Imports[0]
	for _, list := range []*[]api.ImportItem{&first.Items, &first.Advised, &out.Gate.Blocking, &out.Gate.Noted} {
		*list = (*list)[:min(len(*list), maxListed)]
	}
	return json.Marshal(out)
}

// VEXAnswer converts the result of a VEX document for the API and the command line.
func VEXAnswer(r model.VEXReceipt) api.ImportVEX {
	out := api.ImportVEX{
		Name: r.Document.Name, Format: r.Document.Format,
		Outcome: string(r.Outcome), Statements: r.Statements, Triaged: r.Changed,
	}
	if r.Document.ID != 0 {
		out.ID = strconv.FormatInt(r.Document.ID, 10)
	}
	return out
}

// CountsOf converts counts of findings for the API.
func CountsOf(n model.FindingCounts) api.FindingsCounts {
	return api.FindingsCounts{
		Code:        int64(n.Code),
		Secrets:     int64(n.Secrets),
		SupplyChain: int64(n.SupplyChain),
		Total:       int64(n.Total()),
	}
}
