package sbom

import (
	"math/rand/v2"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

// hostile lists texts that break code without escaping or validation.
var hostile = []string{
	"", " ", "\x00", "\xff\xfe", "\ufffe\uffff", "a\tb\nc\r\nd", `"'&<>]]>`, "<script>alert(1)</script>", "<!--", "{{7*7}}", "../..", "/", "//",
	":", "@", "@/", "?", "#", "%", "%zz", "a%2Fb", "a b", "É", "\u202eevil", "\u2028", "😀", "\x1b[31m", "-", ".", "..", "0",
	strings.Repeat("x", 5000), strings.Repeat("é", 1500), strings.Repeat("(", 3000), "http://[::1", "https://a b/<>\"{}|\\^`",
	"https://example.com/%zz?a=<b>&c=%41#é", "pkg:npm/x@1", "pkg:", "pkg:npm/", "LicenseRef-x", "urn:cdx:1", "CVE-2024-1", "GHSA-x/../y",
}

var ecosystemNames = rapid.OneOf(
	rapid.SampledFrom([]string{
		"npm", "pypi", "gomod", "maven", "gem", "composer", "cargo", "nuget", "swiftpm", "mix", "pub", "julia", "deb", "Debian:12", "conan", "cpan", "huggingface",
	}), anyText)

var anyText = rapid.OneOf(
	rapid.SampledFrom(hostile), rapid.String(), rapid.StringMatching(`[a-zA-Z@][a-zA-Z0-9._/:-]{0,12}`),
	rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 12), func(b []byte) string { return string(b) }),
)

var licenseTexts = rapid.OneOf(anyText, rapid.SampledFrom([]string{
	"MIT", "apache-2.0", "GPL-2.0+", "MIT OR Apache-2.0", "(MIT AND (BSD-3-Clause OR ISC))", "GPL-2.0-only WITH Classpath-exception-2.0",
	"LicenseRef-own", "MIT OR LicenseRef-own", "DocumentRef-a:LicenseRef-b", "MIT AND", "See LICENSE", "NOASSERTION", "Classpath-exception-2.0",
}))

var hashes = rapid.Custom(func(t *rapid.T) model.Hash {
	return model.Hash{
		Algorithm: rapid.SampledFrom([]string{"SHA-256", "sha1", "MD5", "SHA512", "sha-224", "BLAKE3", "sha3-256", "crc", ""}).Draw(t, "algorithm"),
		Hex: rapid.OneOf(anyText, rapid.SampledFrom([]string{
			strings.Repeat("a", 32), strings.Repeat("B", 40), strings.Repeat("0", 56), strings.Repeat("cD", 32), strings.Repeat("e", 128), strings.Repeat("g", 64),
		})).Draw(t, "hex"),
	}
})

var dependencies = rapid.Custom(func(t *rapid.T) model.Dependency {
	return model.Dependency{
		Lockfile: anyText.Draw(t, "lockfile"), Ecosystem: ecosystemNames.Draw(t, "ecosystem"), Name: anyText.Draw(t, "name"), Version: anyText.Draw(t, "version"),
		Transitivity: model.Transitivity(rapid.IntRange(0, 3).Draw(t, "transitivity")),
		Licenses:     rapid.SliceOfN(licenseTexts, 0, 3).Draw(t, "licenses"),
		PURL:         rapid.OneOf(rapid.Just(""), anyText, rapid.SampledFrom([]string{"pkg:npm/%40a/b@1?x=y#z", "pkg:golang/Example.com/a@1.2.3", "pkg:deb/debian/curl@1?arch=i386"})).Draw(t, "purl"),
		Hashes:       rapid.SliceOfN(hashes, 0, 3).Draw(t, "hashes"),
		Supplier:     anyText.Draw(t, "supplier"), Line: rapid.IntRange(-1, 9).Draw(t, "line"),
	}
})

// edges generates edges between the dependencies of a project, some with unknown ids.
var edges = rapid.Custom(func(t *rapid.T) model.DependencyEdge {
	return model.DependencyEdge{From: rapid.Int64Range(1, 6).Draw(t, "from"), To: rapid.Int64Range(1, 6).Draw(t, "to")}
})

var scores = rapid.Custom(func(t *rapid.T) *model.EPSS {
	if rapid.Bool().Draw(t, "no score") {
		return nil
	}
	return &model.EPSS{
		Score:      rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 1, 1e-5, 9e-5, 1e-9, -1, 2})).Draw(t, "score"),
		Percentile: rapid.Float64Range(0, 1).Draw(t, "percentile"),
	}
})

var triages = rapid.Custom(func(t *rapid.T) model.VEXTriage {
	v := model.VEXTriage{
		State:   model.TriageState(rapid.IntRange(1, 5).Draw(t, "state")),
		Comment: rapid.OneOf(anyText, rapid.SampledFrom([]string{"component_not_present: x", "code_not_reachable", "fixed: y", "not_affected", "affected: z"})).Draw(t, "comment"),
	}
	if v.State == model.TriageIgnored {
		v.Reason = model.TriageReason(rapid.IntRange(1, 4).Draw(t, "reason"))
	}
	return v
})

// findings generates findings, half of them about one of the dependencies.
func findings(known []model.Dependency) *rapid.Generator[Vulnerability] {
	return rapid.Custom(func(t *rapid.T) Vulnerability {
		v := Vulnerability{
			ID:     rapid.OneOf(anyText, rapid.SampledFrom([]string{"CVE-2024-1", "GHSA-a-b-c", "ssc-1"})).Draw(t, "id"),
			Triage: triages.Draw(t, "triage"), DecidedAt: time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "decided"), 0),
			Severity:     model.Severity(rapid.IntRange(0, 4).Draw(t, "severity")),
			Reachability: model.Reachability(rapid.IntRange(0, 5).Draw(t, "reachability")),
			Malicious:    rapid.Bool().Draw(t, "malicious"), EPSS: scores.Draw(t, "EPSS"),
			CWEs:        rapid.SliceOfN(rapid.OneOf(anyText, rapid.SampledFrom([]string{"CWE-79: XSS", "79", "CWE-0", "CWE-99999999999"})), 0, 3).Draw(t, "CWEs"),
			Description: anyText.Draw(t, "description"), References: rapid.SliceOfN(anyText, 0, 3).Draw(t, "references"),
			Ecosystem: ecosystemNames.Draw(t, "ecosystem"), Package: anyText.Draw(t, "package"), Version: anyText.Draw(t, "version"), Lockfile: anyText.Draw(t, "lockfile"),
		}
		for range rapid.IntRange(0, 2).Draw(t, "fixes") {
			v.Fixes = append(v.Fixes, model.Fix{Package: anyText.Draw(t, "fixed package"), Version: anyText.Draw(t, "fixed version")})
		}
		if len(known) > 0 && rapid.Bool().Draw(t, "of a dependency") {
			d := rapid.SampledFrom(known).Draw(t, "dependency")
			v.Ecosystem, v.Package, v.Version = d.Ecosystem, d.Name, d.Version
		}
		return v
	})
}

// contents generates contents, of one project if single is set.
func contents(single bool) *rapid.Generator[Content] {
	return rapid.Custom(func(t *rapid.T) Content {
		c := sample()
		c.Deployment, c.Tool = anyText.Draw(t, "deployment"), anyText.Draw(t, "tool")
		c.Created = time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "created"), 0)
		c.Projects = nil
		n := 1
		if !single {
			n = rapid.IntRange(0, 3).Draw(t, "projects")
		}
		for i := range n {
			p := Project{Name: "acme/" + strings.Repeat("<&'\"é", i), URL: anyText.Draw(t, "URL"), Ref: anyText.Draw(t, "ref"), Commit: anyText.Draw(t, "commit")}
			p.Dependencies = rapid.SliceOfN(dependencies, 0, 5).Draw(t, "dependencies")
			for j := range p.Dependencies {
				p.Dependencies[j].ID = int64(j + 1)
			}
			p.Edges = rapid.SliceOfN(edges, 0, 8).Draw(t, "edges")
			p.Vulnerabilities = rapid.SliceOfN(findings(p.Dependencies), 0, 4).Draw(t, "findings")
			c.Projects = append(c.Projects, p)
		}
		return c
	})
}

var suppliers = rapid.Custom(func(t *rapid.T) (s model.SBOMSupplier) {
	s.Name, s.Contact.Name, s.Contact.Phone = anyText.Draw(t, "supplier"), anyText.Draw(t, "contact"), anyText.Draw(t, "phone")
	s.URL = rapid.OneOf(rapid.Just("https://example.com/a?b=c#d"), anyText).Draw(t, "URL")
	s.Contact.Email = rapid.OneOf(rapid.Just("jane@example.com"), rapid.Just("jané@example.com"), anyText).Draw(t, "email")
	return s
})

// requests generates valid requests for an output.
func requests(output string) *rapid.Generator[model.SBOMRequest] {
	return rapid.Custom(func(t *rapid.T) model.SBOMRequest {
		r := request(output)
		r.ComponentType = rapid.SampledFrom(ComponentTypes()).Draw(t, "type")
		r.Supplier = suppliers.Draw(t, "supplier")
		if rapid.Bool().Draw(t, "whole deployment") {
			r.ProjectID = 0
		}
		if Check(r) != nil {
			r.Supplier.URL, r.Supplier.Contact.Email = "", ""
		}
		return r
	})
}

// shuffled returns a content with its unordered lists in random order.
func shuffled(c Content, seed uint64) Content {
	random := rand.New(rand.NewPCG(seed, seed))
	c.Projects = shuffle(random, c.Projects)
	for i := range c.Projects {
		p := &c.Projects[i]
		p.Dependencies, p.Vulnerabilities = shuffle(random, p.Dependencies), shuffle(random, p.Vulnerabilities)
		p.Edges = shuffle(random, p.Edges)
		for j := range p.Dependencies {
			d := &p.Dependencies[j]
			d.Licenses, d.Hashes = shuffle(random, d.Licenses), shuffle(random, d.Hashes)
		}
		for j := range p.Vulnerabilities {
			v := &p.Vulnerabilities[j]
			v.CWEs, v.References, v.Fixes = shuffle(random, v.CWEs), shuffle(random, v.References), shuffle(random, v.Fixes)
		}
	}
	return c
}

func shuffle[T any](random *rand.Rand, list []T) []T {
	list = append([]T(nil), list...)
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}
