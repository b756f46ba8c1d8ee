package ci

import (
	"encoding/json"
	"strconv"
	"strings"
)

// systems are those that are known, in the order in which the semgrep CLI asks
// for them. What is read of each follows that CLI, for a build that runs both.
var systems = []system{
	{
		name: "github-actions", here: on("GITHUB_ACTIONS"),
		project: vars("GITHUB_REPOSITORY"), url: githubURL, branch: githubBranch, commit: githubCommit, pull: githubPull,
		branchOverrides: true,
	},
	{
		name: "gitlab-ci", here: on("GITLAB_CI"),
		project: vars("CI_PROJECT_PATH"), url: vars("CI_PROJECT_URL"), commit: vars("CI_COMMIT_SHA"),
		branch: vars("CI_COMMIT_BRANCH", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME"), pull: vars("CI_MERGE_REQUEST_IID"),
		noBranch: true,
	},
	{
		name: "circleci", here: on("CIRCLECI"),
		project: circleProject, url: vars("CIRCLE_REPOSITORY_URL"), branch: vars("CIRCLE_BRANCH"), commit: vars("CIRCLE_SHA1"),
		pull: func(e Env, _ Facts) string {
			address := e["CIRCLE_PULL_REQUEST"]
			return address[strings.LastIndexByte(address, '/')+1:]
		},
		noBranch: true,
	},
	{
		name: "jenkins", here: has("JENKINS_URL"),
		project: named("GIT_URL"), url: vars("GIT_URL", "GIT_URL_1"), branch: noTag("GIT_BRANCH"), commit: vars("GIT_COMMIT"), pull: vars("CHANGE_ID"),
		noBranch: true,
	},
	{
		name: "bitbucket", here: has("BITBUCKET_BUILD_NUMBER"),
		project: func(e Env, _ Facts) string {
			if name := e["BITBUCKET_REPO_FULL_NAME"]; name != "" {
				return name
			}
			return NameOf(e["BITBUCKET_GIT_HTTP_ORIGIN"])
		},
		url: vars("BITBUCKET_GIT_HTTP_ORIGIN"), branch: vars("BITBUCKET_BRANCH"), commit: vars("BITBUCKET_COMMIT"), pull: vars("BITBUCKET_PR_ID"),
		noBranch: true,
	},
	{
		name: "azure-pipelines", here: has("BUILD_BUILDID"),
		project: named("SEMGREP_REPO_URL", "SYSTEM_PULLREQUEST_SOURCEREPOSITORYURI", "BUILD_REPOSITORY_URI"),
		url:     vars("SYSTEM_PULLREQUEST_SOURCEREPOSITORYURI", "BUILD_REPOSITORY_URI"),
		branch:  noTag("SYSTEM_PULLREQUEST_SOURCEBRANCH", "BUILD_SOURCEBRANCH", "BUILD_SOURCEBRANCHNAME"),
		commit:  vars("SYSTEM_PULLREQUEST_SOURCECOMMITID", "BUILD_SOURCEVERSION"), pull: vars("SYSTEM_PULLREQUEST_PULLREQUESTNUMBER"),
		noBranch: true,
	},
	{
		name: "buildkite", here: on("BUILDKITE"),
		project: named("BUILDKITE_REPO"), url: vars("BUILDKITE_REPO"), branch: vars("BUILDKITE_BRANCH"), commit: vars("BUILDKITE_COMMIT"),
		pull: number("BUILDKITE_PULL_REQUEST"), noBranch: true,
	},
	{
		name: "travis-ci", here: on("TRAVIS"),
		project: vars("TRAVIS_REPO_SLUG"), branch: vars("TRAVIS_PULL_REQUEST_BRANCH", "TRAVIS_BRANCH"), commit: vars("TRAVIS_COMMIT"),
		url: func(e Env, _ Facts) string {
			if slug := e.first("SEMGREP_REPO_NAME", "TRAVIS_REPO_SLUG"); slug != "" {
				return "https://github.com/" + slug
			}
			return ""
		},
		pull: number("TRAVIS_PULL_REQUEST"), noBranch: true,
	},
}

// noTag reads the branch from the first of some variables, unless that is a tag.
func noTag(names ...string) func(Env, Facts) string {
	return func(e Env, _ Facts) string {
		if ref := e.first(names...); !strings.Contains(ref, "tags/") {
			return ref
		}
		return ""
	}
}

// number reads a number; some systems say "false" where there is none.
func number(name string) func(Env, Facts) string {
	return func(e Env, _ Facts) string {
		if _, err := strconv.ParseUint(e[name], 10, 64); err != nil {
			return ""
		}
		return e[name]
	}
}

func circleProject(e Env, _ Facts) string {
	owner, name := e["CIRCLE_PROJECT_USERNAME"], e["CIRCLE_PROJECT_REPONAME"]
	if owner == "" && name == "" {
		return NameOf(e["CIRCLE_REPOSITORY_URL"])
	}
	return owner + "/" + name
}

// githubEvent is what is read of the event that started a workflow.
type githubEvent struct {
	Pull struct {
		Number json.Number `json:"number"`
		Head   struct {
			SHA string `json:"sha"`
		} `json:"head"`
	} `json:"pull_request"`
}

// eventOf reads the event; one that is not there or not JSON tells nothing.
func eventOf(f Facts) (event githubEvent) {
	if json.Unmarshal(f.Event, &event) != nil {
		return githubEvent{}
	}
	return event
}

func githubURL(e Env, _ Facts) string {
	server, name := e.first("GITHUB_SERVER_URL"), e.first("SEMGREP_REPO_NAME", "GITHUB_REPOSITORY")
	if server == "" {
		server = "https://github.com"
	}
	return server + "/" + name
}

// githubBranch is refs/pull/N/merge for a pull request, and the branch of the
// request, which may be of a fork, where the workflow runs on its target.
func githubBranch(e Env, _ Facts) string {
	if e["GITHUB_EVENT_NAME"] == "pull_request_target" {
		return e["GITHUB_HEAD_REF"]
	}
	return e.first("SEMGREP_BRANCH", "GITHUB_REF")
}

// githubCommit is the head of a pull request, not the merge that is checked out.
func githubCommit(e Env, f Facts) string {
	switch e["GITHUB_EVENT_NAME"] {
	case "pull_request", "pull_request_target":
		return eventOf(f).Pull.Head.SHA
	case "push":
		return e["GITHUB_SHA"]
	}
	return e["SEMGREP_COMMIT"]
}

func githubPull(_ Env, f Facts) string { return eventOf(f).Pull.Number.String() }
