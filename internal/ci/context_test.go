package ci_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/ci"
	"github.com/redoubt/redoubt/internal/model"
)

const commit = "1111111111111111111111111111111111111111"

// environment is an environment as its system documents it, and the expected context.
type environment struct {
	name  string
	env   ci.Env
	event string // of GitHub
	want  ci.Context
}

var environments = []environment{
	{"plain git", ci.Env{}, "", ci.Context{System: "git", Project: "acme/app", Remote: "acme/app", URL: "https://git.example/acme/app", Ref: "refs/heads/topic", Commit: commit}},
	{"named", ci.Env{
		"SEMGREP_REPO_NAME": "acme/pay", "SEMGREP_BRANCH": "dev", "SEMGREP_COMMIT": "2222222222222222222222222222222222222222", "SEMGREP_PR_ID": "7", "SEMGREP_REPO_URL": "https://x.example/pay",
	}, "", ci.Context{System: "git", Project: "acme/pay", URL: "https://x.example/pay", Ref: "refs/heads/dev", Commit: "2222222222222222222222222222222222222222", PullRequest: "7"}},
	{"a part", ci.Env{"SEMGREP_REPO_NAME": "acme/pay", "SEMGREP_REPO_DISPLAY_NAME": "acme/pay/api"}, "", ci.Context{System: "git", Project: "acme/pay/api", URL: "https://git.example/acme/app", Ref: "refs/heads/topic", Commit: commit}},
	{"GitHub push", ci.Env{
		"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "acme/app", "GITHUB_REF": "refs/heads/main", "GITHUB_SHA": "3333333333333333333333333333333333333333", "GITHUB_EVENT_NAME": "push", "GITHUB_SERVER_URL": "https://github.example",
	}, "{}", ci.Context{System: "github-actions", Project: "acme/app", URL: "https://github.example/acme/app", Ref: "refs/heads/main", Commit: "3333333333333333333333333333333333333333"}},
	{"GitHub tag", ci.Env{
		"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "acme/app", "GITHUB_REF": "refs/tags/v1", "GITHUB_SHA": "3333333333333333333333333333333333333333", "GITHUB_EVENT_NAME": "push",
	}, "{}", ci.Context{System: "github-actions", Project: "acme/app", URL: "https://github.com/acme/app", Ref: "refs/tags/v1", Commit: "3333333333333333333333333333333333333333"}},
	{"GitHub schedule", ci.Env{
		"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "acme/app", "GITHUB_REF": "refs/heads/main", "GITHUB_EVENT_NAME": "schedule",
	}, "{}", ci.Context{System: "github-actions", Project: "acme/app", URL: "https://github.com/acme/app", Ref: "refs/heads/main", Commit: commit}},
	{
		"GitHub pull request",
		ci.Env{
			"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "acme/app", "GITHUB_REF": "refs/pull/12/merge", "GITHUB_HEAD_REF": "topic", "GITHUB_SHA": "3333333333333333333333333333333333333333", "GITHUB_EVENT_NAME": "pull_request",
		},
		`{"pull_request":{"number":12,"head":{"sha":"4444444444444444444444444444444444444444","ref":"topic"},"base":{"ref":"main"}}}`,
		ci.Context{System: "github-actions", Project: "acme/app", URL: "https://github.com/acme/app", Ref: "refs/pull/12/merge", Commit: "4444444444444444444444444444444444444444", PullRequest: "12"},
	},
	{
		"GitHub pull request target",
		ci.Env{
			"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "acme/app", "GITHUB_REF": "refs/heads/main", "GITHUB_HEAD_REF": "topic", "GITHUB_EVENT_NAME": "pull_request_target", "SEMGREP_BRANCH": "never",
		},
		`{"pull_request":{"number":12,"head":{"sha":"4444444444444444444444444444444444444444","ref":"topic"},"base":{"ref":"main"}}}`,
		ci.Context{System: "github-actions", Project: "acme/app", URL: "https://github.com/acme/app", Ref: "refs/heads/topic", Commit: "4444444444444444444444444444444444444444", PullRequest: "12"},
	},
	{"GitLab branch", ci.Env{
		"GITLAB_CI": "true", "CI_PROJECT_PATH": "group/sub/app", "CI_PROJECT_URL": "https://gitlab.example/group/sub/app", "CI_COMMIT_SHA": "5555555555555555555555555555555555555555", "CI_COMMIT_BRANCH": "main", "CI_COMMIT_REF_NAME": "main", "CI_PIPELINE_SOURCE": "push",
	}, "", ci.Context{System: "gitlab-ci", Project: "group/sub/app", URL: "https://gitlab.example/group/sub/app", Ref: "refs/heads/main", Commit: "5555555555555555555555555555555555555555"}},
	{"GitLab merge request", ci.Env{
		"GITLAB_CI": "true", "CI_PROJECT_PATH": "group/app", "CI_PROJECT_URL": "https://gitlab.example/group/app", "CI_COMMIT_SHA": "5555555555555555555555555555555555555555", "CI_MERGE_REQUEST_IID": "9", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "topic/x", "CI_PIPELINE_SOURCE": "merge_request_event",
	}, "", ci.Context{System: "gitlab-ci", Project: "group/app", URL: "https://gitlab.example/group/app", Ref: "refs/heads/topic/x", Commit: "5555555555555555555555555555555555555555", PullRequest: "9"}},
	{"CircleCI", ci.Env{
		"CIRCLECI": "true", "CIRCLE_PROJECT_USERNAME": "acme", "CIRCLE_PROJECT_REPONAME": "app", "CIRCLE_REPOSITORY_URL": "git@github.com:acme/app.git", "CIRCLE_BRANCH": "dev", "CIRCLE_SHA1": "6666666666666666666666666666666666666666", "CIRCLE_PULL_REQUEST": "https://github.com/acme/app/pull/31",
	}, "", ci.Context{System: "circleci", Project: "acme/app", URL: "git@github.com:acme/app.git", Ref: "refs/heads/dev", Commit: "6666666666666666666666666666666666666666", PullRequest: "31"}},
	{"CircleCI by address", ci.Env{
		"CIRCLECI": "true", "CIRCLE_REPOSITORY_URL": "git@github.com:acme/app.git", "CIRCLE_BRANCH": "dev", "CIRCLE_SHA1": "6666666666666666666666666666666666666666",
	}, "", ci.Context{System: "circleci", Project: "acme/app", URL: "git@github.com:acme/app.git", Ref: "refs/heads/dev", Commit: "6666666666666666666666666666666666666666"}},
	{"Jenkins", ci.Env{
		"JENKINS_URL": "https://jenkins.example", "GIT_URL": "https://git.example/scm/acme/app.git", "GIT_BRANCH": "origin/main", "GIT_COMMIT": "7777777777777777777777777777777777777777",
	}, "", ci.Context{System: "jenkins", Project: "scm/acme/app", URL: "https://git.example/scm/acme/app.git", Ref: "refs/heads/main", Commit: "7777777777777777777777777777777777777777"}},
	{"Jenkins tag", ci.Env{
		"JENKINS_URL": "https://jenkins.example", "GIT_URL": "ssh://git@git.example:7999/acme/app.git", "GIT_BRANCH": "refs/tags/v1", "GIT_COMMIT": "7777777777777777777777777777777777777777",
	}, "", ci.Context{System: "jenkins", Project: "acme/app", URL: "ssh://git@git.example:7999/acme/app.git", Ref: "HEAD", Commit: "7777777777777777777777777777777777777777"}},
	{"Bitbucket", ci.Env{
		"BITBUCKET_BUILD_NUMBER": "5", "BITBUCKET_REPO_FULL_NAME": "acme/app", "BITBUCKET_GIT_HTTP_ORIGIN": "https://bitbucket.org/acme/app", "BITBUCKET_BRANCH": "dev", "BITBUCKET_COMMIT": "8888888888888888888888888888888888888888", "BITBUCKET_PR_ID": "4",
	}, "", ci.Context{System: "bitbucket", Project: "acme/app", URL: "https://bitbucket.org/acme/app", Ref: "refs/heads/dev", Commit: "8888888888888888888888888888888888888888", PullRequest: "4"}},
	{"Azure", ci.Env{
		"BUILD_BUILDID": "77", "BUILD_REPOSITORY_URI": "https://dev.azure.com/acme/shop/_git/app", "BUILD_SOURCEBRANCH": "refs/heads/main", "BUILD_SOURCEVERSION": "9999999999999999999999999999999999999999",
	}, "", ci.Context{System: "azure-pipelines", Project: "acme/shop/app", URL: "https://dev.azure.com/acme/shop/_git/app", Ref: "refs/heads/main", Commit: "9999999999999999999999999999999999999999"}},
	{"Azure pull request", ci.Env{
		"BUILD_BUILDID": "77", "BUILD_REPOSITORY_URI": "https://dev.azure.com/acme/shop/_git/app", "BUILD_SOURCEBRANCH": "refs/pull/3/merge", "SYSTEM_PULLREQUEST_SOURCEBRANCH": "refs/heads/topic",
		"SYSTEM_PULLREQUEST_SOURCECOMMITID": "9999999999999999999999999999999999999999", "SYSTEM_PULLREQUEST_PULLREQUESTNUMBER": "3", "SYSTEM_PULLREQUEST_SOURCEREPOSITORYURI": "https://dev.azure.com/acme/shop/_git/app",
	}, "", ci.Context{System: "azure-pipelines", Project: "acme/shop/app", URL: "https://dev.azure.com/acme/shop/_git/app", Ref: "refs/heads/topic", Commit: "9999999999999999999999999999999999999999", PullRequest: "3"}},
	{"Buildkite", ci.Env{
		"BUILDKITE": "true", "BUILDKITE_REPO": "git@github.com:acme/app.git", "BUILDKITE_BRANCH": "dev", "BUILDKITE_COMMIT": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "BUILDKITE_PULL_REQUEST": "false",
	}, "", ci.Context{System: "buildkite", Project: "acme/app", URL: "git@github.com:acme/app.git", Ref: "refs/heads/dev", Commit: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}},
	{"Buildkite pull request", ci.Env{
		"BUILDKITE": "true", "BUILDKITE_REPO": "https://github.com/acme/app.git", "BUILDKITE_BRANCH": "dev", "BUILDKITE_COMMIT": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "BUILDKITE_PULL_REQUEST": "8",
	}, "", ci.Context{System: "buildkite", Project: "acme/app", URL: "https://github.com/acme/app.git", Ref: "refs/heads/dev", Commit: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", PullRequest: "8"}},
	{"Travis", ci.Env{
		"TRAVIS": "true", "TRAVIS_REPO_SLUG": "acme/app", "TRAVIS_BRANCH": "main", "TRAVIS_COMMIT": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "TRAVIS_PULL_REQUEST": "6", "TRAVIS_PULL_REQUEST_BRANCH": "topic",
	}, "", ci.Context{System: "travis-ci", Project: "acme/app", URL: "https://github.com/acme/app", Ref: "refs/heads/topic", Commit: "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", PullRequest: "6"}},
}

func TestDetect(t *testing.T) {
	for _, c := range environments {
		t.Run(c.name, func(t *testing.T) {
			facts := ci.Facts{Top: "/builds/app", Remote: "https://git.example/acme/app", Branch: "topic", Commit: commit, Event: []byte(c.event)}
			if diff := cmp.Diff(c.want, ci.Detect(c.env, facts)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	detached := ci.Detect(ci.Env{}, ci.Facts{Top: "/builds/app", Branch: "HEAD"})
	if detached.Ref != "HEAD" || detached.URL != "" {
		t.Errorf("nothing is checked out: %+v", detached)
	}
	if hostile := ci.Detect(ci.Env{"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "pull_request"}, ci.Facts{Event: []byte("{"), Commit: commit}); hostile.Commit != commit || hostile.PullRequest != "" {
		t.Errorf("an event that is not JSON: %+v", hostile)
	}
}

// semgrepScript evaluates environments with the scanner's own code.
const semgrepScript = `
import json, os, sys
from semgrep.meta import generate_meta_from_environment
clean, told = dict(os.environ), []
for env in json.load(sys.stdin):
    os.environ.clear()
    os.environ.update({**clean, **env})
    m = generate_meta_from_environment(None, None)
    told.append({"System": m.environment, "Project": m.repo_display_name, "Branch": m.branch, "Commit": m.commit_sha, "PullRequest": m.pr_id})
print(json.dumps(told))
`

// semgrepContext is the result of one environment.
type semgrepContext struct{ System, Project, Branch, Commit, PullRequest string }

// TestDetectAsSemgrep checks that project, ref and commit equal those of the real scanner.
// Otherwise its findings would be stored elsewhere.
func TestDetectAsSemgrep(t *testing.T) {
	semgrep := os.Getenv("REDOUBT_TEST_SEMGREP")
	if semgrep == "" {
		t.Skip("REDOUBT_TEST_SEMGREP names no semgrep: run make setup, which installs the pinned one into .cache/venv, and make test")
	}
	top, head := newCheckout(t)
	envs := make([]ci.Env, len(environments))
	for i, c := range environments {
		event := filepath.Join(t.TempDir(), "event.json")
		if err := os.WriteFile(event, []byte(c.event), 0o600); err != nil {
			t.Fatal(err)
		}
		envs[i] = maps.Clone(c.env)
		if c.event != "" {
			envs[i]["GITHUB_EVENT_PATH"] = event
		}
	}
	in, err := json.Marshal(envs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(filepath.Dir(semgrep), "python"), "-c", semgrepScript)
	cmd.Dir, cmd.Stdin = top, bytes.NewReader(in)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var reported []semgrepContext
	if err := json.Unmarshal(out, &reported); err != nil || len(reported) != len(environments) {
		t.Fatalf("%v: %s", err, out)
	}
	for i, c := range environments {
		got := ci.Detect(c.env, ci.Facts{Top: top, Branch: "topic", Commit: head, Event: []byte(c.event)})
		branch := reported[i].Branch
		if reported[i].System == "jenkins" {
			branch = strings.TrimPrefix(branch, "origin/") // as the server reads it
		}
		want := ci.Context{System: reported[i].System, Project: reported[i].Project, URL: got.URL, Ref: model.FullRef(branch), Commit: reported[i].Commit, PullRequest: reported[i].PullRequest}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-semgrep +ours):\n%s", c.name, diff)
		}
	}
}

// newCheckout creates a repository with one commit on the branch topic.
func newCheckout(t *testing.T) (top, head string) {
	t.Helper()
	top = filepath.Join(t.TempDir(), "app")
	for _, args := range [][]string{
		{"init", "-q", "-b", "topic", top}, {"-C", top, "commit", "-q", "--allow-empty", "-m", "one"}, {"-C", top, "remote", "add", "origin", "https://git.example/acme/app"},
	} {
		cmd := exec.Command("git", append([]string{"-c", "user.name=dev", "-c", "user.email=dev@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	out, err := exec.Command("git", "-C", top, "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	return top, strings.TrimSpace(string(out))
}

func TestNameOf(t *testing.T) {
	for address, want := range map[string]string{
		"https://github.com/acme/app": "acme/app", "https://github.com/acme/app.git/": "acme/app", "git@github.com:acme/app.git": "acme/app",
		"ssh://git@git.example:7999/acme/app.git": "acme/app", "https://gitlab.example/group/sub/app.git": "group/sub/app",
		"https://user:secret@git.example/acme/app": "acme/app", "https://user:p@ss@git.example/acme/app.git": "acme/app", "ssh://git:secret@git.example/acme/app": "acme/app", "https://dev.azure.com/acme/shop/_git/app": "acme/shop/app",
		"git@git.example:2222/acme/app.git": "acme/app", "https://x.visualstudio.com/Data%20Class/_git/Data%20Class": "Data%20Class/Data%20Class",
		"": "", "https://github.com/app": "", "not an address": "", "/srv/git": "",
	} {
		if got := ci.NameOf(address); got != want {
			t.Errorf("%q names %q, want %q", address, got, want)
		}
	}
}

// TestDetectProjectOfRemote checks that the remote names the project if no variable does, and that
// its credentials are removed.
func TestDetectProjectOfRemote(t *testing.T) {
	for name, c := range map[string]struct {
		env                  ci.Env
		remote, project, url string
	}{
		"https":           {nil, "https://github.com/acme/shop.git", "acme/shop", "https://github.com/acme/shop.git"},
		"ssh":             {nil, "git@github.com:acme/shop.git", "acme/shop", "git@github.com:acme/shop.git"},
		"token":           {nil, "https://x:hidden@github.com/acme/shop.git", "acme/shop", "https://github.com/acme/shop.git"},
		"ssh password":    {nil, "ssh://git:hidden@git.example:22/acme/shop", "acme/shop", "ssh://git@git.example:22/acme/shop"},
		"folder":          {nil, "/srv/git/acme/shop.git", "local_scan/app", "/srv/git/acme/shop.git"},
		"no owner":        {nil, "https://git.example/shop.git", "local_scan/app", "https://git.example/shop.git"},
		"none":            {nil, "", "local_scan/app", ""},
		"variable":        {ci.Env{"SEMGREP_REPO_NAME": "acme/pay"}, "https://x:hidden@github.com/acme/shop", "acme/pay", "https://github.com/acme/shop"},
		"CI":              {ci.Env{"GITLAB_CI": "true", "CI_PROJECT_PATH": "group/app"}, "https://github.com/acme/shop", "group/app", "https://github.com/acme/shop"},
		"CI without name": {ci.Env{"GITLAB_CI": "true"}, "https://github.com/acme/shop", "acme/shop", "https://github.com/acme/shop"},
	} {
		got := ci.Detect(c.env, ci.Facts{Top: "/builds/app", Remote: c.remote})
		if got.Project != c.project || got.URL != c.url {
			t.Errorf("%s: project %q at %q, want %q at %q", name, got.Project, got.URL, c.project, c.url)
		}
		if wanted := c.env["SEMGREP_REPO_NAME"] == "" && c.env["CI_PROJECT_PATH"] == "" && c.project == "acme/shop"; (got.Remote != "") != wanted {
			t.Errorf("%s: the remote names %q", name, got.Remote)
		}
	}
}

// TestUnusualRemoteURLs checks that Windows paths name no project. Credentials are removed for
// any case of the scheme and with leading blanks.
func TestUnusualRemoteURLs(t *testing.T) {
	for _, folder := range []string{"C:/git/acme/shop.git", `d:/acme/shop`} {
		if at := ci.Detect(ci.Env{}, ci.Facts{Top: "/src/shop", Remote: folder}); at.Remote != "" || at.Project != "local_scan/shop" {
			t.Errorf("%s is the project %q", folder, at.Project)
		}
	}
	for _, address := range []string{"HTTPS://hidden@host/acme/shop.git", " https://dev:hidden@host/acme/shop.git", "\thttps://hidden@host/acme/shop.git"} {
		at := ci.Detect(ci.Env{"SEMGREP_REPO_URL": address}, ci.Facts{Top: "/src/shop"})
		if strings.Contains(at.URL, "hidden") || !strings.HasSuffix(at.URL, "://host/acme/shop.git") {
			t.Errorf("%q is shown as %q", address, at.URL)
		}
	}
}
