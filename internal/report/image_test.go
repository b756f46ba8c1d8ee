package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/report/format"
)

// someImageID is the id of an image, as docker build -q prints it.
var someImageID = "sha256:" + strings.Repeat("0a", 32)

func TestImageNames(t *testing.T) {
	for reference, want := range map[string]string{
		"alpine": "alpine", "alpine:3.11": "alpine", "reg/api:1": "reg/api", "reg:5000/api": "reg:5000/api",
		"reg:5000/api:1": "reg:5000/api", "reg:5000/api@sha256:0a": "reg:5000/api", "reg:5000/team/api:1@sha256:0a": "reg:5000/team/api",
		"[::1]:5000/api:1": "[::1]:5000/api", "/tmp/api.tar": "tmp/api.tar", "../api.tar": "", "": "", ":1": "", "docker:24": "docker",
		someImageID: someImageID, "sha256": "sha256", "reg/sha256:1": "reg/sha256",
	} {
		if got := format.ImageName(reference); got != want {
			t.Errorf("imageName(%q) = %q, want %q", reference, got, want)
		}
	}
	for input, want := range map[string]string{
		"registry:reg:5000/api:1": "reg:5000/api", "docker:alpine:3": "alpine", "docker:24": "docker", "registry:2": "registry",
		"reg:5000/api:1": "reg:5000/api", "docker-archive:./api.tar": "api.tar",
		"docker:" + someImageID: someImageID, someImageID: someImageID,
	} {
		if got := format.ImageOfInput(input); got != want {
			t.Errorf("imageOfInput(%q) = %q, want %q", input, got, want)
		}
	}
}

// TestImagePaths checks the paths of findings in files of an image.
func TestImagePaths(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"Trivy": {
			`{"SchemaVersion":2,"ArtifactName":"reg:5000/api:1","ArtifactType":"container_image","Results":[
			{"Target":"/app/.env","Class":"secret","Secrets":[{"RuleID":"s","Severity":"HIGH","StartLine":1,"EndLine":1,"Match":"key=****"}]},
			{"Target":"app/Dockerfile","Class":"config","Misconfigurations":[{"ID":"DS002","Status":"FAIL","Severity":"HIGH"}]},
			{"Target":"reg:5000/api:1","Class":"config","Misconfigurations":[{"ID":"DS001","Status":"FAIL","Severity":"HIGH"}]}]}`,
			[]string{"reg:5000/api:/app/.env", "reg:5000/api:/app/Dockerfile", "reg:5000/api"},
		},
		"SARIF": {
			`{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"Trivy"}},"results":[
			{"ruleId":"CVE-1","message":{"text":"Package: openssl\nInstalled Version: 3"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"api","uriBaseId":"ROOTPATH"}}}]},
			{"ruleId":"CVE-2","message":{"text":"Package: lodash\nInstalled Version: 4"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"app/package-lock.json","uriBaseId":"ROOTPATH"}}}]}],
			"originalUriBaseIds":{"ROOTPATH":{"uri":"file:///"}},"properties":{"imageName":"reg:5000/api:1","repoTags":["reg:5000/api:1"]}}]}`,
			[]string{"reg:5000/api", "reg:5000/api:/app/package-lock.json"},
		},
		"SPDX": {
			`{"spdxVersion":"SPDX-2.3","documentDescribes":["SPDXRef-i"],"packages":[
			{"SPDXID":"SPDXRef-i","name":"reg:5000/api:1","primaryPackagePurpose":"CONTAINER"},
			{"SPDXID":"SPDXRef-o","name":"openssl","versionInfo":"3"},
			{"SPDXID":"SPDXRef-l","name":"lodash","versionInfo":"4","sourceInfo":"acquired package info from installed node module manifest file: /app/package-lock.json"}]}`,
			[]string{"reg:5000/api", "reg:5000/api:/app/package-lock.json"},
		},
	} {
		reports, err := Read(strings.NewReader(c.text), format.Options{Name: "report.json"})
		if err != nil || len(reports) != 1 || reports[0].Image != "reg:5000/api" {
			t.Fatalf("%s: %+v, %v", name, reports, err)
		}
		var got []string
		for _, r := range reports[0].Results {
			got = append(got, r.Path)
		}
		for _, i := range reports[0].Inventories {
			got = append(got, i.Lockfile)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: places %q, want %q", name, got, c.want)
		}
	}
}

// TestTrivySARIFPathsAreRelative checks Trivy's SARIF without a folder, in which paths are
// relative to the scanned folder.
func TestTrivySARIFPathsAreRelative(t *testing.T) {
	reports, err := Read(strings.NewReader(`{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"Trivy"}},"originalUriBaseIds":{"ROOTPATH":{"uri":"file:///"}},
		"results":[{"ruleId":"x","message":{"text":"m"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"web/Dockerfile","uriBaseId":"ROOTPATH"}}}]}]}]}`), format.Options{Name: "report.sarif"})
	if err != nil || len(reports) != 1 || len(reports[0].Results) != 1 || reports[0].Results[0].Path != "web/Dockerfile" || reports[0].Image != "" {
		t.Errorf("%+v, %v", reports, err)
	}
}
