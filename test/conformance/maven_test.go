package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
)

// pom returns the pom.xml of a module; body follows its coordinates.
func pom(parent, artifact, body string) []byte {
	if parent != "" {
		parent = "<parent>" + parent + "</parent>"
	}
	return fmt.Appendf(nil, `<?xml version="1.0"?><project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>%s<artifactId>%s</artifactId>%s</project>`, parent, artifact, body)
}

func coordinates(group, artifact, version, rest string) string {
	out := "<groupId>" + group + "</groupId><artifactId>" + artifact + "</artifactId>"
	if version != "" {
		out += "<version>" + version + "</version>"
	}
	return out + rest
}

func dependsOn(list ...string) string {
	return "<dependencies><dependency>" + strings.Join(list, "</dependency><dependency>") + "</dependency></dependencies>"
}

func manages(list ...string) string {
	return "<dependencyManagement>" + dependsOn(list...) + "</dependencyManagement>"
}

// TestMavenModulesOfOneUpload imports modules whose versions are set by their parent and a BOM.
func TestMavenModulesOfOneUpload(t *testing.T) {
	root := pom("", "root", "<groupId>org.acme</groupId><version>${revision}</version>"+
		"<properties><revision>2.0</revision><mockito.version>4.11.0</mockito.version><jackson>2.1</jackson></properties>"+
		manages(
			coordinates("org.mockito", "mockito-core", "${mockito.version}", ""),
			coordinates("org.acme", "bom", "${revision}", "<type>pom</type><scope>import</scope>"),
			coordinates("com.fasterxml", "jackson", "${jackson}", ""),
			coordinates("org.acme", "lib", "${project.version}", ""),
		))
	parent := coordinates("org.acme", "root", "${revision}", "")
	bom := pom(coordinates("org.acme", "root", "${revision}", "<relativePath>../pom.xml</relativePath>"), "bom",
		"<properties><netty>4.1.100</netty><mockito.version>9</mockito.version></properties>"+
			manages(coordinates("io.netty", "netty-all", "${netty}", ""), coordinates("org.mockito", "mockito-core", "1.0", "")))
	module := pom(parent, "module", "<properties><jackson>2.17</jackson></properties>"+dependsOn(
		coordinates("org.mockito", "mockito-core", "", ""),
		coordinates("io.netty", "netty-all", "", ""),
		coordinates("com.fasterxml", "jackson", "", ""),
		coordinates("org.acme", "lib", "", ""),
		coordinates("org.slf4j", "slf4j-api", "", ""),
		coordinates("org.other", "x", "${nowhere}", ""),
	))
	deep := pom(coordinates("org.acme", "module", "${revision}", "<relativePath>..</relativePath>"), "deep", dependsOn(coordinates("com.fasterxml", "jackson", "", "")))
	stranger := pom(coordinates("org.spring", "starter-parent", "3.0", ""), "stranger", dependsOn(coordinates("org.mockito", "mockito-core", "", "")))
	apart := pom(coordinates("org.acme", "root", "2.0", "<relativePath/>"), "apart", dependsOn(coordinates("org.mockito", "mockito-core", "", "")))
	older := pom(coordinates("org.acme", "sub", "1.0", "<relativePath>../sub/pom.xml</relativePath>"), "older", dependsOn(coordinates("a", "b", "", "")))
	sub := pom("", "sub", "<groupId>org.acme</groupId><version>2.0</version>"+manages(coordinates("a", "b", "2", "")))
	files := []file{
		{"module/deep/pom.xml", deep},
		{"module/pom.xml", module},
		{"bom/pom.xml", bom},
		{"stranger/pom.xml", stranger},
		{"apart/pom.xml", apart},
		{"pom.xml", root},
		{"older/pom.xml", older},
		{"sub/pom.xml", sub},
	}
	want := []string{
		"com.fasterxml:jackson 2.17 module/deep/pom.xml", "com.fasterxml:jackson 2.17 module/pom.xml", "io.netty:netty-all 4.1.100 module/pom.xml",
		"org.acme:lib 2.0 module/pom.xml", "org.mockito:mockito-core 4.11.0 module/pom.xml",
	}
	each(t, func(t *testing.T, s *site) {
		for range 2 { // in any order
			answer := s.importFiles(t, nil, files...)
			var got []string
			for _, d := range post[api.ListDependenciesResponse](t, s, "dependencies", object{"pageSize": 100}).Dependencies {
				got = append(got, d.Name+" "+d.Version+" "+d.LockfilePath)
			}
			slices.Sort(got)
			wants(t, "dependencies", got, want...)
			var refused []string
			for _, r := range answer.Imports[0].Refused {
				refused = append(refused, r.Item)
			}
			slices.Sort(refused)
			wants(t, "refused", refused, "apart/pom.xml: org.mockito:mockito-core", "module/pom.xml: org.other:x", "module/pom.xml: org.slf4j:slf4j-api",
				"older/pom.xml: a:b", "stranger/pom.xml: org.mockito:mockito-core")
			slices.Reverse(files)
		}
	})
}
