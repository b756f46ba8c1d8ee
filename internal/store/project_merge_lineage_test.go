package store_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// lineageFixture describes a lineage. Identities are letters; findings are written as "a@main b@old"
// (identity@ref, with a leading minus if fixed).
type lineageFixture struct {
	identities, found string
	state             model.TriageState
}

// lineageMerges are projects whose lineages share identities with several others. want has a line
// for each finding after the merge, and one for a new finding of each identity.
var lineageMerges = []struct {
	name       string
	from, into []lineageFixture
	want       string
}{
	{
		"a file moved in one project, both places stand in the other: the decision stays where it was made",
		[]lineageFixture{{"ab", "b@main", model.TriageIgnored}},
		[]lineageFixture{{"a", "a@main", 0}, {"b", "b@main", 0}},
		"a@main open, b@main ignored; new: a open, b ignored",
	},
	{
		"both places stand in one project, the file moved in the other: the two stay two",
		[]lineageFixture{{"a", "a@main", model.TriageIgnored}, {"b", "b@main", 0}},
		[]lineageFixture{{"ab", "b@main", 0}},
		"a@main ignored, b@main open; new: a ignored, b open",
	},
	{
		"the same where the other one was decided",
		[]lineageFixture{{"a", "a@main", 0}, {"b", "b@main", model.TriageFixing}},
		[]lineageFixture{{"ab", "b@main", 0}},
		"a@main open, b@main fixing; new: a open, b fixing",
	},
	{
		"what stays was decided: it does not cover the copy that comes over",
		[]lineageFixture{{"a", "a@main", 0}, {"b", "b@main", 0}},
		[]lineageFixture{{"ab", "b@main", model.TriageIgnored}},
		"a@main open, b@main ignored; new: a open, b ignored",
	},
	{
		"an old branch has it at the old place: both places are decided",
		[]lineageFixture{{"ab", "b@main a@old", model.TriageIgnored}},
		[]lineageFixture{{"a", "a@main", 0}, {"b", "b@main", 0}},
		"a@main ignored, a@old ignored, b@main ignored; new: a ignored, b ignored",
	},
	{
		"it moved on to where the other project never had it",
		[]lineageFixture{{"abc", "c@main", model.TriageIgnored}},
		[]lineageFixture{{"a", "a@main", 0}, {"b", "b@main", model.TriageReviewing}},
		"a@main open, b@main reviewing, c@main ignored; new: a open, b reviewing, c ignored",
	},
	{
		"each of both was decided: that of the project that stays counts",
		[]lineageFixture{{"ab", "b@main", model.TriageIgnored}},
		[]lineageFixture{{"a", "a@main", 0}, {"b", "b@main", model.TriageFixing}},
		"a@main open, b@main fixing; new: a open, b fixing",
	},
	{
		"what stays has both places as one finding, on two branches: one decision for both",
		[]lineageFixture{{"a", "a@main", model.TriageIgnored}, {"b", "b@main", 0}},
		[]lineageFixture{{"ab", "b@main a@old", 0}},
		"a@main ignored, a@old ignored, b@main ignored; new: a ignored, b ignored",
	},
	{
		"the same where that was decided: it counts",
		[]lineageFixture{{"a", "a@main", model.TriageIgnored}, {"b", "b@main", 0}},
		[]lineageFixture{{"ab", "b@main a@old", model.TriageReviewing}},
		"a@main reviewing, a@old reviewing, b@main reviewing; new: a reviewing, b reviewing",
	},
	{
		"the primary branch no longer has it: the decision counts for both places all the same",
		[]lineageFixture{{"ab", "-b@main a@old", model.TriageIgnored}, {"c", "c@main", 0}},
		[]lineageFixture{{"a", "a@main", 0}, {"b", "b@main", 0}},
		"a@main ignored, a@old ignored, b@main ignored, c@main open; new: a ignored, b ignored, c open",
	},
	{
		"one to one, a move apart",
		[]lineageFixture{{"ab", "b@main", model.TriageIgnored}},
		[]lineageFixture{{"a", "a@main", 0}, {"c", "c@main", 0}},
		"a@main ignored, b@main ignored, c@main open; new: a ignored, b ignored, c open",
	},
}

func TestProjectMergeDecisionsPerLocation(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		all := newTenant(t, s)
		for i, c := range lineageMerges {
			t.Run(c.name, func(t *testing.T) {
				w := twins{tenant: tenant{t, s, all.id}}
				w.from, w.into = w.project(fmt.Sprint("acme/from-", i)), w.project(fmt.Sprint("acme/into-", i))
				w.saveLineages(w.from, c.from)
				w.saveLineages(w.into, c.into)
				applied := newMirror()
				version := applied.apply(w.tenant, 0)
				had := w.projectContents(applied)
				w.merge()
				same(t, "after the merge", w.decisions(), c.want)
				applied.apply(w.tenant, version)
				rebuilt := newMirror()
				rebuilt.apply(w.tenant, 0)
				same(t, "the index, as rebuilt", applied, rebuilt)
				has := w.projectContents(rebuilt)
				same(t, "findings, each once", has.findings, slices.Compact(had.findings))
				same(t, "comments", has.comments, had.comments)
				if missing := slices.DeleteFunc(had.trail, func(s string) bool { return slices.Contains(has.trail, s) }); len(missing) > 0 {
					t.Errorf("the trails lost %q", missing)
				}
				for id, l := range rebuilt.Lineages {
					if l.ProjectID == w.into.ID && !slices.ContainsFunc(slices.Collect(maps.Values(rebuilt.Findings)), func(f model.Finding) bool { return f.LineageID == id }) {
						t.Errorf("lineage %d has no finding, so its comments are hidden", id)
					}
				}
				w.view(func(ctx context.Context, tx *store.Tx) error {
					return tx.CheckRows(ctx, func(check string, faults []string) {
						if check == "references between rows" && len(faults) > 0 {
							t.Error(check, faults)
						}
					})
				})
			})
		}
	})
}

// projectData contains the data of two projects that a merge must preserve, sorted.
type projectData struct{ findings, comments, trail []string }

// projectContents returns the findings by ref and identity, comments and decisions of both projects.
func (w twins) projectContents(m *mirror) (k projectData) {
	w.t.Helper()
	ours := func(project int64) bool { return project == w.from.ID || project == w.into.ID }
	w.view(func(ctx context.Context, tx *store.Tx) error {
		for id, f := range m.Findings {
			if ours(f.ProjectID) {
				f, err := tx.Finding(ctx, id)
				w.check(err)
				k.findings = append(k.findings, fmt.Sprintf("%c@%s", f.Identity.Hash[1], f.Ref))
			}
		}
		return nil
	})
	for id, l := range m.Lineages {
		if !ours(l.ProjectID) {
			continue
		}
		k.comments = append(k.comments, w.commentsOn(id)...)
		w.view(func(ctx context.Context, tx *store.Tx) error {
			trail, err := tx.TriageTrail(ctx, id)
			for _, e := range trail {
				k.trail = append(k.trail, fmt.Sprint(e.At, e.Before.State, e.After.State))
			}
			return err
		})
	}
	slices.Sort(k.findings)
	slices.Sort(k.comments)
	return k
}

func identityNamed(letter rune) model.Identity {
	return model.Identity{Kind: model.IdentityMatchBased, Hash: model.Digest{7, byte(letter)}}
}

// saveLineages stores lineages of a project.
func (w twins) saveLineages(p model.Project, lineages []lineageFixture) {
	w.t.Helper()
	for _, l := range lineages {
		locations := strings.Fields(l.found)
		found := w.findings(p, len(locations), func(i int, f *model.FindingWrite) {
			location, fixed := strings.CutPrefix(locations[i], "-")
			f.Identity, f.Ref = identityNamed(rune(location[0])), "refs/heads/"+location[2:]
			if fixed {
				f.State = model.Fixed
			}
		})
		for i, f := range found {
			_, err := w.comment(0, f, p.Name+" "+locations[i])
			w.check(err)
		}
		stays := found[0].LineageID
		w.update(func(ctx context.Context, tx *store.Tx) error {
			for _, f := range found[1:] {
				if err := tx.MergeLineages(ctx, []model.LineageMerge{{Into: model.Lineage{ID: stays}, From: []int64{f.LineageID}}}); err != nil {
					return err
				}
			}
			var links []model.IdentityLink
			for _, letter := range l.identities {
				links = append(links, model.IdentityLink{Identity: identityNamed(letter), LineageID: stays})
			}
			return tx.AddIdentities(ctx, p.ID, links)
		})
		if l.state != 0 {
			w.triage(stays, l.state, 1)
		}
	}
}

// decisions describes the decision about each live finding, and the decision that a new finding of each
// identity would inherit.
func (w twins) decisions() string {
	w.t.Helper()
	var lines, fresh []string
	w.view(func(ctx context.Context, tx *store.Tx) error {
		lineages, err := tx.LineagesOf(ctx, w.into.ID, []model.Identity{identityNamed('a'), identityNamed('b'), identityNamed('c')})
		if err != nil {
			return err
		}
		for id, l := range lineages {
			fresh = append(fresh, fmt.Sprintf("%c %s", id.Hash[1], decisionOf(l.Triage)))
		}
		found, err := tx.LiveOfLineages(ctx, w.into.ID, w.lineages(ctx, tx))
		if err != nil {
			return err
		}
		location := func(f model.Finding) string {
			return fmt.Sprintf("%c@%s", f.Identity.Hash[1], strings.TrimPrefix(f.Ref, "refs/heads/"))
		}
		for lineage, list := range found {
			known, err := tx.Lineages(ctx, []int64{lineage})
			if err != nil {
				return err
			}
			for _, f := range list {
				line := location(f) + " " + decisionOf(known[lineage].Triage)
				history, err := tx.History(ctx, f.ID)
				if err != nil {
					return err
				}
				for _, e := range history {
					if e.Kind == model.EventMerged {
						continue
					}
					w.t.Errorf("the history has %+v", e)
				}
				lines = append(lines, line)
			}
		}
		return nil
	})
	slices.Sort(lines)
	slices.Sort(fresh)
	return strings.Join(lines, ", ") + "; new: " + strings.Join(fresh, ", ")
}

// lineages returns the lineages of all findings of the remaining project.
func (w twins) lineages(ctx context.Context, tx *store.Tx) (ids []int64) {
	w.t.Helper()
	mirror := newMirror()
	mirror.apply(w.tenant, 0)
	for id, l := range mirror.Lineages {
		if l.ProjectID == w.into.ID {
			ids = append(ids, id)
		}
	}
	return ids
}

func decisionOf(t model.Triage) string {
	if t.State == model.TriageUntriaged {
		return "open"
	}
	return t.State.String()
}
