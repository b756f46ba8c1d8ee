package sbom

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
)

// TestImportRestoresPackageNames checks that an import of an exported package restores its
// name. Go modules are critical, because package URLs have their names in lower case.
func TestImportRestoresPackageNames(t *testing.T) {
	packages := []model.LockedPackage{
		{Ecosystem: "cargo", Name: "serde_json", Version: "1.0.100"},
		{Ecosystem: "gomod", Name: "github.com/Azure/go-autorest", Version: "14.2.0"},
		{Ecosystem: "gomod", Name: "github.com/Masterminds/semver/v3", Version: "3.2.1"},
		{Ecosystem: "gomod", Name: "github.com/gorilla/mux", Version: "1.8.1"},
		{Ecosystem: "maven", Name: "org.slf4j:slf4j-api", Version: "2.0.9"},
		{Ecosystem: "mix", Name: "phoenix", Version: "1.7.0"},
		{Ecosystem: "npm", Name: "@babel/core", Version: "7.24.0"},
		{Ecosystem: "nuget", Name: "Newtonsoft.Json", Version: "13.0.3"},
		{Ecosystem: "pypi", Name: "zope-interface", Version: "6.2"},
		{Ecosystem: "swiftpm", Name: "github.com/apple/swift-log", Version: "1.5.3"},
	}
	p := Project{Name: "acme/web", Ref: "refs/heads/main"}
	for _, k := range packages {
		p.Dependencies = append(p.Dependencies, model.Dependency{Ecosystem: k.Ecosystem, Name: k.Name, Version: k.Version, Lockfile: "a.lock", Transitivity: model.Direct})
	}
	for _, r := range []model.SBOMRequest{
		{Format: model.CycloneDX, Version: "1.6", ComponentType: "application", ProjectID: 1},
		{Format: model.CycloneDX, Version: "1.4", ComponentType: "application", ProjectID: 1, XML: true},
		{Format: model.SPDX, Version: "2.3", ComponentType: "application", ProjectID: 1},
	} {
		var out bytes.Buffer
		if _, err := Write(&out, r, Content{Serial: sample().Serial, Created: sample().Created, Projects: []Project{p}}); err != nil {
			t.Fatal(err)
		}
		reports, err := report.Read(&out, report.Options{Name: "bom"})
		if err != nil {
			t.Fatal(err)
		}
		var got []model.LockedPackage
		for _, rep := range reports {
			for _, i := range rep.Inventories {
				for _, d := range i.Dependencies {
					got = append(got, model.LockedPackage{Ecosystem: d.Ecosystem, Name: d.Name, Version: d.Version})
				}
			}
		}
		slices.SortFunc(got, func(a, b model.LockedPackage) int {
			return strings.Compare(a.Ecosystem+a.Name, b.Ecosystem+b.Name)
		})
		if diff := cmp.Diff(packages, got); diff != "" {
			t.Errorf("%v %s, XML %v (-written +read):\n%s", r.Format, r.Version, r.XML, diff)
		}
	}
}
