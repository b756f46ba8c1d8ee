package bom

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/lockfile"
	"github.com/redoubt/redoubt/internal/report/read"
)

// results creates a finding for each component that a vulnerability affects. Its analysis becomes a
// separate statement.
func (c *cycloneDX) results(item string, v *cdx.Vulnerability) {
	if read.Text(v.ID).Name() == "" {
		c.refuse(item, "it has no id")
		return
	}
	rule := vulnerabilityRule(v)
	message := cmp.Or(read.Text(v.Description).Block(), read.Text(v.Detail).Block(), rule.Name)
	v.Recommendation = model.CutBytes(v.Recommendation, read.MaxPath)
	used := false
	for i, a := range list(v.Affects) {
		location := fmt.Sprintf("%s.affects[%d]", item, i)
		p := c.byRef[a.Ref[strings.LastIndexByte(a.Ref, '#')+1:]] // urn:cdx:serial/version#ref is valid as well
		if p == nil {
			if v.Analysis == nil { // otherwise the statement is refused separately
				c.refuse(location, "the BOM has no component %q", read.Text(a.Ref).Name())
			}
			continue
		}
		if used = true; !c.spend(&c.found, len(p.locations)) || len(c.rep.Results)+len(p.locations) > c.limit {
			c.refuse(location, "%s", format.TooMany("places of vulnerabilities", c.limit))
			return
		}
		versions := list(a.Range)
		for _, at := range p.locations {
			res := model.Result{
				Item: location, Rule: rule, Path: at.lockfile, Message: message,
				Severity: rule.Severity, Confidence: rule.Confidence,
				Dependency: vulnerableOf(v, p, at, versions[:min(len(versions), read.MaxList)]),
			}
			if c.budget.Build(format.WeightOfResult(&res), c.built); c.budget.Err != nil { // the error ends the reading
				return
			}
			c.rep.Results = append(c.rep.Results, res)
		}
	}
	switch {
	case used:
		c.rep.Rules = append(c.rep.Rules, rule)
	case len(list(v.Affects)) == 0:
		c.refuse(item, "%s affects no component of the BOM", rule.Name)
	}
}

func vulnerabilityRule(v *cdx.Vulnerability) *model.Rule {
	r := &model.Rule{
		Name: read.Text(v.ID).Name(), IssueType: model.SCA, Category: "security",
		Severity: severityOfRatings(list(v.Ratings)), Confidence: model.ConfidenceMedium,
	}
	if r.Severity == 0 {
		r.Severity, r.Unrated = model.SeverityMedium, true
	}
	for _, id := range list(v.CWEs) {
		r.CWE = append(r.CWE, fmt.Sprintf("CWE-%d", id))
	}
	var references read.Texts
	for _, a := range list(v.Advisories) {
		references = append(references, a.URL)
	}
	r.References = references.Names()
	if v.Source != nil {
		r.URL = read.Text(v.Source.URL).Link()
	}
	return r
}

// vulnerableOf returns the affected component.
func vulnerableOf(v *cdx.Vulnerability, p *part, at partLocation, versions []cdx.AffectedVersions) *model.Vulnerable {
	d := p.dependency(at)
	out := &model.Vulnerable{
		Ecosystem: d.Ecosystem, Package: read.Text(d.Name).Name(),
		Version:      lockfile.SpellVersion(d.Ecosystem, read.Text(d.Version).Name()),
		Transitivity: cmp.Or(at.transitivity, model.TransitivityUnknown), Lockfile: at.lockfile, Line: at.line,
		Vulnerability: shownID(v), Reachability: model.ReachabilityUnknown, Unrated: severityOfRatings(list(v.Ratings)) == 0,
	}
	var fixed read.Texts
	for _, version := range versions {
		if version.Status == cdx.VulnerabilityStatusNotAffected {
			fixed = append(fixed, version.Version)
		}
	}
	if len(fixed) == 0 {
		if m := upgradeTo.FindStringSubmatch(v.Recommendation); m != nil {
			fixed = strings.Split(m[1], ",")
		}
	}
	for _, version := range fixed.Names() {
		out.Fixes = append(out.Fixes, model.Fix{Package: out.Package, Version: version})
	}
	return out
}

// upgradeTo matches Trivy's recommendations: "Upgrade lodash to version 4.17.21".
var upgradeTo = regexp.MustCompile(`(?i)^upgrade \S+ to versions? ([0-9A-Za-z][^;\s]*(?:, [^;\s]+)*)`)

// shownID returns the CVE among the vulnerability's ids, or else its own id
// (docs/reference/advisories.md).
func shownID(v *cdx.Vulnerability) string {
	if !strings.HasPrefix(v.ID, "CVE-") {
		for _, r := range list(v.References) {
			if strings.HasPrefix(r.ID, "CVE-") {
				return read.Text(r.ID).Name()
			}
		}
	}
	return read.Text(v.ID).Name()
}

// severityOfRatings returns the severity of a vulnerability's ratings, or 0. It prefers the score
// of CVSS 4, then that of CVSS 3, then any rating's word (docs/reference/advisories.md).
func severityOfRatings(ratings []cdx.VulnerabilityRating) model.Severity {
	for _, method := range []cdx.ScoringMethod{
		cdx.ScoringMethodCVSSv4, cdx.ScoringMethodCVSSv31, cdx.ScoringMethodCVSSv3,
	} {
		for _, r := range ratings {
			if r.Method == method && r.Score != nil {
				if s := format.SeverityOfNumber(strconv.FormatFloat(*r.Score, 'f', -1, 64)); s != 0 {
					return s
				}
			}
		}
	}
	for _, r := range ratings {
		if s := format.SeverityOf(string(r.Severity)); s != 0 {
			return s
		}
	}
	return 0
}
