package starter_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy/starter"
)

// TestRulesHaveMetadata checks that each rule has the metadata for users and filters.
func TestRulesHaveMetadata(t *testing.T) {
	rules, err := starter.Rules()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	products := map[model.IssueType]int{}
	for _, r := range rules {
		var rule struct {
			Message  string
			Metadata struct {
				Category           string
				Subcategory        []string
				CWE                []string
				OWASP              []string
				VulnerabilityClass []string `json:"vulnerability_class"`
				Technology         []string
				Confidence         string
				Likelihood         string
				Impact             string
			}
		}
		if err := json.Unmarshal(r.Text, &rule); err != nil {
			t.Fatal(err)
		}
		m := rule.Metadata
		levels := []string{"LOW", "MEDIUM", "HIGH"}
		switch {
		case seen[r.ID] || !strings.HasPrefix(r.ID, "redoubt-"):
			t.Errorf("%s is there twice, or not called redoubt-…", r.ID)
		case strings.Count(rule.Message, ".") < 2:
			t.Errorf("%s does not say what, why and how to mend it: %s", r.ID, rule.Message)
		case m.Category != "security" || len(m.Subcategory) != 1 || len(m.VulnerabilityClass) != 1 || len(m.Technology) == 0:
			t.Errorf("%s does not say of what kind it is: %+v", r.ID, m)
		case len(m.CWE) != 1 || !regexp.MustCompile(`^CWE-\d+: .+`).MatchString(m.CWE[0]), len(m.OWASP) != 1 || !regexp.MustCompile(`^A\d\d:2021 - .+`).MatchString(m.OWASP[0]):
			t.Errorf("%s names %v and %v", r.ID, m.CWE, m.OWASP)
		case !slices.Contains(levels, m.Confidence) || !slices.Contains(levels, m.Likelihood) || !slices.Contains(levels, m.Impact):
			t.Errorf("%s is of confidence %q, likelihood %q and impact %q", r.ID, m.Confidence, m.Likelihood, m.Impact)
		}
		seen[r.ID] = true
		products[r.Product]++
	}
	if products[model.SAST] < 20 || products[model.Secrets] < 4 {
		t.Errorf("the set has %v rules by product", products)
	}
}

// TestRulesMatchAnnotations runs the scanner with the rules on testdata and compares the results
// with the annotations there.
func TestRulesMatchAnnotations(t *testing.T) {
	semgrep := os.Getenv("REDOUBT_TEST_SEMGREP")
	if semgrep == "" {
		t.Skip("REDOUBT_TEST_SEMGREP names no semgrep: run make setup, which installs the pinned one into .cache/venv, and make test")
	}
	cmd := exec.Command(semgrep, "scan", "--test", "--json", "--metrics=off", "--disable-version-check", "--config", "rules", "testdata")
	home := t.TempDir()
	cmd.Env = []string{
		"PATH=" + filepath.Dir(semgrep) + ":" + os.Getenv("PATH"), "HOME=" + home, "SEMGREP_SETTINGS_FILE=" + filepath.Join(home, "settings.yml"),
		"SEMGREP_URL=http://127.0.0.1:9",
	}
	out, err := cmd.Output()
	var report struct {
		Results map[string]struct {
			Checks map[string]struct {
				Passed  bool
				Matches map[string]struct {
					Expected []int `json:"expected_lines"`
					Reported []int `json:"reported_lines"`
				}
			}
		}
	}
	if jsonErr := json.Unmarshal(out, &report); jsonErr != nil {
		t.Fatalf("%v: %v in %s", err, jsonErr, out)
	}
	tested := map[string]bool{}
	for file, result := range report.Results {
		for rule, check := range result.Checks {
			for where, m := range check.Matches {
				if tested[rule] = len(m.Expected) > 0; !check.Passed {
					t.Errorf("%s of %s finds %v in %s, and was to find %v", rule, file, m.Reported, where, m.Expected)
				}
			}
		}
	}
	rules, err := starter.Rules()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		if !tested[r.ID] {
			t.Errorf("%s has no code that it finds in testdata", r.ID)
		}
	}
}
