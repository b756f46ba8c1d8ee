package sbom

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
	"github.com/redoubt/redoubt/internal/report"
)

// billOutputs are the formats that can be imported, without the versions in between.
var billOutputs = []string{"cyclonedx 1.4 xml", "cyclonedx 1.6 json", "spdx 2.3 json"}

// merged returns the expected import of an exported project. A package has its most direct
// transitivity in every lockfile, and an edge applies to every lockfile that contains both ends.
func merged(p Project) Project {
	type pkg struct{ ecosystem, name, version string }
	of := func(d model.Dependency) pkg { return pkg{d.Ecosystem, d.Name, d.Version} }
	closest, edges, by := map[pkg]model.Transitivity{}, map[[2]pkg]bool{}, map[int64]model.Dependency{}
	for _, d := range p.Dependencies {
		by[d.ID] = d
		closest[of(d)] = min(d.Transitivity, cmp.Or(closest[of(d)], d.Transitivity))
	}
	for _, e := range p.Edges {
		edges[[2]pkg{of(by[e.From]), of(by[e.To])}] = true
	}
	out := p
	out.Dependencies, out.Edges = slices.Clone(p.Dependencies), nil
	for i := range out.Dependencies {
		d := &out.Dependencies[i]
		d.Transitivity = closest[of(*d)]
		for _, to := range p.Dependencies {
			if to.Lockfile == d.Lockfile && edges[[2]pkg{of(*d), of(to)}] {
				out.Edges = append(out.Edges, model.DependencyEdge{From: d.ID, To: to.ID})
			}
		}
	}
	return out
}

// describeDependencies describes each dependency that an import must restore, with its requirements.
func describeDependencies(dependencies []model.Dependency, edges []model.DependencyEdge) map[string]string {
	name := func(d model.Dependency) string {
		return d.Lockfile + ": " + d.Ecosystem + " " + d.Name + "@" + d.Version
	}
	needs, by := map[int64][]string{}, map[int64]model.Dependency{}
	for _, d := range dependencies {
		by[d.ID] = d
	}
	for _, e := range edges {
		needs[e.From] = append(needs[e.From], name(by[e.To]))
	}
	descriptions := map[string]string{}
	for _, d := range dependencies {
		required := needs[d.ID]
		slices.Sort(required)
		descriptions[name(d)] = fmt.Sprintf("line %d, %v, supplied by %q, asks for %q", d.Line, d.Transitivity, d.Supplier, slices.Compact(required))
	}
	return descriptions
}

// importDocument imports a document and returns its dependencies as a project.
func importDocument(t rapid.TB, output string, doc []byte) Project {
	t.Helper()
	reports, err := report.Read(bytes.NewReader(doc), report.Options{Name: "bom"})
	if err != nil {
		t.Fatalf("%s: %v", output, err)
	}
	p := Project{Name: "acme/web", Ref: "refs/heads/main"}
	for _, r := range reports {
		if len(r.Refused) > 0 {
			t.Errorf("%s: refused %v", output, r.Refused)
		}
		for _, inventory := range r.Inventories {
			first := int64(len(p.Dependencies))
			for i, d := range inventory.Dependencies {
				d.ID, d.Lockfile = first+int64(i)+1, inventory.Lockfile
				p.Dependencies = append(p.Dependencies, d)
			}
			for _, e := range inventory.Edges {
				p.Edges = append(p.Edges, model.DependencyEdge{From: first + int64(e[0]) + 1, To: first + int64(e[1]) + 1})
			}
		}
	}
	return p
}

// checkRoundTrip exports a project, imports the document, and exports the result. Both documents
// must be equal.
func checkRoundTrip(t rapid.TB, p Project) {
	t.Helper()
	restored := merged(p)
	want := describeDependencies(restored.Dependencies, restored.Edges)
	for _, output := range billOutputs {
		c := Content{Serial: sample().Serial, Created: sample().Created, Deployment: "Acme", Projects: []Project{p}}
		c.Projects = []Project{importDocument(t, output, write(t, request(output), c))}
		if diff := gocmp.Diff(want, describeDependencies(c.Projects[0].Dependencies, c.Projects[0].Edges)); diff != "" {
			t.Fatalf("%s: something else came back (-had +read):\n%s", output, diff)
		}
		second := write(t, request(output), c)
		c.Projects = []Project{restored}
		if first := write(t, request(output), c); !bytes.Equal(first, second) {
			t.Fatalf("%s: written again, it differs (-first +again):\n%s", output, gocmp.Diff(string(first), string(second)))
		}
	}
}

// projects generates a project with few packages in several lockfiles. It covers shared packages,
// several versions, cycles and unusual names.
var projects = rapid.Custom(func(t *rapid.T) Project {
	p := Project{Name: "acme/web", Ref: "refs/heads/main"}
	seen := map[string]int64{}
	lockfiles := []string{"web/yarn.lock", "a, b; c: d%2C/yarn.lock", "yarn.lock#L7", "sbom.json", "ü/go.mod"}
	names := []model.LockedPackage{
		{Ecosystem: "npm", Name: "@babel/core"},
		{Ecosystem: "npm", Name: "a"},
		{Ecosystem: "npm", Name: "b%20c"},
		{Ecosystem: "gomod", Name: "github.com/Azure/x"},
		{Ecosystem: "maven", Name: "org.slf4j:slf4j-api"},
		{Ecosystem: "in-house", Name: "par ser, 2; x: y"},
		{Ecosystem: "pypi", Name: "zope-interface"},
		{Ecosystem: "nimble", Name: "É#L3"},
	}
	for range rapid.IntRange(1, 14).Draw(t, "dependencies") {
		k := rapid.SampledFrom(names).Draw(t, "package")
		d := model.Dependency{
			ID: int64(len(p.Dependencies) + 1), Lockfile: rapid.SampledFrom(lockfiles).Draw(t, "lockfile"), Ecosystem: k.Ecosystem, Name: k.Name,
			Version:      rapid.SampledFrom([]string{"1.0.0", "2.0.0+x y"}).Draw(t, "version"),
			Transitivity: model.Transitivity(rapid.IntRange(1, 3).Draw(t, "transitivity")), Line: rapid.IntRange(0, 2).Draw(t, "line"),
		}
		d.Supplier = map[string]string{"a": "Person: Jane", "@babel/core": "Babel, Inc. (x@example.com)"}[d.Name]
		if key := d.Lockfile + d.Name + d.Version; seen[key] == 0 {
			seen[key] = d.ID
			p.Dependencies = append(p.Dependencies, d)
		}
	}
	for range rapid.IntRange(0, 20).Draw(t, "edges") {
		from, to := rapid.SampledFrom(p.Dependencies).Draw(t, "from"), rapid.SampledFrom(p.Dependencies).Draw(t, "to")
		if from.Lockfile == to.Lockfile && from.ID != to.ID {
			p.Edges = append(p.Edges, model.DependencyEdge{From: from.ID, To: to.ID})
		}
	}
	return p
})

// TestDeploymentImportExcludesProjects checks that an import of a deployment does not contain its
// projects as packages.
func TestDeploymentImportExcludesProjects(t *testing.T) {
	of := func(name string, list ...model.Dependency) Project {
		return Project{Name: name, Ref: "refs/heads/main", Dependencies: list}
	}
	c := Content{Serial: sample().Serial, Created: sample().Created, Deployment: "Acme", Projects: []Project{
		of("acme/web", model.Dependency{ID: 1, Lockfile: "a.lock", Ecosystem: "npm", Name: "a", Version: "1", Transitivity: model.TransitivityUnknown}),
		of("acme/shop", model.Dependency{ID: 2, Lockfile: "a.lock", Ecosystem: "npm", Name: "b", Version: "1", Transitivity: model.Direct}),
		of("acme/empty"),
	}}
	for _, output := range billOutputs {
		r := request(output)
		r.ProjectID = 0
		var got []string
		for _, d := range importDocument(t, output, write(t, r, c)).Dependencies {
			got = append(got, d.Lockfile+" "+d.Name)
		}
		slices.Sort(got)
		if want := []string{"acme/shop:a.lock b", "acme/web:a.lock a"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q come back", output, got)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkRoundTrip(t, projects.Draw(t, "project")) })
}

// npmProject returns a project whose graph has the shape of npm's. It has few direct packages and
// cycles, a tenth of the packages occur in two versions, and some are required by hundreds.
func npmProject(n int) Project {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	p := Project{Name: "acme/web", Ref: "refs/heads/main"}
	for i := range n {
		name, t := fmt.Sprintf("package-%d", i), model.Transitive
		if i%10 == 9 {
			name = fmt.Sprintf("package-%d", i-1) // in another version
		}
		if i < n/50+1 {
			t = model.Direct
		}
		p.Dependencies = append(p.Dependencies, model.Dependency{
			ID: int64(i + 1), Lockfile: "web/package-lock.json", Ecosystem: "npm", Name: name, Version: fmt.Sprintf("%d.%d.0", i%7, i), Transitivity: t, Line: 3 * i,
			PURL: purl.Of("npm", name, fmt.Sprintf("%d.%d.0", i%7, i)), Licenses: []string{"MIT"},
		})
		edgeCount := 1 + random.IntN(2)
		if i%100 == 50 {
			edgeCount = 150
		}
		for range min(edgeCount, i) {
			p.Edges = append(p.Edges, model.DependencyEdge{From: int64(random.IntN(i) + 1), To: int64(i + 1)})
		}
		if i%40 == 39 {
			p.Edges = append(p.Edges, model.DependencyEdge{From: int64(i + 1), To: int64(random.IntN(i) + 1)})
		}
	}
	slices.SortFunc(p.Edges, func(a, b model.DependencyEdge) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	p.Edges = slices.Compact(p.Edges)
	return p
}

func TestRoundTrip3000Components(t *testing.T) {
	p := npmProject(3000)
	checkRoundTrip(t, p)
}
