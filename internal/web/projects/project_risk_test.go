package projects

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/web/component"
)

// TestPackageUpgrade checks that the upgrade is the lowest version that fixes all fixable
// findings.
func TestPackageUpgrade(t *testing.T) {
	found := func(ecosystem, installed string, fixes ...string) component.ShownFinding {
		f := component.ShownFinding{Finding: api.Finding{FoundDependency: &api.FoundDependency{Package: "a", Version: installed, Ecosystem: ecosystem}}}
		for _, v := range fixes {
			f.FixRecommendations = append(f.FixRecommendations, api.FixRecommendation{Package: "a", Version: v})
		}
		return f
	}
	for name, c := range map[string]struct {
		found []component.ShownFinding
		want  packageRisk
	}{
		"the highest of the nearest":   {[]component.ShownFinding{found("npm", "1.2.0", "1.9.0", "2.0.1"), found("npm", "1.2.0", "1.10.0")}, packageRisk{Versions: []string{"1.2.0"}, Fixed: []string{"1.10.0"}}},
		"older ones are none":          {[]component.ShownFinding{found("npm", "2.0.0", "1.9.0")}, packageRisk{Versions: []string{"2.0.0"}, Unfixed: true}},
		"one of two":                   {[]component.ShownFinding{found("npm", "1.0.0", "1.1.0"), found("npm", "1.0.0")}, packageRisk{Versions: []string{"1.0.0"}, Fixed: []string{"1.1.0"}, Unfixed: true}},
		"one name in two ecosystems":   {[]component.ShownFinding{found("npm", "1.0.0", "1.1.0"), found("pypi", "3.0", "3.0.post1")}, packageRisk{Versions: []string{"1.0.0", "3.0"}, Fixed: []string{"1.1.0", "3.0.post1"}}},
		"not of the supply chain":      {[]component.ShownFinding{{}}, packageRisk{}},
		"in the order of the versions": {[]component.ShownFinding{found("npm", "1.0.0", "1.0.9"), found("npm", "1.0.0", "1.0.10")}, packageRisk{Versions: []string{"1.0.0"}, Fixed: []string{"1.0.10"}}},
	} {
		var got packageRisk
		got.upgrade(c.found)
		if diff := gocmp.Diff(c.want, got, gocmp.AllowUnexported(packageRisk{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
