package ci

import (
	"cmp"
	"path"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// Env is an environment: values by name.
type Env map[string]string

// Environ reads NAME=value as os.Environ has it.
func Environ(list []string) Env {
	e := Env{}
	for _, pair := range list {
		if name, value, ok := strings.Cut(pair, "="); ok {
			e[name] = value
		}
	}
	return e
}

// first returns the first of the variables that is not empty.
func (e Env) first(names ...string) string {
	for _, name := range names {
		if v := e[name]; v != "" {
			return v
		}
	}
	return ""
}

// Facts are what the checkout and files that the environment names tell.
type Facts struct {
	Top    string // folder of the checkout
	Remote string // address of origin; empty for none
	Branch string // HEAD where none is checked out; empty without a commit
	Commit string
	Event  []byte // what GITHUB_EVENT_PATH names, JSON
}

// Context is what is under test. Project and Ref are as `semgrep ci` names them in the same
// environment, so that both land in one project. One case differs: where no variable names the
// project, `semgrep ci` uses the folder and Project is that of the remote.
type Context struct {
	System      string // as semgrep's scan_environment: github-actions, git, …
	Project     string // as acme/payments
	Remote      string // project that the remote names; empty where a variable or the folder names it
	URL         string // of the repository; empty when not known
	Ref         string // in full
	Commit      string
	PullRequest string // its number; empty for none
}

// system is one that builds, and what its variables mean. Where a reader is nil
// or finds nothing, git is asked.
type system struct {
	name                               string
	detects                            func(e Env) bool
	project, url, branch, commit, pull func(e Env, f Facts) string
	noBranch                           bool // without one there is none, whatever git has checked out
	branchOverrides                    bool // branch and commit know of the overriding variables themselves
}

// isTrue reports whether a variable is true, as most systems show themselves.
func isTrue(name string) func(Env) bool { return func(e Env) bool { return e[name] == "true" } }

// isSet reports whether a variable is set, if to nothing.
func isSet(name string) func(Env) bool {
	return func(e Env) bool { _, ok := e[name]; return ok }
}

// fromVariables reads the first of some variables that says something.
func fromVariables(names ...string) func(Env, Facts) string {
	return func(e Env, _ Facts) string { return e.first(names...) }
}

// nameFrom reads a project's name from the address in the first of some variables.
func nameFrom(names ...string) func(Env, Facts) string {
	return func(e Env, _ Facts) string { return NameOf(e.first(names...)) }
}

// Detect finds out what is under test. The variables of the semgrep CLI that
// override go first, as they do there.
func Detect(e Env, f Facts) Context {
	s := systemOf(e)
	c := Context{System: s.name, PullRequest: cmp.Or(e["SEMGREP_PR_ID"], readVariable(s.pull, e, f))}
	repository := cmp.Or(e["SEMGREP_REPO_NAME"], readVariable(s.project, e, f))
	if repository == "" {
		c.Remote = NameOf(f.Remote)
		repository = cmp.Or(c.Remote, "local_scan/"+path.Base(f.Top))
	}
	c.Project = cmp.Or(e["SEMGREP_REPO_DISPLAY_NAME"], repository)
	c.URL = withoutCredentials(cmp.Or(e["SEMGREP_REPO_URL"], readVariable(s.url, e, f), f.Remote))
	c.Commit = cmp.Or(e["SEMGREP_COMMIT"], readVariable(s.commit, e, f), f.Commit)
	branch := cmp.Or(e["SEMGREP_BRANCH"], readVariable(s.branch, e, f))
	if s.branchOverrides {
		branch = readVariable(s.branch, e, f)
		c.Commit = cmp.Or(readVariable(s.commit, e, f), f.Commit)
	}
	if branch == "" && !s.noBranch {
		branch = f.Branch
	}
	if s.name == "jenkins" {
		branch = strings.TrimPrefix(branch, "origin/") // of the remote
	}
	c.Ref = model.FullRef(branch)
	return c
}

func readVariable(read func(Env, Facts) string, e Env, f Facts) string {
	if read == nil {
		return ""
	}
	return read(e, f)
}

func systemOf(e Env) system {
	for _, s := range systems {
		if s.detects(e) {
			return s
		}
	}
	return system{name: "git"}
}
