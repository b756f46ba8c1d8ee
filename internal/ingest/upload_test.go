package ingest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
)

func TestInvalidUploads(t *testing.T) {
	broken := with(matched("a.py", 1, "x"), func(r *model.Result) { r.Path, r.Item = "", "results[4]" })
	for name, test := range map[string]struct {
		change func(*Upload)
		faults []string
	}{
		"no report":             {func(u *Upload) { u.Report = nil }, []string{"report"}},
		"a name of one segment": {func(u *Upload) { u.Project.Name = "payments" }, []string{"project"}},
		"too many tags":         {func(u *Upload) { u.Project.Tags = strings.Split("a b c d e f g h i j k", " ") }, []string{"tags"}},
		"a ref with a newline":  {func(u *Upload) { u.Ref = "a\nb" }, []string{"ref"}},
		"a long commit":         {func(u *Upload) { u.Commit = strings.Repeat("a", 513) }, []string{"commit"}},
		"no tool":               {func(u *Upload) { u.Report.Tool = " " }, []string{"tool"}},
		"declared full diff":    {func(u *Upload) { u.Full = false }, []string{"full"}},
		"a time to come":        {func(u *Upload) { u.At = newMemory().clock.Add(time.Hour) }, []string{"at"}},
		"several at once":       {func(u *Upload) { u.Project.Name, u.Category, u.Full = "p", "\x00", false }, []string{"project", "category", "full"}},
		"strict, and broken":    {func(u *Upload) { u.Strict = true; u.Report.Results = []model.Result{broken} }, []string{"results[4]"}},
		"strict, refused before": {func(u *Upload) {
			u.Strict = true
			u.Report.Refused = []model.Refusal{{Item: "results[1]", Reason: "r"}}
		}, []string{"results[1]"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			m.tick(time.Minute)
			_, err := Apply(t.Context(), m, m, upload(full(), test.change))
			var invalid *model.InvalidError
			if !errors.As(err, &invalid) {
				t.Fatalf("got %v", err)
			}
			var faults []string
			for _, f := range invalid.Fields {
				faults = append(faults, f.Location)
			}
			if diff := cmp.Diff(test.faults, faults); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if m.writes != 0 {
				t.Errorf("%d writes", m.writes)
			}
		})
	}
}

func TestInvalidItemsAreSkipped(t *testing.T) {
	u := full(matched("a.py", 1, "x"), model.Result{Item: "results[1]", Path: "b.py"})
	u.Report.Refused = []model.Refusal{{Item: "results[2]", Reason: "no line"}}
	u.Report.Inventories = []model.Inventory{{Lockfile: ""}, {Lockfile: "go.sum", Dependencies: []model.Dependency{{Name: "p"}, {Name: "q\x00"}}}}
	m := newMemory()
	sum := apply(t, m, u)
	var items []string
	for _, r := range sum.Refused {
		items = append(items, r.Item)
	}
	want := []string{"results[2]", "results[1]", "an inventory", "go.sum"}
	if diff := cmp.Diff(want, items); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	if sum.New != 1 || sum.DependenciesAdded != 1 {
		t.Errorf("summary: %+v", sum)
	}
	if len(u.Report.Refused) != 1 {
		t.Error("the report was written to")
	}
}

// TestExcessRefusalsAreCounted checks that the first refusals of a report are stored and the
// others counted. This applies to the summary, the scan's account, and the error of a strict
// upload.
func TestExcessRefusalsAreCounted(t *testing.T) {
	report := full(matched("a.py", 1, "x"))
	for range 1000 {
		report.Report.Refuse(model.Refusal{Item: "results[1]", Reason: "no line"})
		report.Report.Results = append(report.Report.Results, model.Result{Item: "results[2]", Path: "b.py"})
	}
	m := newMemory()
	sum := apply(t, m, report)
	if len(sum.Refused) != model.MaxRefused || sum.CountRefused() != 2000 || sum.New != 1 {
		t.Errorf("%d refusals are kept of %d, %d findings are new", len(sum.Refused), sum.CountRefused(), sum.New)
	}
	report.Strict = true
	_, err := Apply(t.Context(), m, m, report)
	var invalid *model.InvalidError
	if !errors.As(err, &invalid) || len(invalid.Fields) != model.MaxRefused+1 {
		t.Errorf("strict: %.200v", err)
	}
}

func TestScanRow(t *testing.T) {
	clock := newMemory().clock.Add(time.Minute)
	earlier := clock.Add(-time.Hour)
	base := model.Scan{
		ProjectID: 1, Ref: "refs/heads/main", Source: "semgrep", StartedAt: clock, CompletedAt: clock, Full: true,
		Products: model.Products(0).With(model.SAST), Status: model.ScanCompleted, Outcome: model.ScanApplied, TotalTime: -1,
	}
	for name, test := range map[string]struct {
		change func(*Upload)
		want   func(*model.Scan)
	}{
		"nothing told": {func(*Upload) {}, func(*model.Scan) {}},
		"start and time": {func(u *Upload) { u.Report.StartedAt, u.Report.TotalTime = earlier, time.Minute }, func(s *model.Scan) {
			s.StartedAt, s.CompletedAt, s.TotalTime = earlier, earlier.Add(time.Minute), time.Minute
		}},
		"start alone":          {func(u *Upload) { u.Report.StartedAt = earlier }, func(s *model.Scan) { s.StartedAt = earlier }},
		"back-dated":           {func(u *Upload) { u.At = earlier }, func(s *model.Scan) { s.StartedAt, s.CompletedAt = earlier, earlier }},
		"back-dated beats all": {func(u *Upload) { u.At, u.Report.StartedAt = earlier, clock.Add(-time.Second) }, func(s *model.Scan) { s.StartedAt, s.CompletedAt = earlier, earlier }},
		"from the future":      {func(u *Upload) { u.Report.StartedAt, u.Report.TotalTime = clock.Add(time.Hour), time.Minute }, func(s *model.Scan) { s.TotalTime = time.Minute }},
		"failed": {func(u *Upload) { u.Report.Failed = true }, func(s *model.Scan) {
			s.Status, s.ExitCode, s.Error = model.ScanError, 2, "the report states that the scanner's run failed"
		}},
		"category and commit": {func(u *Upload) { u.Category, u.Commit, u.Report.Tool = "ios", "c1", "CodeQL" }, func(s *model.Scan) { s.Source, s.Commit = "codeql:ios", "c1" }},
		"as the report says":  {func(u *Upload) { u.Report.Category, u.Report.Commit = "ios", "c1" }, func(s *model.Scan) { s.Source, s.Commit = "semgrep:ios", "c1" }},
		"no ref":              {func(u *Upload) { u.Ref = "" }, func(s *model.Scan) { s.Ref = "HEAD" }},
		"counts": {func(u *Upload) {
			u.Report.Results = []model.Result{matched("a.py", 1, "x"), secret("a.py", 1, 1), vulnerable("p", "1")}
		}, func(s *model.Scan) {
			s.Counts = model.FindingCounts{Code: 1, Secrets: 1, SupplyChain: 1}
			s.Products = s.Products.With(model.SCA).With(model.Secrets)
		}},
		"products of rules": {func(u *Upload) { u.Report.Products, u.Report.Rules = 0, []*model.Rule{leak} }, func(s *model.Scan) { s.Products = model.Products(0).With(model.Secrets) }},
		"products of a BOM": {func(u *Upload) { u.Report.Products, u.Report.Inventories = 0, []model.Inventory{{Lockfile: "l"}} }, func(s *model.Scan) { s.Products = model.Products(0).With(model.SCA) }},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			apply(t, m, upload(full(), test.change))
			want, got := base, m.scans[0]
			test.want(&want)
			if got.Digest == (model.Digest{}) {
				t.Error("no digest")
			}
			want.ID, want.Digest = got.ID, got.Digest
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("scan (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLateScansLeaveProjectUnchanged checks that repeated and late uploads do not change the
// project.
func TestLateScansLeaveProjectUnchanged(t *testing.T) {
	m := newMemory()
	at := m.clock
	of := func(url string, minutes int, change func(*Upload)) Upload {
		u := upload(full(matched("a.py", 1, "x")), change)
		u.Project.URL, u.At = "https://example.com/acme/"+url, at.Add(time.Duration(minutes-60)*time.Minute)
		return u
	}
	same := func(*Upload) {}
	apply(t, m, of("one", 10, same))
	apply(t, m, of("two", 10, func(u *Upload) { u.Category = "other" }))
	if sum := apply(t, m, of("old", 5, same)); sum.Outcome != model.ScanLate || m.projects[0].URL != "https://example.com/acme/two" {
		t.Errorf("late: %v, the project is at %s", sum.Outcome, m.projects[0].URL)
	}
	apply(t, m, of("three", 20, same))
	if m.projects[0].URL != "https://example.com/acme/three" {
		t.Errorf("the project is at %s", m.projects[0].URL)
	}
}

func TestBackdatedUploads(t *testing.T) {
	m := newMemory()
	at := m.clock.Add(-24 * time.Hour)
	dated := func(u *Upload) { u.At = at }
	apply(t, m, upload(full(matched("a.py", 1, "x"), matched("b.py", 1, "y")), dated))
	at = at.Add(time.Hour)
	apply(t, m, upload(full(matched("a.py", 1, "x")), dated))
	for _, f := range m.rows {
		if !f.CreatedAt.Equal(at.Add(-time.Hour)) || !f.RelevantSince.Equal(f.CreatedAt) || f.State == model.Fixed && !f.StateUpdatedAt.Equal(at) {
			t.Errorf("times: %+v", f.Finding)
		}
	}
}

// failing is a Store that fails at one of its methods.
type failing struct {
	Store
	at string
}

var errBroken = errors.New("broken on purpose")

func (f failing) AddFindings(ctx context.Context, list []model.FindingWrite) error {
	if f.at == "AddFindings" {
		return errBroken
	}
	return f.Store.AddFindings(ctx, list)
}

func (f failing) Stream(ctx context.Context, projectID int64, ref, source, commit string) (model.ScanStream, error) {
	if f.at == "Stream" {
		return model.ScanStream{}, errBroken
	}
	return f.Store.Stream(ctx, projectID, ref, source, commit)
}

func (f failing) Findings(ctx context.Context, projectID int64, ref, source string) ([]model.Finding, error) {
	if f.at == "Findings" {
		return nil, errBroken
	}
	return f.Store.Findings(ctx, projectID, ref, source)
}

func (f failing) PutInventory(ctx context.Context, s model.InventoryStatement) (int, int, error) {
	if f.at == "PutInventory" {
		return 0, 0, errBroken
	}
	return f.Store.PutInventory(ctx, s)
}

func TestStoreErrorsAreReturned(t *testing.T) {
	u := full(matched("a.py", 1, "x"))
	u.Report.Inventories = []model.Inventory{{Lockfile: "go.sum"}}
	for _, at := range []string{"Stream", "Findings", "AddFindings", "PutInventory"} {
		if _, err := Apply(t.Context(), failing{newMemory(), at}, newMemory(), u); !errors.Is(err, errBroken) {
			t.Errorf("%s: got %v", at, err)
		}
	}
}

func TestApplyAll(t *testing.T) {
	one, other := full(matched("a.py", 1, "x")), full(secret("a.py", 1, 1))
	other.Report.Tool = "gitleaks"
	m := newMemory()
	sums, err := ApplyAll(t.Context(), m, m, one, []*model.Report{one.Report, other.Report})
	if err != nil || len(sums) != 2 || sums[0].Source != "semgrep" || sums[1].Source != "gitleaks" || sums[0].ScanID == sums[1].ScanID {
		t.Fatalf("%+v, %v", sums, err)
	}
	if sums, err := ApplyAll(t.Context(), m, m, one, []*model.Report{one.Report, nil}); err == nil || sums != nil {
		t.Errorf("with a broken one: %+v, %v", sums, err)
	}
}
