package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// condition replaces the conditions of the supply-chain policy.
func (s *site) condition(t testing.TB, blockAll bool, conditions ...model.PolicyCondition) {
	t.Helper()
	err := s.store.Update(t.Context(), s.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		policies, err := tx.Policies(ctx)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(policies, func(p model.Policy) bool { return p.Slug == "supply-chain" })
		p := policies[at]
		p.Conditions, p.BlockAll = conditions, blockAll
		for i := range p.Conditions {
			p.Conditions[i].ID = int64(i + 1)
		}
		_, _, err = policy.Save(ctx, tx, p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// depend imports the lockfiles of a ref and returns the result of the gate.
func (s *site) depend(t testing.TB, ref, lodash string) api.ImportGate {
	t.Helper()
	s.clock.Advance(time.Second)
	body, media := form(t, map[string]string{"project": "acme/shop", "ref": ref, "full": "true"}, file{"package-lock.json", shopLock(lodash)})
	return read[api.ImportResponse](t, s.send(t, request{method: "POST", path: "imports", body: body, header: map[string]string{"Content-Type": media}})).Gate
}

// gateOf returns the packages of a gate's findings, such as "left-pad 1.3.0 block".
func gateOf(g api.ImportGate) (out []string) {
	for _, item := range slices.Concat(g.Blocking, g.Noted) {
		name, _, _ := strings.Cut(item.Text, " has ")
		out = append(out, name+" "+item.Mode)
	}
	slices.Sort(out)
	return out
}

// TestEachConditionAttributeBlocks checks for each condition which findings of two advisories
// block the build of a branch. The finding of lodash is direct, exploited and fixable and has a
// score; that of left-pad is malicious and transitive. Neither is on the primary branch.
func TestEachConditionAttributeBlocks(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.publish(t, record{id: "GHSA-1", aliases: []string{"CVE-2021-23337"}, name: "lodash", fixed: "4.17.21", severity: "HIGH"}, record{id: "MAL-2024-1", name: "left-pad"})
		if err := s.store.PutScores(t.Context(), func(put func(model.EPSSScore) error) error {
			return put(model.EPSSScore{CVE: "CVE-2021-23337", EPSS: model.EPSS{Score: 0.5}})
		}); err != nil {
			t.Fatal(err)
		}
		if err := s.store.PutExploited(t.Context(), []model.KEV{{CVE: "CVE-2021-23337", Added: storetest.Epoch}}); err != nil {
			t.Fatal(err)
		}
		body, media := form(t, map[string]string{"project": "acme/shop", "ref": "main", "full": "true"}, file{"package-lock.json", []byte(`{"name":"s","lockfileVersion":3,"packages":{"":{}}}`)})
		if a := s.send(t, request{method: "POST", path: "imports", body: body, header: map[string]string{"Content-Type": media}}); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		type condition = model.PolicyCondition
		const lodash, leftPad = "lodash 4.17.20 block", "left-pad 1.3.0 block"
		for _, c := range []struct {
			of   condition
			want []string
		}{
			{condition{EPSS: 0.5}, []string{lodash}}, // in the upload that adds it
			{condition{Severity: model.SeverityHigh}, []string{leftPad, lodash}},
			{condition{Severity: model.SeverityCritical}, []string{leftPad}},
			{condition{Reachable: true}, []string{leftPad}},
			{condition{EPSS: 0.6}, nil},
			{condition{Exploited: true}, []string{lodash}},
			{condition{Malicious: true}, []string{leftPad}},
			{condition{Fixable: true}, []string{lodash}},
			{condition{Direct: true}, []string{lodash}},
			{condition{GraceDays: 1}, nil},
			{condition{Severity: model.SeverityLow, Scope: model.PolicyScope{Projects: model.ProjectGlobs{"acme/*"}}}, []string{leftPad, lodash}},
			{condition{Severity: model.SeverityLow, Scope: model.PolicyScope{Projects: model.ProjectGlobs{"other/*"}}}, nil},
			{condition{Severity: model.SeverityLow, Scope: model.PolicyScope{Tags: []string{"pci"}}}, nil},
			{condition{Severity: model.SeverityLow, Branches: model.ProjectGlobs{"topic"}}, []string{leftPad, lodash}},
			{condition{Severity: model.SeverityLow, Branches: model.ProjectGlobs{"main"}}, nil},
		} {
			c.of.Mode = model.ModeBlock
			s.condition(t, false, c.of)
			got := s.depend(t, "topic", "4.17.20")
			wants(t, c.of.String(), gateOf(got), c.want...)
			if got.Blocked != (c.want != nil) {
				t.Errorf("%s: blocked %v because %q", &c.of, got.Blocked, got.Reason)
			}
		}
	})
}

// TestConditionsByMode checks the effect of each mode on a build, the grace period, and a temporary
// exception.
func TestConditionsByMode(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.publish(t, record{id: "GHSA-1", aliases: []string{"CVE-2021-23337"}, name: "lodash", fixed: "4.17.21", severity: "HIGH"})
		s.depend(t, "main", "4.17.21")
		high := func(mode model.PolicyMode, days int) model.PolicyCondition {
			return model.PolicyCondition{Mode: mode, Severity: model.SeverityHigh, GraceDays: days}
		}
		s.condition(t, false, high(model.ModeMonitor, 0))
		got := s.depend(t, "topic", "4.17.20")
		wants(t, "monitor", gateOf(got), "lodash 4.17.20 monitor")
		if got.Blocked || got.Reason != "" || len(got.Noted) != 1 || got.Noted[0].Change != "new" {
			t.Errorf("monitor: %+v", got)
		}
		s.condition(t, false, high(model.ModeMonitor, 0), high(model.ModeComment, 0))
		got = s.depend(t, "topic", "4.17.20")
		wants(t, "the stricter of two", gateOf(got), "lodash 4.17.20 comment")
		want := fmt.Sprintf("lodash 4.17.20 has CVE-2021-23337 at package-lock.json:%d (fixed in 4.17.21; condition 2 of supply-chain: high or worse)", got.Noted[0].Line)
		if got.Blocked || got.Noted[0].Text != want {
			t.Errorf("comment: %+v, want %q", got, want)
		}
		s.condition(t, true, high(model.ModeBlock, 14))
		wants(t, "within the days of grace", gateOf(s.depend(t, "topic", "4.17.20")))
		s.clock.Advance(14 * 24 * time.Hour)
		got = s.depend(t, "topic", "4.17.20")
		wants(t, "after them", gateOf(got), "lodash 4.17.20 block")
		if !got.Blocked || !strings.Contains(got.Reason, "14") {
			t.Errorf("block: %+v", got)
		}
	})
}

// TestRecordedScansUseTheirOwnLockfiles checks that a scan of an old commit is evaluated by
// the lockfiles of that commit. The current ones of the branch do not count.
func TestRecordedScansUseTheirOwnLockfiles(t *testing.T) {
	const bad, good, other = "4.17.20", "4.17.21", "4.17.19"
	each(t, func(t *testing.T, s *site) {
		s.publish(t, record{id: "GHSA-1", aliases: []string{"CVE-2021-23337"}, name: "lodash", fixed: "4.17.21", severity: "HIGH"})
		if err := s.store.PutExploited(t.Context(), []model.KEV{{CVE: "CVE-2021-23337", Added: storetest.Epoch}}); err != nil {
			t.Fatal(err)
		}
		s.condition(t, false, model.PolicyCondition{Mode: model.ModeBlock, Severity: model.SeverityHigh, Fixable: true, Exploited: true, Direct: true})
		upload := func(ref, commit, lodash string, start time.Time) api.ImportResponse {
			s.clock.Advance(time.Second)
			values := map[string]string{"project": "acme/shop", "ref": ref, "commit": commit, "full": "true"}
			if !start.IsZero() {
				values["at"] = start.Format(time.RFC3339)
			}
			body, media := form(t, values, file{"package-lock.json", shopLock(lodash)})
			return read[api.ImportResponse](t, s.send(t, request{method: "POST", path: "imports", body: body, header: map[string]string{"Content-Type": media}}))
		}
		upload("main", "c0", good, time.Time{})
		for name, c := range map[string]struct {
			then, now, repeated string
			late                bool
			want                []string
		}{
			"vulnerable before":               {bad, good, bad, false, []string{"lodash 4.17.20 block"}},
			"vulnerable later":                {good, bad, good, false, nil},
			"another version":                 {other, bad, other, false, []string{"lodash 4.17.19 block"}},
			"late, and bad as no scan before": {good, good, bad, true, []string{"lodash 4.17.20 block"}},
			"late, before the branch had it":  {good, bad, good, true, nil},
		} {
			t.Run(name, func(t *testing.T) {
				ref := "topic/" + strings.ReplaceAll(name, " ", "-")
				upload(ref, "c1", c.then, time.Time{})
				upload(ref, "c2", c.now, time.Time{})
				commit, start := "c1", time.Time{}
				if c.late {
					commit, start = "c3", storetest.Epoch.Add(-time.Hour)
				}
				got := upload(ref, commit, c.repeated, start)
				if outcome := got.Imports[0].Outcome; outcome != "superseded" && outcome != "late" {
					t.Fatalf("the scan is %q", outcome)
				}
				wants(t, "the gate", gateOf(got.Gate), c.want...)
				if got.Gate.Blocked != (c.want != nil) {
					t.Errorf("blocked %t because %q", got.Gate.Blocked, got.Gate.Reason)
				}
			})
		}
	})
}
