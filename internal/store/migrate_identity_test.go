package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// oldMatch is a row as it was before identities knew the code.
type oldMatch struct {
	ref       string
	line, n   int // n: the ordinal
	code      byte
	lineage   int64 // by the order of lineages
	next      int64 // the lineage that it has afterwards; 0: a new one
	k         int64 // among equal code
	syntactic string
}

// TestStoredMatchesArePairedAnew migrates a project where a line was put above
// others on a branch: by the ordinal it shares the lineage of a reviewed line.
func TestStoredMatchesArePairedAnew(t *testing.T) {
	const group = "f00d"
	rows := []oldMatch{
		{"refs/heads/main", 3, 0, 'a', 1, 1, 0, "sa"}, // ignored
		{"refs/heads/main", 5, 1, 'b', 2, 2, 0, "sb"},
		{"refs/heads/main", 7, 2, 'b', 3, 3, 1, "sb1"}, // equal code
		{"refs/heads/dev", 2, 0, 'e', 1, 0, 0, "se"},   // new code above: it had the reviewed line's lineage
		{"refs/heads/dev", 4, 1, 'a', 2, 1, 0, "sa"},
		{"refs/heads/dev", 6, 2, 'b', 3, 2, 0, "sb"},
		{"refs/heads/dev", 8, 3, 'b', 4, 3, 1, "sb1"},
		{"refs/pull/7/merge", 9, 4, 'b', 5, 5, 2, "sb2"}, // a diff scan told only the third
		{"refs/pull/8/merge", 9, 5, 0, 6, 6, 0, ""},      // code unknown: it stays by the ordinal
	}
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			config := storetest.Database(t, engine, storetest.NewClock())
			s := storetest.Open(t, config)
			d := newTenant(t, s)
			ids, lineages, old := oldProject(d, group, rows)
			var before int64
			d.view(func(_ context.Context, tx *store.Tx) error { before = tx.Version(); return nil })
			d.check(s.PairMatchesAnew(t.Context()))
			d.check(s.Close())
			s = storetest.Open(t, config)
			d.s = s
			d.view(func(ctx context.Context, tx *store.Tx) error {
				if redoubt.Commits(tx.Version()) != redoubt.Commits(before)+1 {
					t.Errorf("the version is %d, want one after %d", tx.Version(), before)
				}
				for i, r := range rows {
					o, err := tx.Finding(ctx, ids[i])
					d.check(err)
					want := redoubt.NumberedIdentity(redoubt.IdentityMatchBased, redoubt.MatchKey(group, codeOf(r)), r.k)
					if r.code == 0 {
						want = old[i]
					}
					same(t, fmt.Sprintf("identity of row %d", i), o.Identity, want)
					known, err := tx.LineagesOf(ctx, o.ProjectID, []redoubt.Identity{want})
					d.check(err)
					same(t, fmt.Sprintf("lineage of the identity of row %d", i), known[want].ID, o.LineageID)
					if r.next != 0 {
						same(t, fmt.Sprintf("lineage of row %d", i), o.LineageID, lineages[r.next-1])
					} else if o.Lineage.Triage.State != redoubt.TriageUntriaged || o.LineageID == lineages[r.lineage-1] {
						t.Errorf("row %d has the lineage %d, %v", i, o.LineageID, o.Lineage.Triage)
					}
				}
				first, err := tx.Finding(ctx, ids[0])
				same(t, "the decision on the reviewed line", first.Lineage.Triage.State, redoubt.TriageIgnored)
				return err
			})
		})
	}
}

func codeOf(r oldMatch) redoubt.Digest {
	if r.code == 0 {
		return redoubt.Digest{}
	}
	return redoubt.Digest{r.code}
}

// oldProject stores the rows as the version before did.
func oldProject(d tenant, group string, rows []oldMatch) (ids, lineages []int64, old []redoubt.Identity) {
	p := d.project("acme/payments")
	d.update(func(ctx context.Context, tx *store.Tx) (err error) {
		if ids, err = tx.NewFindingIDs(ctx, len(rows)); err != nil {
			return err
		}
		if lineages, err = tx.NewLineageIDs(ctx, 6); err != nil {
			return err
		}
		var made []redoubt.Lineage
		for i, id := range lineages {
			l := redoubt.Lineage{ID: id, ProjectID: p.ID, Triage: redoubt.Triage{State: redoubt.TriageUntriaged}}
			if i == 0 {
				l.Triage.State = redoubt.TriageIgnored
			}
			made = append(made, l)
		}
		d.check(tx.AddLineages(ctx, made))
		var writes []redoubt.FindingWrite
		var links []redoubt.IdentityLink
		for i, r := range rows {
			id := redoubt.Identity{Kind: redoubt.IdentityMatchBased, Hash: redoubt.Digest{0xff, byte(r.n)}}
			w := redoubt.FindingWrite{Finding: redoubt.Finding{
				ID: ids[i], IssueType: redoubt.SAST, ProjectID: p.ID, Ref: r.ref, Source: "semgrep", Identity: id, LineageID: lineages[r.lineage-1],
				RuleName: "eval", Path: "a.js", Line: r.line, CodeHash: codeOf(r), State: redoubt.Unresolved, Severity: redoubt.SeverityHigh,
				Confidence: redoubt.ConfidenceHigh, CreatedAt: tx.Now(), RelevantSince: tx.Now(),
			}}
			w.Body = fmt.Appendf(nil, `"match_based_id":"%s_%d","syntactic_id":%q,"location":{"column":1}`, group, r.n, r.syntactic)
			w.Evidence = []byte("{}")
			writes, old = append(writes, w), append(old, id)
			links = append(links, redoubt.IdentityLink{Identity: id, LineageID: w.LineageID})
		}
		d.check(tx.AddIdentities(ctx, p.ID, links))
		d.check(tx.AddFindings(ctx, writes))
		return nil
	})
	return ids, lineages, old
}
