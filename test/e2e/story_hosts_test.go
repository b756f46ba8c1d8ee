//go:build hosts && linux

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/testutil/hosttest"
)

// story is a server and a real Gitea with the repository acme/shop.
type story struct {
	*ciWorld
	gitea      *hosttest.Gitea
	ada        string // token of ada at the host
	bot        string // token of the connection
	runners    map[string]*exec.Cmd
	head       string // newest commit of the change request
	hidden     string // secret that hostile code must not read
	transcript storyTranscript
}

// TestHostsStory follows a team from connecting its code host to answered change requests, through
// several failures. Each step depends on the one before. It uses the real scanner.
func TestHostsStory(t *testing.T) {
	s := &story{ciWorld: newCIWorld(t, "sqlite"), gitea: hosttest.StartGitea(t), runners: map[string]*exec.Cmd{}}
	s.bot = s.gitea.BotToken
	s.restart()
	t.Cleanup(s.killRunners)
	for _, step := range []struct {
		name string
		do   func(*story)
	}{
		{"connect and import repositories", (*story).connectAndImport},
		{"a push causes a full scan", (*story).pushAndScan},
		{"a change request with bad lines is blocked", (*story).proposeBadLines},
		{"a reply triages", (*story).replyTriages},
		{"a fix changes the status although the host is down for a while", (*story).fixWhileHostIsDown},
		{"a hostile repository stays harmless, while a runner is killed in a scan", (*story).hostileRepository},
		{"another runner takes over", (*story).runReassigned},
		{"a revoked token is reported and replaced", (*story).tokenRevoked},
	} {
		if !t.Run(step.name, func(t *testing.T) {
			defer func(of *testing.T) { s.T = of }(s.T)
			s.T = t
			s.transcript.step(step.name)
			step.do(s)
		}) {
			log, _ := os.ReadFile(s.log.Name())
			t.Fatalf("the step failed; runs:\n%s\nthe server's log ends with\n%s", s.redoubt("runs", "list"), log[max(0, len(log)-4000):])
		}
	}
	s.compare(t)
}

// connectAndImport creates the connection with the command line. The followed repositories become
// projects.
func (s *story) connectAndImport() {
	s.ada = s.gitea.User(s.T, "ada")
	s.gitea.Call(s.T, http.MethodPost, "/orgs", map[string]string{"username": "acme"}, nil)
	for _, name := range []string{"shop", "evil", "left-out"} {
		s.gitea.Call(s.T, http.MethodPost, "/orgs/acme/repos", map[string]any{"name": name, "private": true, "default_branch": "main"}, nil)
		s.gitea.Call(s.T, http.MethodPut, "/repos/acme/"+name+"/collaborators/bot", map[string]string{"permission": "admin"}, nil)
		s.gitea.Call(s.T, http.MethodPut, "/repos/acme/"+name+"/collaborators/ada", map[string]string{"permission": "write"}, nil)
	}
	s.user("ada", "triager")
	for _, rule := range []string{"eqeq", "taint-x"} {
		s.redoubt("policy", "set-mode", rule, "block")
	}
	credential := filepath.Join(s.home, "bot.token")
	s.must(os.WriteFile(credential, []byte(s.bot+"\n"), 0o600))
	output := s.typed("connections", "create", "ours", "--kind", "gitea", "--base-url", s.gitea.URL, "--credential", credential, "--follow", "acme/*", "--follow", "!acme/left-out", "--connect-to", "loopback")
	s.checkContains("adding shows the account", output, " bot ")
	s.checkContains("hooks", s.typed("connections", "hooks", "1", "--public-url", s.proxy.URL, "--connect-to", "loopback"), "2 ")
	s.checkContains("links", s.typed("connections", "replies", "1", "linked", "--link", "ada=ada", "--connect-to", "loopback"), "linked")
	list, err := s.client().ListRepositories(s.Context(), "acme", 1, api.RepositoriesQuery{})
	s.must(err)
	projects := []string{}
	for _, r := range list.Repositories {
		if r.Project != nil {
			projects = append(projects, *r.Project)
		}
	}
	slices.Sort(projects)
	if len(list.Repositories) != 3 || !slices.Equal(projects, []string{"acme/evil", "acme/shop"}) {
		s.Fatalf("repositories are %+v", list.Repositories)
	}
	s.typed("connections", "repositories", "1")
	if state := s.status("acme/shop").State; state != "off" {
		s.Errorf("managed scans are %s before they are set up", state)
	}
	_, err = s.client().ToggleManagedScan(s.Context(), "acme", "acme/shop", api.ToggleManagedScanRequest{DiffScan: &api.Switch{Enabled: new(true)}, FullScan: &api.Switch{Enabled: new(true)}, Schedule: "push"})
	s.must(err)
	if state := s.status("acme/shop").State; state != "no_runner" {
		s.Errorf("without a runner they are %s", state)
	}
}

// pushAndScan pushes the first code. A webhook reports it, and the runner finds the bad code.
func (s *story) pushAndScan() {
	s.startRunner("first")
	s.git("remote", "add", "origin", strings.Replace(s.gitea.URL, "://", "://ada:"+s.ada+"@", 1)+"/acme/shop.git")
	s.git("push", "-q", "origin", "main")
	run := s.ended("acme/shop", "the run of the push", func(r api.Run) bool { return r.Cause == "push" && r.Kind == "full" })
	if run.State != "done" || run.Ref != "refs/heads/main" || run.ScanID == nil {
		s.Fatalf("the run of the push is %+v:\n%s", run, s.redoubt("runs", "log", fmt.Sprint(run.ID)))
	}
	if found := s.codeIn("acme/shop", "main"); len(found) < 2 || found["eqeq app.py:4"].ID == 0 {
		s.Errorf("findings are %v", found)
	}
	s.typed("runs", "list", "--project", "acme/shop")
	deliveries, err := s.client().ListDeliveries(s.Context(), "acme", 1, api.DeliveriesQuery{})
	s.must(err)
	if !slices.ContainsFunc(deliveries.Deliveries, func(d api.Delivery) bool { return d.Event == "push" && d.Outcome == "push to main" }) {
		s.Errorf("the deliveries are %+v", deliveries.Deliveries)
	}
	s.until("the commit has a status", func() bool { return s.statusOf(s.rev("main")) != nil })
	if st := s.status("acme/shop"); st.State != "scheduled" || st.LastRunID == nil || *st.LastRunID != run.ID {
		s.Errorf("in force is %+v", st)
	}
	if log := s.redoubt("runs", "log", fmt.Sprint(run.ID)); strings.Contains(log, s.bot) || strings.Contains(log, "rdt_") {
		s.Errorf("the log has a secret:\n%s", log)
	}
}

// proposeBadLines opens a change request with two bad lines. It gets a failed status, a comment on
// each line and a summary.
func (s *story) proposeBadLines() {
	s.git("checkout", "-q", "-b", "topic")
	s.edit("app.py", "def k(y):", "def bad(z):\n    return z == z\n\ndef worse():\n    os.system(input())\n\ndef k(y):")
	s.commit("bad lines")
	s.git("push", "-q", "origin", "topic")
	s.head = s.rev("topic")
	var pull struct{ Number int64 }
	s.gitea.Call(s.T, http.MethodPost, "/repos/acme/shop/pulls", map[string]string{"head": "topic", "base": "main", "title": "bad lines"}, &pull)
	run := s.ended("acme/shop", "the run of the change request", func(r api.Run) bool { return r.Cause == "change_request" && r.Commit == s.head })
	if run.State != "done" || run.Kind != "diff" || run.Base != "refs/heads/main" || run.ChangeRequest == nil || *run.ChangeRequest != pull.Number {
		s.Fatalf("it is %+v:\n%s", run, s.redoubt("runs", "log", fmt.Sprint(run.ID)))
	}
	s.awaitStatus("failure", "2 blocking")
	s.until("both lines and the summary have a comment", func() bool { return len(s.comments()) == 3 })
	for _, n := range s.comments() {
		if n.User.Login != "bot" || n.Path != "" && (n.Path != "app.py" || !strings.Contains(n.Body, "redoubt:lineage")) || n.Path == "" && !strings.Contains(n.Body, "2 blocking") {
			s.Errorf("a comment is %+v", n)
		}
	}
	if st := s.statusOf(s.head); !strings.HasPrefix(st.TargetURL, s.proxy.URL+"/orgs/acme/scans/") || !strings.HasSuffix(st.TargetURL, "/blocking") {
		s.Errorf("the status links to %s", st.TargetURL)
	}
	s.atHost(s.comments()...)
}

// replyTriages replies as ada to the comment on the first line. The finding is ignored in her name,
// and the other one still blocks.
func (s *story) replyTriages() {
	at := slices.IndexFunc(s.comments(), func(n giteaNote) bool { return strings.Contains(n.Body, "eqeq") && n.Path != "" })
	if at < 0 {
		s.Fatalf("no comment is about it: %+v", s.comments())
	}
	line := s.comments()[at]
	s.gitea.Call(s.T, http.MethodPost, "/repos/acme/shop/pulls/1/reviews?sudo=ada", map[string]any{
		"event": "COMMENT", "commit_id": s.head, "comments": []map[string]any{{"path": line.Path, "new_position": line.Position, "body": "/redoubt ignore false_positive: z is a number"}},
	}, nil)
	s.awaitStatus("failure", "1 blocking")
	s.until("the reply is answered", func() bool {
		return slices.ContainsFunc(s.comments(), func(n giteaNote) bool {
			return n.User.Login == "bot" && strings.Contains(n.Body, "false positive")
		})
	})
	ignored := s.codeIn("acme/shop", "refs/pull/1/head", api.FindingsQuery{Status: []string{"ignored"}})
	if len(ignored) != 1 {
		s.Fatalf("ignored are %v", ignored)
	}
	for _, f := range ignored {
		history, err := s.client().GetFindingHistory(s.Context(), "acme", f.ID)
		s.must(err)
		by := func(e api.FindingEvent) bool { return e.Kind == "triaged" && e.By != nil && e.By.Name == "ada" }
		if !slices.ContainsFunc(history.Events, by) {
			s.Errorf("Ada decided, and its history is %+v", history.Events)
		}
	}
	s.until("its comment is settled", func() bool {
		return slices.ContainsFunc(s.comments(), func(n giteaNote) bool { return n.ID == line.ID && strings.Contains(n.Body, " settled of ") })
	})
	s.atHost(slices.DeleteFunc(s.comments(), func(n giteaNote) bool { return n.Position != line.Position })...)
	s.transcript.add("$ redoubt audit | grep reply.decide", s.maskValues(linesWith(s.redoubt("audit", "--limit", "10000"), "reply.decide")))
}

// fixWhileHostIsDown pushes the fix of the other line, and stops the host during the scan. The
// result is reported once the host is back.
func (s *story) fixWhileHostIsDown() {
	s.edit("app.py", "    os.system(input())", "    return 1")
	s.commit("the fix")
	s.git("push", "-q", "origin", "topic")
	s.head = s.rev("topic")
	own := func(r api.Run) bool { return r.Commit == s.head }
	s.until("the fix is scanned", func() bool { return s.run("acme/shop", own).State == "scanning" })
	s.gitea.Stop(s.T)
	if run := s.ended("acme/shop", "the run of the fix", own); run.State != "done" {
		s.Fatalf("it is %+v:\n%s", run, s.redoubt("runs", "log", fmt.Sprint(run.ID)))
	}
	s.gitea.Start(s.T)
	s.awaitStatus("success", "no blocking findings")
	s.until("all comments are posted", func() bool {
		open := slices.ContainsFunc(s.comments(), func(n giteaNote) bool {
			return n.Path != "" && strings.Contains(n.Body, "redoubt:lineage") && !strings.Contains(n.Body, " settled of ")
		})
		return !open && slices.ContainsFunc(s.comments(), func(n giteaNote) bool { return strings.Contains(n.Body, "no findings") })
	})
	s.atHost()
	if n := len(s.comments()); n != 5 { // two lines, the summary, the command and its answer
		s.Errorf("there are %d comments: %+v", n, s.comments())
	}
}

// runReassigned waits until another runner has completed the run of the killed runner.
func (s *story) runReassigned() {
	run := s.ended("acme/shop", "the run that was taken over", func(r api.Run) bool { return r.Cause == "manual" })
	if run.State != "done" || run.Attempt != 2 || run.Runner != "second" {
		s.Errorf("it is %+v:\n%s", run, s.redoubt("runs", "log", fmt.Sprint(run.ID)))
	}
	s.typed("runs", "list", "--project", "acme/shop", "--limit", "1")
}

// tokenRevoked revokes the connection's token. The project reports that, and a run fails
// permanently. Another token solves both.
func (s *story) tokenRevoked() {
	s.gitea.Revoke(s.T, "bot")
	tested, err := s.client().TestConnection(s.Context(), "acme", 1)
	s.must(err)
	if tested.Connection.Problem == "" {
		s.Error("a revoked token is not reported as a problem")
	}
	s.typed("connections", "list")
	if st := s.status("acme/shop"); st.State != "failing" || st.Reason == "" {
		s.Errorf("in force is %+v", st)
	}
	run := s.startRun("acme/evil")
	if run = s.ended("acme/evil", "a run without access", func(r api.Run) bool { return r.ID == run.ID }); run.State != "failed" || run.Failure != "permanent" || run.Reason == "" {
		s.Errorf("it is %+v", run)
	}
	s.typed("runs", "list", "--project", "acme/evil", "--limit", "1")
	_, err = s.client().UpdateConnection(s.Context(), "acme", 1, api.UpdateConnectionRequest{Credential: &api.ConnectionCredential{Kind: "token", Secret: s.gitea.Token(s.T, "bot")}})
	s.must(err)
	run = s.startRun("acme/evil")
	if run = s.ended("acme/evil", "a run with the new token", func(r api.Run) bool { return r.ID == run.ID }); run.State != "done" {
		s.Errorf("repaired it is %+v:\n%s", run, s.redoubt("runs", "log", fmt.Sprint(run.ID)))
	}
	if st := s.status("acme/shop"); st.State != "scheduled" {
		s.Errorf("repaired, the active lockfiles are %+v", st)
	}
}

// storyAtMost is the timeout of each wait. The expiry of a lease takes a minute, and a scan on a
// busy machine may take the rest.
const storyAtMost = 5 * time.Minute
