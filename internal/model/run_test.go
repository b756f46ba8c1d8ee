package model

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var commitA, commitB = strings.Repeat("a", 40), strings.Repeat("b", 40)

func TestRunFate(t *testing.T) {
	full := Run{ProjectID: 1, Ref: "refs/heads/main", Kind: RunFull, Commit: commitA}
	request := Run{ProjectID: 1, Ref: "refs/pull/7/head", Kind: RunDiff, Change: 7, Base: "refs/heads/main", Commit: commitA}
	with := func(r Run, change func(*Run)) Run { change(&r); return r }
	state := func(r Run, s RunState) Run { r.State = s; return r }
	newer := func(r *Run) { r.Commit = commitB }
	for name, c := range map[string]struct {
		had, newer Run
		want       RunFate
	}{
		"waits, newer commit":                  {state(full, RunQueued), with(full, newer), RunGivesWay},
		"waits, the same":                      {state(full, RunQueued), full, RunSuffices},
		"waits, another ref":                   {state(full, RunQueued), with(full, func(r *Run) { r.Ref = "refs/heads/x" }), RunStays},
		"waits, another project":               {state(full, RunQueued), with(full, func(r *Run) { r.ProjectID = 2 }), RunStays},
		"waits, another kind":                  {state(full, RunQueued), with(request, func(r *Run) { r.Ref = full.Ref }), RunStays},
		"has begun, newer commit of a branch":  {state(full, RunScanning), with(full, newer), RunStays},
		"has begun, newer commit of a request": {state(request, RunFetching), with(request, newer), RunIsStopped},
		"leased, newer commit of a request":    {state(request, RunLeased), with(request, newer), RunIsStopped},
		"has begun, the same commit":           {state(request, RunUploading), request, RunSuffices},
		"has begun, another request":           {state(request, RunScanning), with(request, func(r *Run) { newer(r); r.Change, r.Ref = 8, "refs/pull/8/head" }), RunStays},
		"has ended":                            {state(request, RunDone), request, RunStays},
		"a request that waits, newer commit":   {state(request, RunQueued), with(request, newer), RunGivesWay},
		"a request that waits, its base moved": {state(request, RunQueued), with(request, func(r *Run) { r.Base = "refs/heads/dev" }), RunGivesWay},
		"a request that began, its base moved": {state(request, RunScanning), with(request, func(r *Run) { r.Base = "refs/heads/dev" }), RunIsStopped},
		"began at the newest commit, repeated": {state(with(full, func(r *Run) { r.Commit = "" }), RunScanning), with(full, func(r *Run) { r.Commit = "" }), RunStays},
	} {
		if got := c.had.Fate(c.newer); got != c.want {
			t.Errorf("%s: fate %d, want %d", name, got, c.want)
		}
	}
}

// TestRunsEnd checks that a run ends within its attempts regardless of its runners, and that an
// ended run does not change.
func TestRunsEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
		r := Run{State: RunQueued, DueAt: now}
		for steps := 0; !r.State.Ended(); steps++ {
			if steps > 100 {
				t.Fatalf("no end after %d attempts, in state %s", r.Attempt, r.State)
			}
			now = now.Add(time.Duration(rapid.IntRange(1, 3000).Draw(t, "seconds")) * time.Second)
			if r.State == RunQueued {
				if now.Before(r.DueAt) {
					continue
				}
				r.State, r.Attempt, r.BegunAt, r.LeaseUntil = RunLeased, r.Attempt+1, now, now.Add(RunLease)
				if r.Attempt > RunAttempts {
					t.Fatalf("attempt %d", r.Attempt)
				}
				continue
			}
			if o, over := r.Overdue(now); over {
				before := r
				r = r.After(o, now)
				if r.State.Begun() || r.State == RunQueued && before.Attempt >= RunAttempts {
					t.Fatalf("%s after %+v at attempt %d", r.State, o, before.Attempt)
				}
				continue
			}
			if rapid.Bool().Draw(t, "goes on") {
				next := RunState(rapid.IntRange(0, 12).Draw(t, "state"))
				if r.State.MayBecome(next) {
					if next < r.State || next.Ended() || next == RunQueued {
						t.Fatalf("%s became %s", r.State, next)
					}
					r.State, r.LeaseUntil = next, now.Add(RunLease)
				}
				continue
			}
			o := RunOutcome{
				State:   rapid.SampledFrom([]RunState{RunDone, RunFailed, RunCancelled, RunTimedOut}).Draw(t, "outcome"),
				Failure: RunFailure(rapid.IntRange(0, 3).Draw(t, "class")),
			}
			was := r
			r = r.After(o, now)
			if retry := o.State == RunFailed && (o.Failure == RunTransient || o.Failure == 0) && was.Attempt < RunAttempts; retry != (r.State == RunQueued) {
				t.Fatalf("attempt %d with %+v became %s", was.Attempt, o, r.State)
			}
			if r.State == RunQueued && !r.DueAt.After(now) {
				t.Fatal("tried again without a wait")
			}
		}
		if !r.LeaseUntil.IsZero() || r.EndedAt.IsZero() {
			t.Fatalf("ended with the lease %v at %v", r.LeaseUntil, r.EndedAt)
		}
	})
}

func TestRunBackoffGrows(t *testing.T) {
	for attempt, want := range map[int]time.Duration{0: 30 * time.Second, 1: 30 * time.Second, 2: 2 * time.Minute, 3: 8 * time.Minute, 9: time.Hour} {
		if got := RunBackoff(attempt); got != want {
			t.Errorf("after attempt %d: %s, want %s", attempt, got, want)
		}
	}
}

func TestCheckRunRejectsUnsafeRefs(t *testing.T) {
	good := Run{Kind: RunFull, Cause: RunByHand}
	for _, ref := range []string{"", "refs/heads/main", "refs/heads/feature/x-1", "refs/pull/7/head", "refs/heads/ö", "main"} {
		r := good
		if r.Ref = ref; CheckRun(r) != nil {
			t.Errorf("%q was refused: %v", ref, CheckRun(r))
		}
	}
	for _, ref := range []string{
		"-upload-pack=x", "--all", "refs/heads/-x", "refs/heads/a..b", "a b", "a:b", "+a", "refs/*", "a\x00b", "a\nb", "a^", "a~1", "a@{1}", "/a", "a//b", ".x", "refs/.git/x", strings.Repeat("a", 1001),
	} {
		r := good
		if r.Ref = ref; CheckRun(r) == nil {
			t.Errorf("%q was taken", ref)
		}
	}
	for what, r := range map[string]Run{
		"no kind": {Cause: RunByHand}, "no cause": {Kind: RunFull}, "a diff without a base": {Kind: RunDiff, Cause: RunByPush},
		"a short commit": {Kind: RunFull, Cause: RunByHand, Commit: "abc"}, "a commit in capitals": {Kind: RunFull, Cause: RunByHand, Commit: strings.Repeat("A", 40)},
		"a negative number": {Kind: RunFull, Cause: RunByHand, Change: -1},
	} {
		if CheckRun(r) == nil {
			t.Errorf("%s was taken", what)
		}
	}
}

// TestScheduleSpreadAndCatchUp checks that each project has its own minute. Missed runs are
// made up once, and the next time follows the last one.
func TestScheduleSpreadAndCatchUp(t *testing.T) {
	start := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for every, period := range map[RunEvery]time.Duration{RunWeekly: 7 * 24 * time.Hour, RunDaily: 24 * time.Hour} {
		seen := map[time.Duration]bool{}
		for id := int64(1); id <= 200; id++ {
			next := every.Next(id, start)
			if !next.After(start) || next.Sub(start) > period || !every.Next(id, next).Equal(next.Add(period)) || !every.Next(id, next.Add(-1)).Equal(next) {
				t.Fatalf("%s, project %d: %v", every, id, next)
			}
			seen[next.Sub(start)/time.Hour] = true
			p := RunPlan{ProjectID: id, Every: every, QueuedAt: start}
			late := next.Add(5*period + time.Minute)
			if p.Due(next.Add(-time.Second)) || !p.Due(next) || !p.Due(late) {
				t.Fatalf("%s, project %d: due at the wrong time", every, id)
			}
			if p.QueuedAt = late; p.Due(late.Add(time.Second)) {
				t.Fatalf("%s, project %d: made up twice", every, id)
			}
		}
		if len(seen) < 15 {
			t.Errorf("%s: 200 projects fall into %d hours", every, len(seen))
		}
	}
	for _, every := range []RunEvery{0, RunOnPush, RunNever} {
		if !every.Next(1, start).IsZero() || (RunPlan{ProjectID: 1, Every: every, QueuedAt: start}).Due(start.Add(1e6*time.Hour)) {
			t.Errorf("%q is due by itself", every)
		}
	}
}

func TestRunStatus(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	present := []Runner{{SeenAt: now.Add(-time.Hour)}, {SeenAt: now.Add(-time.Minute)}}
	wanted := Project{ID: 1, ManagedScan: ManagedScan{Full: true}}
	plan := RunPlan{ProjectID: 1, Every: RunWeekly, QueuedAt: now}
	for name, c := range map[string]struct {
		facts RunFacts
		want  ManagedState
		next  bool
	}{
		"off":                {RunFacts{Project: Project{ID: 1}, Plan: plan, Connected: true, Runners: present}, RunsOff, false},
		"no connection":      {RunFacts{Project: wanted, Plan: plan, Runners: present}, RunsWithoutConnection, false},
		"no runner":          {RunFacts{Project: wanted, Plan: plan, Connected: true}, RunsWithoutRunner, true},
		"runner is gone":     {RunFacts{Project: wanted, Plan: plan, Connected: true, Runners: present[:1]}, RunsWithoutRunner, true},
		"scheduled":          {RunFacts{Project: wanted, Plan: plan, Connected: true, Runners: present}, RunsScheduled, true},
		"waits":              {RunFacts{Project: wanted, Plan: plan, Connected: true, Runners: present, Open: &Run{State: RunQueued}}, RunsScheduled, true},
		"running":            {RunFacts{Project: wanted, Plan: plan, Connected: true, Runners: present, Open: &Run{State: RunScanning}}, RunsRunning, true},
		"failing":            {RunFacts{Project: wanted, Plan: plan, Connected: true, Runners: present, Last: &Run{State: RunFailed, Reason: "the branch is gone"}}, RunsFailing, true},
		"mended":             {RunFacts{Project: wanted, Plan: plan, Connected: true, Runners: present, Last: &Run{State: RunDone, ScanID: 9}}, RunsScheduled, true},
		"repository is gone": {RunFacts{Project: wanted, Plan: plan, Lost: "the host tells of it no more", Runners: present}, RunsWithoutConnection, false},
		"host says no":       {RunFacts{Project: wanted, Plan: plan, Connected: true, Trouble: "401", Runners: present}, RunsFailing, true},
		"by hand while off":  {RunFacts{Project: Project{ID: 1}, Connected: true, Open: &Run{State: RunQueued}}, RunsWithoutRunner, false},
	} {
		got := c.facts.Status(now)
		if got.State != c.want || got.NextAt.IsZero() == c.next || got.Reason == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := (RunFacts{Project: wanted, Connected: true, Runners: present, Open: &Run{ID: 8, State: RunQueued}, Last: &Run{ID: 7, State: RunFailed, Reason: "the branch is gone", ScanID: 3, EndedAt: now}}).Status(now); got.Reason != "the branch is gone" ||
		got.LastScan != 3 || got.LastRun != 7 || got.OpenRun != 8 || !got.LastAt.Equal(now) {
		t.Errorf("%+v", got)
	}
}

func TestRunnerFieldsAreBounded(t *testing.T) {
	labels := make([]string, 50)
	for i := range labels {
		labels[i] = strings.Repeat("ö", 200)
	}
	r := Runner{Name: " a\nb\x1b[2J ", Version: strings.Repeat("x", 1000), Labels: append([]string{"", "  "}, labels...)}.Normal()
	if r.Name != "ab[2J" || len(r.Version) != MaxRunnerName || len(r.Labels) != MaxRunnerLabels-2 || len(r.Labels[0]) != MaxRunnerName {
		t.Errorf("%q, %d bytes, %d labels", r.Name, len(r.Version), len(r.Labels))
	}
	if (Runner{}).Normal().Name != "runner" {
		t.Error("a runner without a name has none")
	}
}

// TestRunnerWithoutSandboxWarning checks for warnings about connected runners without a
// sandbox that may execute the requested runs.
func TestRunnerWithoutSandboxWarning(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	sandboxed := Runner{Name: "kept", Isolation: "bubblewrap: no network, the checkout alone", SeenAt: now}
	loose := Runner{Name: "loose", Isolation: NoSandbox + "bubblewrap (bwrap) is not installed", SeenAt: now}
	gone := loose
	gone.SeenAt = now.Add(-RunnerGone)
	wanted, off := Project{ManagedScan: ManagedScan{Diff: true}}, Project{}
	for name, c := range map[string]struct {
		facts RunFacts
		warns bool
	}{
		"kept in":      {RunFacts{Project: wanted, Runners: []Runner{sandboxed}}, false},
		"not kept in":  {RunFacts{Project: wanted, Runners: []Runner{loose}}, true},
		"one of two":   {RunFacts{Project: wanted, Runners: []Runner{sandboxed, loose}}, true},
		"gone":         {RunFacts{Project: wanted, Runners: []Runner{gone, sandboxed}}, false},
		"not wanted":   {RunFacts{Project: off, Runners: []Runner{loose}}, false},
		"by hand once": {RunFacts{Project: off, Runners: []Runner{loose}, Open: &Run{State: RunQueued}}, true},
		"none":         {RunFacts{Project: wanted}, false},
	} {
		got := c.facts.Status(now).Warning
		if (got != "") != c.warns || c.warns && (!strings.Contains(got, "loose scans without a sandbox") || !strings.Contains(got, "(bubblewrap (bwrap) is not installed)")) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestScansOfRun checks which scans a run is credited with. These are its own scan, and an
// equal scan of an earlier managed run of the same commit, but not a scan of a build.
func TestScansOfRun(t *testing.T) {
	run := Run{ID: 7, ProjectID: 1, Ref: "refs/heads/main", Commit: commitA}
	for name, c := range map[string]struct {
		scan Scan
		want bool
	}{
		"its own":                        {Scan{ProjectID: 1, RunID: 7, Ref: run.Ref, Commit: commitA}, true},
		"of a run of the commit before":  {Scan{ProjectID: 1, RunID: 6, Ref: run.Ref, Commit: commitA}, true},
		"of a build of the commit":       {Scan{ProjectID: 1, Ref: run.Ref, Commit: commitA}, false},
		"of a run of another commit":     {Scan{ProjectID: 1, RunID: 6, Ref: run.Ref, Commit: commitB}, false},
		"of a run of another branch":     {Scan{ProjectID: 1, RunID: 6, Ref: "refs/heads/x", Commit: commitA}, false},
		"of another project":             {Scan{ProjectID: 2, RunID: 6, Ref: run.Ref, Commit: commitA}, false},
		"of another project, of its own": {Scan{ProjectID: 2, RunID: 7, Ref: run.Ref, Commit: commitA}, false},
	} {
		if got := run.Brought(c.scan); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if (Run{ID: 7, ProjectID: 1}).Brought(Scan{ProjectID: 1, RunID: 6}) {
		t.Error("what names no commit is taken for the same one")
	}
}
