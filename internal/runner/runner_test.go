package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
)

func TestRunFetchesScansAndUploads(t *testing.T) {
	eachIsolation(t, func(b *bench, isolated bool) {
		first := b.commit("refs/heads/main", b.tree(item{"100644", "a.py", b.blob("old\n")}, b.plan("")))
		second := b.commit("refs/heads/topic", b.tree(item{"100644", "a.py", b.blob("new\n")}, b.plan("")), first)
		end, saw := b.make(func(r *api.LeasedRun) { r.Ref, r.Commit = "", "" })
		if end.State != "done" || end.ScanID != "12" || saw == nil || saw.Files["a.py"] != "old\n" || saw.Git != "" || saw.Head != first || saw.Branch != "main" {
			b.Fatalf("%+v, saw %+v\n%s", end, saw, b.log.String())
		}
		if slices.Compact(b.states)[0] != "fetching" && b.states[0] != "leased" || !slices.Contains(b.states, "scanning") {
			b.Errorf("states %v", b.states)
		}
		end, saw = b.make(func(r *api.LeasedRun) {
			r.Kind, r.Ref, r.Commit, r.Base, r.Change = "diff", "refs/heads/topic", second, "refs/heads/main", 7
		})
		if end.State != "done" || saw.Files["a.py"] != "new\n" || saw.Base != "old" || !slices.Contains(saw.Environment, "SEMGREP_PR_ID=7") || !slices.Contains(saw.Environment, "SEMGREP_BASELINE_COMMIT="+first) {
			b.Fatalf("diff: %+v, saw %+v\n%s", end, saw, b.log.String())
		}
		if saw.Server != 200 || saw.Others != 403 || len(b.shown) == 0 || slices.ContainsFunc(b.shown, func(s string) bool { return s != "Bearer rdt_run_token" }) {
			b.Errorf("the server answers %d and %d, and was shown %v", saw.Server, saw.Others, b.shown)
		}
	})
}

// TestHostileRepositoryIsContained checks that a hostile repository cannot run code on the
// runner, access files outside of the checkout, or read a credential.
func TestHostileRepositoryIsContained(t *testing.T) {
	eachIsolation(t, func(b *bench, isolated bool) {
		run := "touch " + b.canary + ".ran"
		script := b.blob("#!/bin/sh\n" + run + "\n")
		inGit := b.tree(item{"100755", "post-checkout", script}, item{"100755", "pre-commit", script})
		gitDir := b.tree(item{"100644", "config", b.blob("[core]\n\tfsmonitor = \"" + run + "\"\n\tsshCommand = \"" + run + "\"\n")}, item{"40000", "hooks", inGit})
		tree := b.tree(
			item{"40000", ".GIT", gitDir},
			item{"40000", ".git", gitDir},
			item{"100644", ".gitattributes", b.blob("* filter=evil diff=evil merge=evil\n*.bin filter=lfs diff=lfs merge=lfs\n*.txt working-tree-encoding=UTF-16 ident eol=crlf\n")},
			item{"100644", ".gitconfig", b.blob("[filter \"evil\"]\n\tsmudge = " + run + "\n\tclean = " + run + "\n\tprocess = " + run + "\n[include]\n\tpath = " + b.canary + "\n")},
			item{"100644", ".gitmodules", b.blob("[submodule \"x\"]\n\tpath = sub\n\turl = ext::sh -c " + run + "\n\tupdate = !" + run + "\n[submodule \"y\"]\n\tpath = sub2\n\turl = file://" + b.dir + "\n")},
			item{"100644", ".lfsconfig", b.blob("[lfs]\n\turl = http://" + b.outer.Addr().String() + "\n\tcustomtransfer.x.path = " + run + "\n")},
			item{"120000", "absolute", b.blob(b.canary)},
			item{"120000", "chain", b.blob("inside/../../../../../../../../../../.." + b.canary)},
			item{"100644", "big.bin", b.blob("version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("a", 64) + "\nsize 12\n")},
			item{"120000", "doubled", b.blob(b.dir)},
			item{"40000", "doubled", b.tree(item{"100644", "canary", b.blob("overwritten")})},
			item{"120000", "escape", b.blob("../../../canary")},
			item{"40000", "git~1", gitDir},
			item{"120000", "good-link", b.blob("plan.json")},
			item{"40000", "inside", b.tree(item{"100644", "x.txt", b.blob("text")}, item{"120000", "up", b.blob("../plan.json")})},
			item{"120000", "into-git", b.blob(".git/config")},
			item{"100644", "new\nline\x1b[2J", b.blob("odd")},
			b.plan(""),
			item{"160000", "sub", strings.Repeat("1", 40)},
			item{"160000", "sub2", strings.Repeat("2", 40)},
		)
		b.commit("refs/heads/$(touch${IFS}x)", tree)
		end, _ := b.make(func(r *api.LeasedRun) { r.Ref = "refs/heads/$(touch${IFS}x)" })
		// Git rejects such a tree entirely; without the rejected entries, the rest is scanned.
		if end.State != "failed" || end.Failure != "permanent" {
			b.Errorf("a tree with files of git's own: %+v", end)
		}
		tree = b.without(tree, ".git", ".GIT", "git~1", "doubled", "into-git")
		b.commit("refs/heads/main", tree)
		end, saw := b.make(nil)
		if end.State != "done" || saw == nil {
			b.Fatalf("%+v\n%s", end, b.log.String())
		}
		for _, gone := range []string{"absolute", "chain", "escape", "sub", "sub2"} {
			if _, found := saw.Files[gone]; found {
				b.Errorf("%s is in the checkout", gone)
			}
		}
		if saw.Files["good-link"] == "" || saw.Files["inside/up"] != saw.Files["plan.json"] || saw.Files["inside/x.txt"] != "text" || !strings.HasPrefix(saw.Files["big.bin"], "version https://git-lfs") {
			b.Errorf("harmless files were changed: %v", saw.Files)
		}
		b.harmless(saw, isolated)
	})
}

// without returns a tree without some of its entries.
func (b *bench) without(tree string, names ...string) string {
	b.Helper()
	var items []item
	for line := range strings.SplitSeq(strings.TrimSuffix(b.git(b.remote, "ls-tree", "-z", tree), "\x00"), "\x00") {
		facts, name, _ := strings.Cut(line, "\t")
		words := strings.Fields(facts)
		if !slices.Contains(names, name) {
			items = append(items, item{strings.TrimPrefix(words[0], "0"), name, words[2]})
		}
	}
	return b.tree(items...)
}

// harmless checks what a scan of hostile code could access and do.
func (b *bench) harmless(saw *seen, isolated bool) {
	b.Helper()
	for _, file := range []string{b.canary + ".ran", filepath.Join(b.dir, "x")} {
		if _, err := os.Stat(file); err == nil {
			b.Errorf("%s was made: something of the repository ran", file)
		}
	}
	if text, _ := os.ReadFile(b.canary); string(text) != "canary" {
		b.Errorf("the canary is %q", text)
	}
	all := strings.Join(saw.Environment, "\n") + saw.Remote + b.log.String() + b.output.String()
	for _, secret := range []string{"clone-password", "rdt_run_token", "runner-token"} {
		if strings.Contains(all, secret) {
			b.Errorf("%s is in the scan's environment, in git's settings or in a log", secret)
		}
	}
	if strings.Contains(saw.Remote, "remote.") || strings.Contains(saw.Remote, "url") {
		b.Errorf("the checkout knows where it is from: %s", saw.Remote)
	}
	_, err := os.Stat(b.canary + ".written")
	if isolated && (saw.Canary || err == nil || saw.Network || saw.Processes > 5) {
		b.Errorf("the scan is not isolated: %+v", saw)
	}
}

func TestFailuresAreReported(t *testing.T) {
	b := newBench(t, nil)
	main := b.commit("refs/heads/main", b.tree(item{"100644", "a.py", b.blob("x")}, b.plan("")))
	b.commit("refs/heads/alone", b.tree(b.plan("")))
	b.commit("refs/heads/fail", b.tree(b.plan("fail")))
	for name, c := range map[string]struct {
		change func(*api.LeasedRun)
		want   string
		class  string
	}{
		"no branch":      {func(r *api.LeasedRun) { r.Ref = "refs/heads/gone" }, "the branch no longer exists", "permanent"},
		"no commit":      {func(r *api.LeasedRun) { r.Commit = strings.Repeat("e", 40) }, "no longer exists at the host", "permanent"},
		"no repository":  {func(r *api.LeasedRun) { r.CloneURL += "x" }, "does not exist", "permanent"},
		"ext":            {func(r *api.LeasedRun) { r.CloneURL = "ext::sh -c touch% " + b.canary + ".ran" }, "unsupported address", "permanent"},
		"git":            {func(r *api.LeasedRun) { r.CloneURL = "git://127.0.0.1/x" }, "unsupported address", "permanent"},
		"a path":         {func(r *api.LeasedRun) { r.CloneURL = b.remote }, "unsupported address", "permanent"},
		"an option":      {func(r *api.LeasedRun) { r.CloneURL = "ssh://-oProxyCommand=touch/x" }, "has no host", "permanent"},
		"no response":    {func(r *api.LeasedRun) { r.CloneURL = "http://127.0.0.1:1/x.git" }, "does not respond", "transient"},
		"unrelated base": {func(r *api.LeasedRun) { r.Kind, r.Base, r.Commit = "diff", "refs/heads/alone", main }, "no commit in common", "permanent"},
		"a scanner":      {func(r *api.LeasedRun) { r.Ref = "refs/heads/fail" }, "exit code 7", "scanner"},
	} {
		end, _ := b.make(c.change)
		if end.State != "failed" || end.Failure != c.class || !strings.Contains(end.Reason, c.want) {
			t.Errorf("%s: %+v", name, end)
		}
	}
	if !strings.Contains(b.log.String(), "last words") && b.end.Failure == "scanner" {
		t.Error("the scanner's last words are not in the log")
	}
}

func TestRunsAreBounded(t *testing.T) {
	eachIsolation(t, func(b *bench, _ bool) {
		b.runner.Limits = Limits{Memory: 200 << 20, Disk: 40 << 20, Cache: 1 << 30, Files: 10, Processes: 30}
		for _, behave := range []string{"sleep", "grow", "fill", "fork"} {
			b.commit("refs/heads/"+behave, b.tree(b.plan(behave)))
		}
		var many []item
		for i := range 11 {
			many = append(many, item{"100644", fmt.Sprintf("f%02d", i), b.blob(fmt.Sprint(i))})
		}
		b.commit("refs/heads/many", b.tree(many...))
		for _, c := range []struct{ ref, state, class, want string }{
			{"sleep", "timed_out", "", "time limit"}, {"grow", "failed", "scanner", "of memory"}, {"fill", "failed", "scanner", "of disk space"}, {"fork", "failed", "scanner", "30 processes"}, {"many", "failed", "permanent", "more than 10 files"},
		} {
			end, _ := b.make(func(r *api.LeasedRun) {
				r.Ref = "refs/heads/" + c.ref
				if c.ref == "sleep" {
					r.Limits.Seconds = 3
				}
			})
			if end.State != c.state || end.Failure != c.class || !strings.Contains(end.Reason, c.want) {
				b.Errorf("%s: %+v", c.ref, end)
			}
		}
	})
}

// TestEndIsReportedUntilAccepted checks that an outcome is retried until the server accepts it, so
// that a brief outage does not cause another scan.
func TestEndIsReportedUntilAccepted(t *testing.T) {
	b := newBench(t, nil)
	b.commit("refs/heads/main", b.tree(b.plan("")))
	b.deaf = map[string]int{"progress": 2, "finish": 2}
	if end, _ := b.make(nil); end.State != "done" || end.ScanID != "12" || b.deaf["finish"] != 0 || b.deaf["progress"] != 0 {
		t.Errorf("it ended as %+v, and the server was not told %v times", end, b.deaf)
	}
}

// TestLostRunStops checks that a lost run stops immediately and reports nothing.
func TestLostRunStops(t *testing.T) {
	b := newBench(t, nil)
	b.commit("refs/heads/main", b.tree(b.plan("sleep")))
	time.AfterFunc(2*time.Second, func() {
		b.mu.Lock()
		b.lost = true
		b.mu.Unlock()
	})
	end, _ := b.make(nil)
	if end.State != "" {
		t.Errorf("a run that is another's was ended: %+v", end)
	}
}

// TestRunStopsOnRejectedToken checks that run and runner stop if the token is rejected. The
// runner can then delete its cache.
func TestRunStopsOnRejectedToken(t *testing.T) {
	b := newBench(t, nil)
	b.commit("refs/heads/main", b.tree(b.plan("sleep")))
	time.AfterFunc(2*time.Second, func() {
		b.mu.Lock()
		b.gone = true
		b.mu.Unlock()
	})
	if end, _ := b.make(nil); end.State != "" {
		t.Errorf("the run was ended: %+v", end)
	}
	if err := b.runner.Run(t.Context()); !errors.Is(err, ErrToken) {
		t.Errorf("the runner ended with: %v", err)
	}
	cached := func() int {
		t.Helper()
		list, err := os.ReadDir(b.runner.cacheDir())
		b.check(err)
		return len(list)
	}
	if n := cached(); n != 1 {
		t.Errorf("%d repositories are kept", n)
	}
	b.check(b.runner.Forget())
	if n := cached(); n != 0 {
		t.Errorf("%d repositories are kept then", n)
	}
	if err := Remove(b.runner.Dir); err == nil {
		t.Error("the folder of a runner is removed while it works there")
	}
	b.check(b.runner.Close())
	b.check(Remove(b.runner.Dir))
	if _, err := os.Stat(b.runner.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its folder afterwards: %v", err)
	}
}

func TestDirectoryHasOneRunner(t *testing.T) {
	b := newBench(t, nil)
	if _, err := New(t.Context(), b.runner.Config); err == nil {
		t.Error("two runners share a folder")
	}
}

// TestFailedStartReleasesDirectory checks that a failed start releases the directory.
func TestFailedStartReleasesDirectory(t *testing.T) {
	path := os.Getenv("PATH")
	c := Config{Dir: t.TempDir(), Path: path, Isolation: IsolateAlways}
	t.Setenv("PATH", t.TempDir())
	if _, err := New(t.Context(), c); err == nil || !strings.Contains(err.Error(), "bubblewrap") {
		t.Fatalf("without bubblewrap: %v", err)
	}
	c.Isolation = IsolateNever
	r, err := New(t.Context(), c)
	if err != nil {
		t.Fatalf("the next try: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestLinkStays(t *testing.T) {
	for to, want := range map[string]bool{
		"x": true, "../x": true, "../../x": false, "/x": false, "": false, "..": true, "../..": false, "a/../../y": true, "../.git/config": false, "../.GIT": false, "b\\c": false, "x/../../../y": false,
	} {
		if got := linkStays("dir/link", to); got != want {
			t.Errorf("dir/link -> %q stays: %v", to, got)
		}
	}
	for name, want := range map[string]bool{"a/b": true, ".git": false, "a/.Git/b": false, "../a": false, "/a": false, "a//b": false, "": false, "git~1/x": false, ".gitignore": true, "a\\b": false} {
		if got := safePath(name); got != want {
			t.Errorf("%q is safe: %v", name, got)
		}
	}
}
