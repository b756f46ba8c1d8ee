package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
)

// printedResult is a finding in the scanner's --json output.
type printedResult struct {
	CheckID string `json:"check_id"`
	Path    string `json:"path"`
	Start   printedPosition
	End     printedPosition
	Extra   struct {
		Message     string
		Severity    string
		Fingerprint string
		Metadata    struct {
			Confidence, Category string
			SCASeverity          string `json:"sca-severity"`
			Product              string
			Kind                 string `json:"sca-kind"`
			CWE                  []string
		}
		SCAInfo *struct {
			Reachable       bool
			DependencyMatch struct {
				Found    struct{ Package, Version, Ecosystem, Transitivity string } `json:"found_dependency"`
				Lockfile string
			} `json:"dependency_match"`
		} `json:"sca_info"`
	}
}

type printedPosition struct{ Line, Col int64 }

// severities maps the scanner's severities to ours (docs/reference/findings.md).
var severities = map[string]string{"INFO": "low", "WARNING": "medium", "ERROR": "high", "CRITICAL": "critical", "HIGH": "high", "MEDIUM": "medium", "LOW": "low"}

// contract reads the operations of the contract and compares the responses with the scanner's
// output of the preceding scan.
func contract(w *ciWorld) {
	r := w.wantUnchanged(0, "main")
	var out struct{ Results []printedResult }
	if err := json.Unmarshal(r.stdout, &out); err != nil {
		w.Fatal(err)
	}
	counts := contractFindings(w, out.Results)
	contractScan(w, counts)
	contractProject(w)
	contractInventory(w, out.Results)
	contractPolicies(w, out.Results)
}

// contractFindings compares every field of every finding, and counts the findings.
func contractFindings(w *ciWorld, results []printedResult) (counts api.FindingsCounts) {
	code, chain := w.code("main", "open"), w.chain("main")
	for _, p := range results {
		location := fmt.Sprintf("%s %s:%d", p.CheckID, p.Path, p.Start.Line)
		want := map[string]any{
			"message": p.Extra.Message, "severity": severities[p.Extra.Severity], "id": p.Extra.Fingerprint, "from": []int64{p.Start.Line, p.Start.Col},
			"to": []int64{p.End.Line, p.End.Col}, "cwe": append([]string{}, p.Extra.Metadata.CWE...), "project": "acme/shop", "ref": "refs/heads/main",
		}
		got := func(message *string, severity, id string, l api.Location, cwe []string, project, ref string) map[string]any {
			return map[string]any{
				"message": *message, "severity": severity, "id": id, "from": []int64{l.Line, l.Column}, "to": []int64{l.EndLine, l.EndColumn},
				"cwe": append([]string{}, cwe...), "project": project, "ref": ref,
			}
		}
		var answer map[string]any
		switch info := p.Extra.SCAInfo; {
		case info != nil:
			counts.SupplyChain++
			f, exists := chain[location]
			if !exists {
				w.Errorf("%s is not listed", location)
				continue
			}
			found := info.DependencyMatch.Found
			want["severity"], want["dependency"] = severities[p.Extra.Metadata.SCASeverity], []string{found.Package, found.Version, found.Ecosystem, found.Transitivity}
			// A rule that only checks versions has no reachability (docs/reference/findings.md).
			want["reachable"] = info.Reachable || p.Extra.Metadata.Kind == "upgrade-only"
			answer = got(f.RuleMessage, f.Severity, f.MatchBasedID, f.Location, f.Rule.CWENames, f.Repository.Name, f.Ref)
			answer["dependency"] = []string{f.FoundDependency.Package, f.FoundDependency.Version, f.FoundDependency.Ecosystem, f.FoundDependency.Transitivity}
			answer["reachable"] = slices.Contains([]string{"reachable", "always_reachable"}, f.Reachability)
		case p.Extra.Metadata.Product == "secrets":
			counts.Secrets++ // firstScan and blockSecret compare these
			continue
		default:
			counts.Code++
			f, exists := code[location]
			if !exists {
				w.Errorf("%s is not listed", location)
				continue
			}
			want["category"], answer = p.Extra.Metadata.Category, got(f.RuleMessage, f.Severity, f.MatchBasedID, f.Location, f.Rule.CWENames, f.Repository.Name, f.Ref)
			answer["category"] = f.Rule.Category
		}
		if diff := cmp.Diff(want, answer); diff != "" {
			w.Errorf("%s (-printed +answered):\n%s", location, diff)
		}
	}
	if int(counts.Code) != len(code) || int(counts.SupplyChain) != len(chain) {
		w.Errorf("printed are %+v, listed %d and %d", counts, len(code), len(chain))
	}
	counts.Total = counts.Code + counts.Secrets + counts.SupplyChain
	return counts
}

func contractScan(w *ciWorld, counts api.FindingsCounts) {
	scan := w.newestScan()
	cmd := exec.Command("git", "rev-parse", "HEAD")
	cmd.Dir = w.repo
	commit, err := cmd.Output()
	if err != nil {
		w.Fatal(err)
	}
	if diff := cmp.Diff(counts, scan.FindingsCounts); diff != "" {
		w.Errorf("the scan's counts (-printed +answered):\n%s", diff)
	}
	if scan.Commit != strings.TrimSpace(string(commit)) || scan.ExitCode == nil || *scan.ExitCode != 0 || scan.CompletedAt == nil || scan.TotalTime == nil || *scan.TotalTime <= 0 {
		w.Errorf("the scan of %s is %+v", commit, scan)
	}
}

func contractProject(w *ciWorld) {
	var names []string
	for p, err := range w.client().Projects(w.Context(), "acme", api.ProjectsQuery{}) {
		if err != nil {
			w.Fatal(err)
		}
		names = append(names, p.Name)
		if p.URL != "https://git.example/acme/shop" || p.PrimaryBranch != "refs/heads/main" || p.LatestScanAt == nil || p.LatestScanAt.Before(w.newestScan().StartedAt.Time) {
			w.Errorf("the project is %+v", p)
		}
	}
	if !slices.Equal(names, []string{"acme/shop"}) {
		w.Errorf("projects: %v", names)
	}
}

// contractInventory compares lockfiles with dependencies, and both with the packages of findings.
func contractInventory(w *ciWorld, results []printedResult) {
	scan := w.newestScan()
	count, known := map[string]int64{}, map[string]bool{}
	for d, err := range w.client().Dependencies(w.Context(), "1", api.ListDependenciesRequest{}) {
		if err != nil {
			w.Fatal(err)
		}
		count[d.LockfilePath]++
		known[d.Ecosystem+" "+d.Name+" "+d.Version] = true
	}
	for _, p := range results {
		if info := p.Extra.SCAInfo; info != nil {
			if f := info.DependencyMatch.Found; !known[f.Ecosystem+" "+f.Package+" "+f.Version] {
				w.Errorf("%s found %+v, which is no dependency among %v", p.CheckID, f, known)
			}
			if count[info.DependencyMatch.Lockfile] == 0 {
				w.Errorf("%s is about %s, which is not listed", p.CheckID, info.DependencyMatch.Lockfile)
			}
		}
	}
	lockfiles := map[string]int64{}
	for l, err := range w.client().Lockfiles(w.Context(), "1", scan.RepositoryID, api.ListLockfilesRequest{}) {
		if err != nil {
			w.Fatal(err)
		}
		lockfiles[l.LockfilePath] = l.NumDependencies
	}
	if diff := cmp.Diff(count, lockfiles); diff != "" || len(count) != 3 {
		w.Errorf("lockfiles (-dependencies +lockfiles):\n%s", diff)
	}
}

// contractPolicies reads every rule of every policy. Each rule with a printed finding must be in
// one policy, in the configured mode.
func contractPolicies(w *ciWorld, results []printedResult) {
	answer, err := w.client().ListPolicies(w.Context(), "1")
	if err != nil {
		w.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range answer.Policies {
		for r, err := range w.client().PolicyRules(w.Context(), "1", p.ID, api.PolicyRulesQuery{}) {
			if err != nil {
				w.Fatal(err)
			}
			got[r.Path] += strings.TrimPrefix(p.ProductType, "PRODUCT_TYPE_") + " " + strings.TrimPrefix(r.PolicyMode, "MODE_") + " " + strings.TrimPrefix(r.Severity, "SEVERITY_")
		}
	}
	want := map[string]string{
		"eqeq": "SAST BLOCK HIGH", "js-eval": "SAST MONITOR MEDIUM", "taint-x": "SAST COMMENT HIGH", "hardcoded-token": "SECRETS MONITOR HIGH",
		"sca-upgrade": "SCA MONITOR HIGH", "sca-reached": "SCA MONITOR CRITICAL", "sca-unreached": "SCA MONITOR HIGH",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("served rules (-want +answered):\n%s", diff)
	}
	for _, p := range results {
		if got[p.CheckID] == "" {
			w.Errorf("%s found something and is in no policy", p.CheckID)
		}
	}
}
