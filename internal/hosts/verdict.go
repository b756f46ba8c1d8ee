package hosts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
)

// verdict is the content of a commit status. The zero value sends nothing.
type verdict struct {
	state        scm.StatusState
	text         string
	page         string        // path of the details page, relative to the deployment
	recheckAfter time.Duration // delay before the next evaluation without other events; 0: none
}

// awaitFor is how long a commit waits for the sources that scanned its parent, after the newest
// scan of the commit.
const awaitFor = 10 * time.Minute

// judge computes the status of a commit from all of its runs and scans on any ref. The status is
// pending until all expected scans have ended.
func judge(f store.CommitFacts, items []item, now time.Time) verdict {
	if v := pending(f, now); v.state != 0 {
		return v
	}
	if v := blocked(items); v.state != 0 {
		return v
	}
	if v := broken(f, now); v.state != 0 {
		return v
	}
	for _, s := range slices.Backward(f.Scans) {
		if s.StatusAt(now) == model.ScanCompleted {
			return verdict{scm.StatusSuccess, counted(0, lineages(items, false)), pageOfScan(s.ID), 0}
		}
	}
	for _, r := range f.Runs {
		if r.State == model.RunDone {
			return verdict{scm.StatusSuccess, "nothing to scan", "/scans", 0}
		}
	}
	return verdict{}
}

func pageOfScan(id int64) string { return "/scans/" + strconv.FormatInt(id, 10) }

// pending returns a pending verdict if a run or scan has not ended.
func pending(f store.CommitFacts, now time.Time) verdict {
	for _, r := range f.Runs {
		if !r.State.Ended() {
			text := "a scan is running"
			if !r.State.Begun() {
				text = "a scan is waiting for a runner"
			}
			return verdict{scm.StatusPending, text, "/scans", 0}
		}
	}
	for _, s := range f.Scans {
		if s.StatusAt(now) == model.ScanRunning {
			return verdict{
				scm.StatusPending, "a scan is running", pageOfScan(s.ID),
				s.StartedAt.Add(model.ScanTimeout).Sub(now) + time.Second,
			}
		}
	}
	for _, before := range f.Before {
		newest, missing := time.Time{}, true
		for _, s := range f.Scans {
			if s.Ref == before.Ref {
				missing = missing && s.Source != before.Source
				newest = later(newest, later(s.StartedAt, s.CompletedAt))
			}
		}
		if wait := newest.Add(awaitFor).Sub(now); missing && wait > 0 {
			return verdict{
				scm.StatusPending, fmt.Sprintf("waiting for the scan by %.40s", before.Source), "/scans", wait + time.Second,
			}
		}
	}
	return awaited(f, now)
}

// awaited returns a pending verdict if the scan of a change request itself is expected: a scan of
// its branch does not replace it.
func awaited(f store.CommitFacts, now time.Time) verdict {
	newest := time.Time{}
	for _, s := range f.Scans {
		newest = later(newest, later(s.StartedAt, s.CompletedAt))
	}
	for _, r := range f.Runs {
		newest = later(newest, r.EndedAt)
	}
	for _, a := range f.Awaited {
		if wait := later(newest, a.Since).Add(awaitFor).Sub(now); wait > 0 {
			return verdict{
				scm.StatusPending, fmt.Sprintf("waiting for the scan of change request %d by %.40s", a.Change, a.Source),
				"/scans", wait + time.Second,
			}
		}
	}
	return verdict{}
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// blocked returns a failure if findings block the commit, with the newest scan that has one.
func blocked(items []item) verdict {
	scan := int64(0)
	for _, i := range items {
		if i.blocks {
			scan = max(scan, i.scan)
		}
	}
	if scan == 0 {
		return verdict{}
	}
	return verdict{
		scm.StatusFailure, counted(lineages(items, true), lineages(items, false)), pageOfScan(scan) + "/blocking", 0,
	}
}

// lineages counts the lineages that block, or those that do not.
func lineages(items []item, blocks bool) int {
	stops := map[int64]bool{}
	for _, i := range items {
		stops[i.lineage] = stops[i.lineage] || i.blocks
	}
	n := 0
	for _, stop := range stops {
		if stop == blocks {
			n++
		}
	}
	return n
}

// broken returns an error verdict if a run or scan failed.
func broken(f store.CommitFacts, now time.Time) verdict {
	for _, r := range slices.Backward(f.Runs) {
		if r.State != model.RunDone {
			return verdict{scm.StatusError, "not scanned: " + cmp.Or(r.Reason, r.State.String()), "/scans", 0}
		}
	}
	for _, s := range slices.Backward(f.Scans) {
		switch s.StatusAt(now) {
		case model.ScanError:
			return verdict{
				scm.StatusError, "scan failed: " + cmp.Or(s.Error, fmt.Sprintf("exit code %d", s.ExitCode)), pageOfScan(s.ID), 0,
			}
		case model.ScanNeverFinished:
			return verdict{scm.StatusError, "scan never finished", pageOfScan(s.ID), 0}
		case model.ScanRunning, model.ScanCompleted:
		}
	}
	return verdict{}
}

// changeNumber matches the number in a ref of a change request.
var changeNumber = regexp.MustCompile(`^refs/(?:pull|merge-requests)/([0-9]{1,18})/`)

func numberIn(ref string) int64 {
	found := changeNumber.FindStringSubmatch(ref)
	if found == nil {
		return 0
	}
	n, _ := strconv.ParseInt(found[1], 10, 64) // only digits, by the pattern
	return n
}

// refsOf maps the scanned refs to whether they belong to a change request.
func refsOf(f store.CommitFacts, c model.ChangeRequest) map[string]bool {
	refs := map[string]bool{}
	for _, s := range f.Scans {
		refs[s.Ref] = numberIn(s.Ref) == c.Number || s.Ref == "refs/heads/"+c.HeadRef
	}
	return refs
}

// changesOf returns the open change requests whose head is the commit. An outdated commit gets a
// status but no comments.
func changesOf(ctx context.Context, h scm.Host, m message) (changes []model.ChangeRequest, err error) {
	numbers, branches := map[int64]bool{}, false
	for _, s := range m.facts.Scans {
		if n := numberIn(s.Ref); n != 0 {
			numbers[n] = true
		} else {
			branches = true
		}
	}
	var open []model.ChangeRequest
	if branches {
		if open, err = h.ChangeRequests(ctx, m.repository); err != nil {
			return nil, err
		}
	}
	for _, c := range open {
		delete(numbers, c.Number)
	}
	for n := range numbers {
		c, err := h.ChangeRequest(ctx, m.repository, n)
		if errors.Is(err, model.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		open = append(open, c)
	}
	for _, c := range open {
		if c.State != model.ChangeOpen || c.HeadCommit != m.update.Commit {
			continue
		}
		for _, on := range refsOf(m.facts, c) {
			if on {
				changes = append(changes, c)
				break
			}
		}
	}
	slices.SortFunc(changes, func(a, b model.ChangeRequest) int { return cmp.Compare(a.Number, b.Number) })
	return changes, nil
}
