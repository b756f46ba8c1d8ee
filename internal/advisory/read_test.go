package advisory

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
)

func TestReadSkipsInvalidMembers(t *testing.T) {
	_, err := Read([]byte(`{
		"id": "GHSA-1", "modified": "2024-05-01T00:00:00Z", "published": 7, "aliases": ["CVE-2024-1", "", 5, "CVE-2024-1", "GHSA-1"],
		"summary": "bad\u0000 things", "details": {"not": "a text"}, "severity": [{"type": "CVSS_V3", "score": "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"}, {"type": "CVSS_V4", "score": "nonsense"}],
		"affected": ["odd", {"package": {"ecosystem": "npm"}}, {
			"package": {"ecosystem": "npm", "name": "lodash"}, "versions": ["1.0.0", 2],
			"ranges": ["odd", {"type": "GIT", "events": [{"introduced": "0"}]}, {"type": "SEMVER", "events": [{"introduced": "0"}, {"fixed": "1.0.1"}, {"else": "x"}]}]}],
		"references": [{"type": "WEB", "url": "https://example.org/a"}, {"url": "javascript:alert(1)"}, {"url": "https://example.org/a"}],
		"database_specific": {"cwe_ids": ["CWE-79", "CWE-79", "weak"], "severity": "LOW"}, "unknown": {}}`))
	if err == nil {
		t.Fatal("published is a number: a record must be as the schema says")
	}
	if _, err = Read([]byte(`{"id": " "}`)); err == nil || !strings.Contains(err.Error(), "no id") {
		t.Errorf("no id: %v", err)
	}
	r, err := Read([]byte(`{
		"id": "GHSA-1", "modified": "2024-05-01T00:00:00Z", "aliases": ["CVE-2024-1", "", 5, "CVE-2024-1", "GHSA-1"],
		"summary": "bad\u0000 things", "details": {"not": "a text"}, "severity": [{"type": "CVSS_V3", "score": "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"}, {"type": "CVSS_V4", "score": "nonsense"}],
		"affected": ["odd", {"package": {"ecosystem": "npm"}}, {
			"package": {"ecosystem": "npm", "name": "lodash"}, "versions": ["1.0.0", 2],
			"ranges": ["odd", {"type": "GIT", "events": [{"introduced": "0"}]}, {"type": "SEMVER", "events": [{"introduced": "0"}, {"fixed": "1.0.1"}, {"else": "x"}]}]}],
		"references": [{"type": "WEB", "url": "https://example.org/a"}, {"url": "javascript:alert(1)"}, {"url": "https://example.org/a"}],
		"database_specific": {"cwe_ids": ["CWE-79", "CWE-79", "weak"], "severity": "LOW"}, "unknown": {}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := Facts{
		ID: "GHSA-1", Aliases: []string{"CVE-2024-1"}, Rating: Rating{CVSS3, model.SeverityCritical},
		Affected: []Affected{{Package: "npm/lodash", Name: "lodash", Versions: []string{"1.0.0"}, Ranges: []Range{{[]Event{{Introduced: "0"}, {Fixed: "1.0.1"}}}}}},
	}
	if diff := cmp.Diff(want, r.Facts); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if r.Summary != "bad things" || r.Details != "" || r.Score != 9.8 || len(r.References) != 1 || !cmp.Equal(r.CWEs, []string{"CWE-79"}) {
		t.Errorf("%+v", r.Text)
	}
}

func TestSeverity(t *testing.T) {
	const (
		v4 = "CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:L/VI:N/VA:N/SC:N/SI:N/SA:N" // 6.9
		v3 = "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"                    // 9.8
		v2 = "AV:N/AC:L/Au:N/C:C/I:C/A:C"
	)
	for _, c := range []struct {
		what string
		text string
		want model.Severity
	}{
		{"version 4 before 3", `"severity":[{"score":"` + v3 + `"},{"score":"` + v4 + `"}]`, model.SeverityMedium},
		{"version 3 before the word", `"severity":[{"score":"` + v3 + `"}],"database_specific":{"severity":"LOW"}`, model.SeverityCritical},
		{"version 3.0", `"severity":[{"score":"CVSS:3.0/AV:N/AC:H/PR:N/UI:N/S:U/C:L/I:N/A:N"}]`, model.SeverityLow},
		{"version 2 says nothing", `"severity":[{"score":"` + v2 + `"}]`, model.SeverityMedium},
		{"moderate is medium", `"database_specific":{"severity":"MODERATE"}`, model.SeverityMedium},
		{"the word", `"database_specific":{"severity":"High"}`, model.SeverityHigh},
		{"nothing", `"summary":"x"`, model.SeverityMedium},
		{"of the package", `"database_specific":{"severity":"LOW"},"affected":[{"package":{"ecosystem":"npm","name":"a"},"severity":[{"score":"` + v3 + `"}]}]`, model.SeverityCritical},
	} {
		r, err := Read([]byte(`{"id":"X-1",` + c.text + `}`))
		if err != nil {
			t.Fatal(err)
		}
		v := &Vulnerability{Records: []Record{r}}
		if got := v.Severity("npm/a"); got != c.want {
			t.Errorf("%s: %s, not %s", c.what, got, c.want)
		}
	}
	if (&Vulnerability{Malicious: true}).Severity("") != model.SeverityCritical {
		t.Error("a malicious package is not critical")
	}
}

func TestPreferredID(t *testing.T) {
	for want, names := range map[string][]string{
		"CVE-2021-9":    {"GHSA-2", "CVE-2021-10", "CVE-2021-9"},
		"CVE-2019-1000": {"CVE-2021-1", "CVE-2019-1000"},
		"GHSA-a":        {"PYSEC-2021-1", "GHSA-b", "GHSA-a"},
		"PYSEC-2021-1":  {"PYSEC-2021-1"},
		"MAL-2021-1":    {"MAL-2021-1", "SNYK-1"},
	} {
		if got := PreferredID(names[:1], names[1:]); got != want {
			t.Errorf("%v is shown as %s, not %s", names, got, want)
		}
	}
}

func readScores(text string) (scores []model.EPSSScore, f EPSSFile, err error) {
	f, err = ReadEPSS(strings.NewReader(text), func(s model.EPSSScore) error {
		scores = append(scores, s)
		return nil
	})
	return scores, f, err
}

func TestReadEPSS(t *testing.T) {
	const text = "#model_version:v2025.03.14,score_date:2026-08-01T12:55:00Z\ncve,epss,percentile\nCVE-2021-44228,0.94358,0.99962\ncve-2020-0001,0.5,0.6\nCVE-2020-0002,1.5,0.6\nnonsense\n"
	scores, f, err := readScores(text)
	if err != nil || len(scores) != 2 || f.Broken != 2 || f.Model != "v2025.03.14" || f.Date.IsZero() {
		t.Fatalf("%v %+v %v", scores, f, err)
	}
	if scores[0] != (model.EPSSScore{CVE: "CVE-2021-44228", EPSS: model.EPSS{Score: 0.94358, Percentile: 0.99962}}) || scores[1].CVE != "CVE-2020-0001" {
		t.Errorf("%+v", scores)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprint(z, text)
	z.Close()
	if second, _, err := readScores(packed.String()); err != nil || !cmp.Equal(scores, second) {
		t.Errorf("packed: %v %v", second, err)
	}
	for _, bad := range []string{"", "cve,score\n", "\x1f\x8bnot gzip"} {
		if _, _, err := readScores(bad); err == nil {
			t.Errorf("%q is taken for scores", bad)
		}
	}
}

func TestReadKEV(t *testing.T) {
	f, err := ReadKEV(strings.NewReader(`{"catalogVersion":"2026.08.01","dateReleased":"2026-08-01T10:00:00.0Z","vulnerabilities":[
		{"cveID":"CVE-2021-44228","vulnerabilityName":"Log4Shell","dateAdded":"2021-12-10","dueDate":"2021-12-24","requiredAction":"Update","knownRansomwareCampaignUse":"Known"},
		{"cveID":"CVE-2020-0001","dateAdded":"2022-01-01","knownRansomwareCampaignUse":"Unknown"}, {"cveID":"CVE-2020-2","dateAdded":"once"}, 7]}`))
	if err != nil || len(f.Entries) != 2 || f.Broken != 2 || f.Version != "2026.08.01" {
		t.Fatalf("%+v %v", f, err)
	}
	if e := f.Entries[0]; !e.Ransomware || e.Due.IsZero() || e.Name != "Log4Shell" || f.Entries[1].Ransomware || !f.Entries[1].Due.IsZero() {
		t.Errorf("%+v", f.Entries)
	}
	for _, bad := range []string{"", "[]", `{"vulnerabilities":{}}`, `{}`} {
		if _, err := ReadKEV(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is parsed as a catalog", bad)
		}
	}
}

func FuzzRead(f *testing.F) {
	data, err := os.ReadFile("testdata/own.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		f.Add(line)
	}
	f.Add([]byte(`{"id":"X","affected":[{"package":{"ecosystem":"npm","name":"a"},"ranges":[{"type":"SEMVER","events":[{"introduced":"0"},{"limit":"*"}]}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Read(data)
		if err != nil {
			return
		}
		a, err := Stored(r, data)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := Decode(a)
		if err != nil || decoded.ID != r.ID {
			t.Fatalf("%v: stored %+v, read %+v", err, r, decoded)
		}
		v, err := NewVulnerability(model.AdvisoryGroup{ID: 1, Records: []model.Advisory{a}})
		if err != nil || v.Shown == "" || v.Rule().Name == "" {
			t.Fatalf("%v: %+v", err, v)
		}
	})
}

func FuzzCVSS(f *testing.F) {
	f.Add("CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:L/VI:N/VA:N/SC:N/SI:N/SA:N")
	f.Add("CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H")
	f.Add("CVSS:3.0/AV:N")
	f.Fuzz(func(t *testing.T, vector string) {
		if score, evidence, ok := ReadCVSS(vector); score < 0 || score > 10 || ok != (evidence != NoEvidence) {
			t.Errorf("%q: %v %v %v", vector, score, evidence, ok)
		}
	})
}

func FuzzEPSS(f *testing.F) {
	f.Add("#model_version:v1,score_date:2026-08-01\ncve,epss,percentile\nCVE-2021-44228,0.9,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		scores, file, err := readScores(text)
		if err == nil && len(scores) != file.Scores {
			t.Errorf("%d scores, told %d", len(scores), file.Scores)
		}
		for _, s := range scores {
			if s.Score < 0 || s.Score > 1 || s.Percentile < 0 || s.Percentile > 1 || !cveID.MatchString(s.CVE) {
				t.Errorf("%+v", s)
			}
		}
	})
}

func FuzzKEV(f *testing.F) {
	f.Add([]byte(`{"vulnerabilities":[{"cveID":"CVE-2020-1","dateAdded":"2022-01-01"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := ReadKEV(bytes.NewReader(data))
		if err != nil {
			return
		}
		for _, e := range file.Entries {
			if !cveID.MatchString(e.CVE) {
				t.Errorf("%+v", e)
			}
		}
	})
}

// TestOtherRegistriesShareEcosystem reads OSV records of other registries, such as Drupal's.
// Lockfiles of Composer do not distinguish these packages.
func TestOtherRegistriesShareEcosystem(t *testing.T) {
	const text = `{"id":"DRUPAL-CONTRIB-2025-001","affected":[{"package":{"ecosystem":%q,"name":%q},"ranges":[{"type":"ECOSYSTEM","events":[{"introduced":"0"},{"fixed":"2.0.1"}]}]}]}`
	for _, c := range []struct{ ecosystem, name, want string }{
		{"Packagist:https://packages.drupal.org/8", "drupal/email_tfa", "composer/drupal/email_tfa"},
		{"Maven:https://repo.jenkins-ci.org/releases/", "org.jenkins-ci.main:core", "maven/org.jenkins-ci.main:core"},
		{"Packagist", "drupal/core", "composer/drupal/core"},
		{"Debian:12", "openssl", "debian:12/openssl"},
	} {
		data := fmt.Appendf(nil, text, c.ecosystem, c.name)
		r, err := Read(data)
		if err != nil || len(r.Affected) != 1 || r.Affected[0].Package != c.want {
			t.Errorf("%s: %+v, %v", c.ecosystem, r.Affected, err)
			continue
		}
		sum := sha256.Sum256(data)
		if once := model.Digest(sum[:len(model.Digest{})]); (DigestOf(data) != once) != strings.Contains(c.ecosystem, "https:") {
			t.Errorf("%s: the next update reads it again: %v", c.ecosystem, DigestOf(data) != once)
		}
	}
}
