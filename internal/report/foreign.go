package report

import (
	"cmp"
	"iter"
	"slices"
)

// ForeignError is the error for a file of a known but unsupported format.
type ForeignError struct {
	Format  string // usually with the tool, such as "Clair JSON"
	Instead string // alternative to import; empty if unknown
}

// Error implements error.
func (e *ForeignError) Error() string {
	text := "unsupported file format: " + e.Format
	if e.Instead != "" {
		text += "; " + e.Instead
	}
	return text
}

// foreign is an unsupported format, with the members that identify it (see sign).
type foreign struct {
	format, instead string
	signs           []sign
}

// harborReport is the prefix of a member in responses of Harbor's API.
const harborReport = "application/vnd.scanner.adapter.vuln.report.harbor+json; version=1."

// Alternatives to unsupported reports.
const (
	insteadImage    = "scan the image with Trivy or Grype, and import their JSON"
	insteadLockfile = "import the lockfile itself: it is matched against the advisories"
)

// foreigners lists the known but unsupported formats.
var foreigners = []foreign{
	{"Snyk JSON", "run snyk test --sarif (snyk iac test --sarif for infrastructure)", []sign{
		{"vulnerabilities", "ok"},
		{"vulnerabilities[].upgradePath"},
		{"vulnerabilities[].semver"},
		{"infrastructureAsCodeIssues"},
	}},
	{"CSAF", "import OpenVEX or CycloneDX instead", []sign{{"document.csaf_version"}, {"document", "product_tree"}}},
	{"SPDX 3", "export SPDX 2.3 or CycloneDX instead", []sign{{"@graph"}}},
	{"syft JSON", "run syft with -o cyclonedx-json", []sign{{"artifactRelationships"}}},
	{"Bandit JSON", "run bandit with -f sarif", []sign{{"results[].test_id"}, {"generated_at", "metrics", "results"}}},
	{"gosec JSON", "run gosec with -fmt sarif", []sign{{"Issues", "Stats"}}},
	{"Checkov JSON", "run checkov with -o sarif", []sign{{"check_type", "results"}}},
	{"KICS JSON", "run kics with --report-formats sarif", []sign{{"queries_total", "severity_counters"}}},
	{"Clair JSON", insteadImage, []sign{{"image", "unapproved"}, {"manifest_hash", "package_vulnerabilities"}}},
	{"Anchore JSON", insteadImage, []sign{
		{"imageDigest", "vulnerability_type"},
		{"metadata", "securityEvaluation"},
		{"feedGroup", "packageCpe"},
		{"imageDigest", "evaluations"},
	}},
	{"Harbor JSON", insteadImage, []sign{
		{"generated_at", "artifact", "scanner"},
		{harborReport + "0"},
		{harborReport + "1"},
	}},
	{"Aqua JSON", insteadImage, []sign{{"image_assurance_results"}}},
	{"Prisma Cloud (Twistlock) JSON", insteadImage, []sign{
		{"results[].complianceDistribution"},
		{"results[].vulnerabilityDistribution"},
	}},
	{"xeol JSON", "", []sign{{"matches[].Cycle"}, {"matches", "descriptor.name=xeol"}}},
	{"Mend JSON", insteadLockfile, []sign{{"vulnerabilities[].topFix"}, {"vulnerabilities[].scoreMetadataVector"}}},
	{"composer audit JSON", insteadLockfile, []sign{{"advisories", "abandoned"}, {"advisories.*[].advisoryId"}}},
	{"cargo audit JSON", insteadLockfile, []sign{{"lockfile.dependency-count", "vulnerabilities"}}},
	{"mix_audit JSON", insteadLockfile, []sign{
		{"pass", "vulnerabilities"},
		{"vulnerabilities[].dependency", "vulnerabilities[].advisory"},
	}},
	{"bundler-audit JSON", insteadLockfile, []sign{{"results[].gem", "results[].advisory"}}},
	{"AuditJS JSON", insteadLockfile, []sign{{"coordinates", "vulnerabilities"}}},
	{"Nancy JSON", insteadLockfile, []sign{{"audited", "num_vulnerable"}}},
	{"Dependency-Track JSON", "export the bill of materials as CycloneDX, and import that", []sign{
		{"meta.baseUrl", "findings"},
	}},
	{"a resource of the Trivy operator", insteadImage, []sign{{"apiVersion", "report.updateTimestamp"}}},
	{"AWS Security Hub JSON", "", []sign{{"ProductArn", "AwsAccountId"}}},
	{"kube-hunter JSON", "", []sign{{"nodes", "services"}}},
	{"Nikto JSON", "", []sign{{"host", "banner", "vulnerabilities"}}},
	{"Dawn JSON", "", []sign{{"dawn_version"}}},
	{"Xygeni JSON", "", []sign{{"metadata.reportProperties"}}},
	{"JFrog Xray JSON", "", []sign{{"scan_id", "component_id", "vulnerabilities"}}},
	{"detect-secrets JSON", "scan with gitleaks or TruffleHog, and import their JSON", []sign{
		{"plugins_used", "filters_used"},
	}},
}

// foreignOf returns the error for a document of an unsupported format, or nil.
func (s memberSet) foreignOf() error {
	for _, f := range foreigners {
		if slices.ContainsFunc(f.signs, s.has) {
			return &ForeignError{f.format, f.instead}
		}
	}
	return nil
}

// sign is a set of members that identifies a format. If the document is a list, the top level is
// each of its objects. The notation is:
//
//   - "a": a member at the top level
//   - "a.b": a member of an object
//   - "a[].b": a member of objects in a list
//   - "a.*.b": a member one level deeper
//   - "a.b=c": a member whose value is that string
type sign []string

// memberSet is the set of a document's members that occur in any sign.
type memberSet map[string]bool

func (s memberSet) has(all sign) bool {
	return !slices.ContainsFunc(all, func(member string) bool { return !s[member] })
}

// wanted contains the members of all signs.
var wanted = func() memberSet {
	all := memberSet{}
	add := func(signs []sign) {
		for _, member := range slices.Concat(signs...) {
			all[member] = true
		}
	}
	for _, f := range foreigners {
		add(f.signs)
	}
	for _, f := range marks {
		add(f.signs)
	}
	return all
}()

// maxSignValue is the maximum length of compared strings.
const maxSignValue = 64

// scanMembers returns the members of a document that occur in signs, and the address of its schema or
// context. The document may be truncated.
func scanMembers(keys iter.Seq[key]) (members memberSet, address string) {
	members = memberSet{}
	var path [3]string
	for k := range keys {
		if k.depth < 1 || k.depth > len(path) {
			continue
		}
		path[k.depth-1] = k.name
		member, in := path[0], "."
		if k.listed {
			in = "[]."
		}
		switch k.depth {
		case 1:
			if k.name == "$schema" || k.name == "@context" {
				address = cmp.Or(address, k.value)
			}
		case 2:
			member += in + k.name
		case 3:
			member += ".*" + in + k.name
		}
		if wanted[member] {
			members[member] = true
		}
		if with := member + "=" + k.value; len(k.value) <= maxSignValue && wanted[with] {
			members[with] = true
		}
	}
	return members, address
}
