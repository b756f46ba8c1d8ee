package ci

import (
	"cmp"
	"path"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// Env maps the names of environment variables to values.
type Env map[string]string

// Environ parses a list of NAME=value, as os.Environ returns it.
func Environ(list []string) Env {
	e := Env{}
	for _, pair := range list {
		if name, value, ok := strings.Cut(pair, "="); ok {
			e[name] = value
		}
	}
	return e
}

// first returns the first nonempty value of the named variables.
func (e Env) first(names ...string) string {
	for _, name := range names {
		if v := e[name]; v != "" {
			return v
		}
	}
	return ""
}

// Facts are data from the Git checkout and from files that the environment names.
type Facts struct {
	Top    string // root directory of the checkout
	Remote string // URL of origin; empty: none
	Branch string // HEAD if detached; empty without a commit
	Commit string
	Event  []byte // JSON content of the file in GITHUB_EVENT_PATH
}

// Context describes the code under test. Project and Ref equal those of `semgrep ci` in the same
// environment, so that both upload to one project. There is one difference. If no variable names
// the project, `semgrep ci` uses the directory, while Project is that of the remote.
type Context struct {
	System      string // scan_environment of semgrep: github-actions, git, …
	Project     string // as acme/payments
	Remote      string // project named by the remote; empty if a variable or the directory names it
	URL         string // of the repository; empty if unknown
	Ref         string // full ref
	Commit      string
	PullRequest string // number; empty: none
}

// system is a CI system and the meaning of its variables. If a reader is nil or returns "", the
// value from Git is used.
type system struct {
	name                               string
	detects                            func(e Env) bool
	project, url, branch, commit, pull func(e Env, f Facts) string
	noBranch                           bool // do not use the checked-out branch
	branchOverrides                    bool // branch and commit evaluate the overriding variables themselves
}

// isTrue reports whether a variable is true, which identifies most systems.
func isTrue(name string) func(Env) bool { return func(e Env) bool { return e[name] == "true" } }

// isSet reports whether a variable is set, including to "".
func isSet(name string) func(Env) bool {
	return func(e Env) bool { _, ok := e[name]; return ok }
}

// fromVariables returns a reader of the first nonempty variable.
func fromVariables(names ...string) func(Env, Facts) string {
	return func(e Env, _ Facts) string { return e.first(names...) }
}

// nameFrom returns a reader of the project name in the URL of the first nonempty variable.
func nameFrom(names ...string) func(Env, Facts) string {
	return func(e Env, _ Facts) string { return NameOf(e.first(names...)) }
}

// Detect determines the context from the environment and the checkout. The overriding variables of
// the semgrep CLI have precedence, as they have there.
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
		branch = strings.TrimPrefix(branch, "origin/") // the remote
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
