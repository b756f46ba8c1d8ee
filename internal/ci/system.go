package ci

import (
	"encoding/json"
	"strconv"
	"strings"
)

// systems contains the supported systems in the order of the semgrep CLI. The variables follow that
// CLI for builds that run both.
var systems = []system{
	{
		name: "github-actions", detects: isTrue("GITHUB_ACTIONS"),
		project: fromVariables("GITHUB_REPOSITORY"), url: githubURL,
		branch: githubBranch, commit: githubCommit, pull: githubPull,
		branchOverrides: true,
	},
	{
		name: "gitlab-ci", detects: isTrue("GITLAB_CI"),
		project: fromVariables("CI_PROJECT_PATH"),
		url:     fromVariables("CI_PROJECT_URL"), commit: fromVariables("CI_COMMIT_SHA"),
		branch:   fromVariables("CI_COMMIT_BRANCH", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME"),
		pull:     fromVariables("CI_MERGE_REQUEST_IID"),
		noBranch: true,
	},
	{
		name: "circleci", detects: isTrue("CIRCLECI"),
		project: circleProject, url: fromVariables("CIRCLE_REPOSITORY_URL"),
		branch: fromVariables("CIRCLE_BRANCH"), commit: fromVariables("CIRCLE_SHA1"),
		pull: func(e Env, _ Facts) string {
			address := e["CIRCLE_PULL_REQUEST"]
			return address[strings.LastIndexByte(address, '/')+1:]
		},
		noBranch: true,
	},
	{
		name: "jenkins", detects: isSet("JENKINS_URL"),
		project: nameFrom("GIT_URL"), url: fromVariables("GIT_URL", "GIT_URL_1"),
		branch: noTag("GIT_BRANCH"), commit: fromVariables("GIT_COMMIT"), pull: fromVariables("CHANGE_ID"),
		noBranch: true,
	},
	{
		name: "bitbucket", detects: isSet("BITBUCKET_BUILD_NUMBER"),
		project: func(e Env, _ Facts) string {
			if name := e["BITBUCKET_REPO_FULL_NAME"]; name != "" {
				return name
			}
			return NameOf(e["BITBUCKET_GIT_HTTP_ORIGIN"])
		},
		url: fromVariables("BITBUCKET_GIT_HTTP_ORIGIN"), branch: fromVariables("BITBUCKET_BRANCH"),
		commit: fromVariables("BITBUCKET_COMMIT"), pull: fromVariables("BITBUCKET_PR_ID"),
		noBranch: true,
	},
	{
		name: "azure-pipelines", detects: isSet("BUILD_BUILDID"),
		project:  nameFrom("SEMGREP_REPO_URL", "SYSTEM_PULLREQUEST_SOURCEREPOSITORYURI", "BUILD_REPOSITORY_URI"),
		url:      fromVariables("SYSTEM_PULLREQUEST_SOURCEREPOSITORYURI", "BUILD_REPOSITORY_URI"),
		branch:   noTag("SYSTEM_PULLREQUEST_SOURCEBRANCH", "BUILD_SOURCEBRANCH", "BUILD_SOURCEBRANCHNAME"),
		commit:   fromVariables("SYSTEM_PULLREQUEST_SOURCECOMMITID", "BUILD_SOURCEVERSION"),
		pull:     fromVariables("SYSTEM_PULLREQUEST_PULLREQUESTNUMBER"),
		noBranch: true,
	},
	{
		name: "buildkite", detects: isTrue("BUILDKITE"),
		project: nameFrom("BUILDKITE_REPO"), url: fromVariables("BUILDKITE_REPO"),
		branch: fromVariables("BUILDKITE_BRANCH"), commit: fromVariables("BUILDKITE_COMMIT"),
		pull: number("BUILDKITE_PULL_REQUEST"), noBranch: true,
	},
	{
		name: "travis-ci", detects: isTrue("TRAVIS"),
		project: fromVariables("TRAVIS_REPO_SLUG"),
		branch:  fromVariables("TRAVIS_PULL_REQUEST_BRANCH", "TRAVIS_BRANCH"), commit: fromVariables("TRAVIS_COMMIT"),
		url: func(e Env, _ Facts) string {
			if slug := e.first("SEMGREP_REPO_NAME", "TRAVIS_REPO_SLUG"); slug != "" {
				return "https://github.com/" + slug
			}
			return ""
		},
		pull: number("TRAVIS_PULL_REQUEST"), noBranch: true,
	},
}

// noTag returns a reader of the branch in the first nonempty variable, unless that is a tag.
func noTag(names ...string) func(Env, Facts) string {
	return func(e Env, _ Facts) string {
		if ref := e.first(names...); !strings.Contains(ref, "tags/") {
			return ref
		}
		return ""
	}
}

// number returns a reader of a number. Some systems set "false" if there is none.
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

// githubEvent contains the fields used of the event that started a workflow.
type githubEvent struct {
	Pull struct {
		Number json.Number `json:"number"`
		Head   struct {
			SHA string `json:"sha"`
		} `json:"head"`
	} `json:"pull_request"`
}

// eventOf parses the event. A missing or invalid event is empty.
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

// githubBranch returns refs/pull/N/merge for a pull request. For pull_request_target, which runs on
// the target branch, it returns the branch of the request, which may be in a fork.
func githubBranch(e Env, _ Facts) string {
	if e["GITHUB_EVENT_NAME"] == "pull_request_target" {
		return e["GITHUB_HEAD_REF"]
	}
	return e.first("SEMGREP_BRANCH", "GITHUB_REF")
}

// githubCommit returns the head of a pull request, not the checked-out merge commit.
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
