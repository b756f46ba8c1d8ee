package lockfile_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/report"
)

// readPOMs reads files of one upload by their paths, and returns the dependencies of the file named
// of.
func readPOMs(t *testing.T, files map[string]string, of string) (out []string) {
	t.Helper()
	var reading report.Reading
	for name, text := range files {
		text = `<project><artifactId>` + strings.ReplaceAll(strings.TrimSuffix(name, "/pom.xml"), "/", "-") + `</artifactId><groupId>g</groupId><version>1</version>` + text + `</project>`
		if err := reading.Add(strings.NewReader(text), report.Options{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	for _, rep := range reading.Reports(nil) {
		for _, inventory := range rep.Inventories {
			for _, d := range inventory.Dependencies {
				if inventory.Lockfile == of {
					out = append(out, d.Name+" "+d.Version)
				}
			}
		}
	}
	return out
}

func parentAt(path, artifact string) string {
	return "<parent><groupId>g</groupId><artifactId>" + artifact + "</artifactId><version>1</version><relativePath>" + path + "</relativePath></parent>"
}

func managing(entries ...string) string {
	return "<dependencyManagement><dependencies><dependency>" + strings.Join(entries, "</dependency><dependency>") +
		"</dependency></dependencies></dependencyManagement>"
}

func importing(artifact string) string {
	return "<groupId>g</groupId><artifactId>" + artifact + "</artifactId><version>1</version><type>pom</type><scope>import</scope>"
}

const (
	wantsPackage   = "<dependencies><dependency><groupId>a</groupId><artifactId>b</artifactId></dependency></dependencies>"
	managesPackage = "<groupId>a</groupId><artifactId>b</artifactId><version>${v}</version>"
)

// TestMavenVersionsResolveAcrossFiles checks the resolution of versions across files.
func TestMavenVersionsResolveAcrossFiles(t *testing.T) {
	chain := func(n int) map[string]string {
		files := map[string]string{"m0/pom.xml": parentAt("../m1", "m1") + wantsPackage}
		for i := 1; i < n; i++ {
			files[fmt.Sprintf("m%d/pom.xml", i)] = parentAt(fmt.Sprintf("../m%d", i+1), fmt.Sprintf("m%d", i+1))
		}
		files[fmt.Sprintf("m%d/pom.xml", n)] = "<properties><v>2</v></properties>" + managing(managesPackage)
		return files
	}
	diamonds := map[string]string{"m0/pom.xml": wantsPackage + managing(importing("l0"), importing("r0"))}
	for i := range 60 {
		both := managing(importing(fmt.Sprintf("l%d", i+1)), importing(fmt.Sprintf("r%d", i+1)))
		diamonds[fmt.Sprintf("l%d/pom.xml", i)], diamonds[fmt.Sprintf("r%d/pom.xml", i)] = both, both
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"parents":           {chain(15), []string{"a:b 2"}},
		"too many parents":  {chain(25), nil},
		"diamonds, nothing": {diamonds, nil},
		"a circle of parents": {map[string]string{
			"m0/pom.xml": parentAt("../m1", "m1") + wantsPackage, "m1/pom.xml": parentAt("../m0", "m0") + managing(managesPackage) + "<properties><v>2</v></properties>",
		}, []string{"a:b 2"}},
		"a circle of imports": {map[string]string{
			"m0/pom.xml": wantsPackage + managing(importing("m1")), "m1/pom.xml": managing(importing("m0"), importing("m2")),
			"m2/pom.xml": "<properties><v>2</v></properties>" + managing(managesPackage),
		}, []string{"a:b 2"}},
		"itself": {map[string]string{"m0/pom.xml": parentAt(".", "m0") + wantsPackage + managing(importing("m0"))}, nil},
		"two files of one name": {map[string]string{
			"m0/pom.xml": wantsPackage + managing(importing("x-bom")), "x/bom/pom.xml": managing("<groupId>a</groupId><artifactId>b</artifactId><version>1</version>"),
			"x-bom/pom.xml": managing("<groupId>a</groupId><artifactId>b</artifactId><version>2</version>"),
		}, nil},
		"outside": {map[string]string{"m0/pom.xml": parentAt("../../../etc", "m1") + wantsPackage}, nil},
		"a property of a profile": {map[string]string{
			"m0/pom.xml": "<properties><v>2</v></properties><profiles><profile><id>x</id><properties><v>3</v></properties></profile></profiles>" + wantsPackage + managing(managesPackage),
		}, []string{"a:b 2"}},
	} {
		if got := readPOMs(t, c.files, "m0/pom.xml"); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestMavenPropertyExpansionIsBounded checks that exponentially growing values do not use excessive
// memory.
func TestMavenPropertyExpansionIsBounded(t *testing.T) {
	const packages = 1000
	var properties, wanted strings.Builder
	for i := range 10 {
		fmt.Fprintf(&properties, "<p%d>%s</p%d>", i, strings.Repeat(fmt.Sprintf("${p%d}", i+1), 150), i)
	}
	for i := range packages {
		fmt.Fprintf(&wanted, "<dependency><groupId>${p0}</groupId><artifactId>a%d</artifactId><version>${p0}</version></dependency>", i)
	}
	for _, last := range []string{"", "<p10>x</p10>", "<p10></p10>", "<p10>${p0}</p10>"} {
		files := map[string]string{"m0/pom.xml": "<properties>" + properties.String() + last + "</properties><dependencies>" + wanted.String() + "</dependencies>"}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if got := readPOMs(t, files, "m0/pom.xml"); len(got) != 0 && last != "<p10></p10>" {
			t.Errorf("%q: %d packages have a version", last, len(got))
		}
		runtime.ReadMemStats(&after)
		if used := (after.TotalAlloc - before.TotalAlloc) >> 10; used > 32*packages {
			t.Errorf("%q: %d KiB for %d packages", last, used, packages)
		}
	}
	own := map[string]string{"m0/pom.xml": `<properties><a>1</a><b>${a}.${a}</b><c>${b}-${no}</c><d>${e}</d><e>${d}</e></properties><dependencies>` + strings.Join([]string{
		`<dependency><groupId>g</groupId><artifactId>x</artifactId><version>${b}</version></dependency>`,
		`<dependency><groupId>g</groupId><artifactId>y</artifactId><version>${c}</version></dependency>`,
		`<dependency><groupId>g</groupId><artifactId>z</artifactId><version>${d}</version></dependency>`,
	}, "") + "</dependencies>"}
	if got := readPOMs(t, own, "m0/pom.xml"); !slices.Equal(got, []string{"g:x 1.1"}) {
		t.Errorf("%q", got)
	}
}
