package demo

import (
	"path"
	"slices"
	"strings"
	"time"
)

// Step is one import: the upload of one CI run of a project.
type Step struct {
	Project string
	Ref     string        // short branch name, as in `redoubt import`
	Full    bool          // full scan of the ref; otherwise a diff scan, without the findings of its base
	Commit  string        // 40 hex digits
	Age     time.Duration // before the start of the demo
	RepoURL string
	Tags    []string // of the project; the same in all of its steps
	Files   []File   // reports and lockfiles of Commit
}

// File is one file of a step.
type File struct {
	Path string // in Samples
	Name string // name in the import: the path of a lockfile in the repository, or the file name of a report
}

// version is one line of the timeline: a version of a project and the time of its scan.
type version struct {
	project *project
	name    string // of the directory below samples/reports
	ref     string
	full    bool
	age     time.Duration
	files   []string
}

type project struct {
	name string
	tags []string
}

const day = 24 * time.Hour

var (
	payments  = &project{"acme/payments", []string{"pci", "team:payments", "tier:1"}}
	webShop   = &project{"acme/web-shop", []string{"public", "team:shop"}}
	gateway   = &project{"acme/gateway", []string{"team:platform", "tier:1"}}
	terraform = &project{"platform/infra/terraform-modules", []string{"team:platform", "infrastructure"}}
)

var (
	paymentsFiles  = []string{"semgrep.json", "gitleaks.sarif", "bandit.sarif", "requirements.txt", "worker/poetry.lock"}
	webShopFiles   = []string{"semgrep.json", "gitleaks.sarif", "package-lock.json", "admin/yarn.lock"}
	gatewayFiles   = []string{"semgrep.json", "gosec.sarif", "go.mod", "limiter/Cargo.lock"}
	terraformFiles = []string{"semgrep.sarif", "checkov.sarif", "inventory/requirements.txt", "bastion/pom.xml"}
)

// scans lists the imports, oldest first. A repeated version is a scan of a later commit without
// relevant changes.
var scans = []version{
	{payments, "main-1", "main", true, 150 * day, paymentsFiles},
	{webShop, "main-1", "main", true, 147 * day, webShopFiles},
	{gateway, "main-1", "main", true, 140 * day, gatewayFiles},
	{gateway, "main-1", "main", true, 139 * day, []string{"gitleaks.sarif"}},
	{terraform, "main-1", "main", true, 128 * day, terraformFiles},
	{payments, "release-1.3", "release/1.3", true, 115 * day, []string{"semgrep.json"}},
	{payments, "release-1.3", "release/1.3", true, 115*day - time.Hour, []string{"bom.xml"}},
	{payments, "main-2", "main", true, 104 * day, paymentsFiles},
	{webShop, "main-2", "main", true, 92 * day, webShopFiles},
	{gateway, "release-3.1", "release/3.1", true, 80 * day, gatewayFiles},
	{gateway, "main-2", "main", true, 65 * day, gatewayFiles},
	{gateway, "main-2", "main", true, 65*day - time.Hour, []string{"bom.cdx.json"}},
	{webShop, "feature-search", "feature/search", false, 52 * day, []string{"semgrep.json"}},
	{webShop, "main-3", "main", true, 38 * day, webShopFiles},
	{terraform, "main-2", "main", true, 31 * day, terraformFiles},
	{terraform, "main-2", "main", true, 31*day - time.Hour, []string{"bom.spdx.json"}},
	{payments, "main-3", "main", true, 18 * day, paymentsFiles},
	{webShop, "main-3", "main", true, 6 * day, webShopFiles},
	{payments, "feature-refunds", "feature/refunds", false, 2 * day, []string{"semgrep.json", "gitleaks.sarif"}},
	{payments, "main-3", "main", true, 1 * day, paymentsFiles},
}

// Timeline returns five months of imports of four projects, oldest first. History adds the
// decisions.
func Timeline() []Step {
	steps := make([]Step, 0, len(scans))
	for i, v := range scans {
		step := v.step()
		if slices.ContainsFunc(scans[:i], v.is) {
			step.Commit = laterCommit(step.Commit, step.Age)
		}
		steps = append(steps, step)
	}
	return steps
}

// is reports whether another scan had the same code and the same tools.
func (v version) is(other version) bool {
	return v.project == other.project && v.name == other.name && slices.Equal(v.files, other.files)
}

func (v version) step() Step {
	folder := path.Join("samples/reports", v.project.name, v.name)
	files := make([]File, 0, len(v.files))
	for _, name := range v.files {
		files = append(files, File{Path: path.Join(folder, embedded(name)), Name: name})
	}
	return Step{
		Project: v.project.name,
		Ref:     v.ref,
		Full:    v.full,
		Commit:  commits[v.project.name+" "+v.name],
		Age:     v.age,
		RepoURL: "https://git.example/" + v.project.name,
		Tags:    v.project.tags,
		Files:   files,
	}
}

// embedded returns the name under which a file is embedded. A directory with a go.mod is a separate
// module and cannot be embedded, so that file is renamed.
func embedded(name string) string {
	if path.Base(name) == "go.mod" {
		return strings.TrimSuffix(name, "go.mod") + "go.mod.txt"
	}
	return name
}
