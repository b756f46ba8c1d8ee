package report

import "github.com/redoubt/redoubt"

// pipAuditPackage is one of dependencies: a package and what is known of it.
type pipAuditPackage struct {
	Name            text `json:"name"`
	Version         text `json:"version"`
	Skipped         text `json:"skip_reason"`
	Vulnerabilities []struct {
		ID          text  `json:"id"`
		Aliases     texts `json:"aliases"`
		Fixes       texts `json:"fix_versions"`
		Description text  `json:"description"`
	} `json:"vulns"`
}

// readPipAudit reads pip-audit's JSON. It names no file, and is no inventory:
// what it was told to look at may be an environment.
func readPipAudit(in *input, o Options) ([]*redoubt.Report, error) {
	n := newNative(in, o, "pip-audit")
	err := n.object("", func(name string) error {
		if name != "dependencies" {
			return n.skip(name)
		}
		return n.array(name, items(n, n.pipAudit))
	})
	if err != nil {
		return nil, err
	}
	return n.finish(redoubt.SCA)
}

func (n *native) pipAudit(item string, p *pipAuditPackage) {
	if p.Skipped != "" {
		n.refuse(item, "pip-audit skipped %s: %s", p.Name.name(), p.Skipped.name())
		return
	}
	for _, v := range p.Vulnerabilities {
		n.vulnerable(affected{
			item: item, kind: "pypi", name: text(pypiName(p.Name.name())), version: p.Version, aliases: v.Aliases, fixes: v.Fixes,
			message: v.Description.block(), rule: redoubt.Rule{Name: v.ID.name()},
		})
	}
}

// osvResult is one of osv-scanner's results: a lockfile and its packages.
type osvResult struct {
	Source struct {
		Path text `json:"path"`
	} `json:"source"`
	Packages []struct {
		Package struct {
			Name      text `json:"name"`
			Version   text `json:"version"`
			Ecosystem text `json:"ecosystem"`
		} `json:"package"`
		Vulnerabilities []osvRecord `json:"vulnerabilities"`
		Groups          []struct {
			IDs      texts              `json:"ids"`
			Aliases  texts              `json:"aliases"`
			Severity text               `json:"max_severity"` // a score
			Analysis map[string]osvCall `json:"experimental_analysis"`
		} `json:"groups"`
	} `json:"packages"`
}

type osvRecord struct {
	ID       text  `json:"id"`
	Aliases  texts `json:"aliases"`
	Summary  text  `json:"summary"`
	Details  text  `json:"details"`
	Database struct {
		CWE texts `json:"cwe_ids"`
	} `json:"database_specific"`
}

// readOSVScanner reads osv-scanner's JSON: a finding for each group of records
// that alias each other. It lists vulnerable packages only, so it is no
// inventory.
func readOSVScanner(in *input, o Options) ([]*redoubt.Report, error) {
	n := newNative(in, o, "osv-scanner")
	err := n.object("", func(name string) error {
		if name != "results" {
			return n.skip(name)
		}
		return n.array(name, items(n, n.osvScanner))
	})
	if err != nil {
		return nil, err
	}
	return n.finish(redoubt.SCA)
}

func (n *native) osvScanner(item string, r *osvResult) {
	for _, p := range r.Packages {
		records := map[string]osvRecord{}
		for _, v := range p.Vulnerabilities {
			records[string(v.ID)] = v
		}
		for _, g := range p.Groups {
			record := records[g.IDs.first()]
			n.vulnerable(affected{
				item: item, kind: p.Package.Ecosystem, name: p.Package.Name, version: p.Package.Version, location: string(r.Source.Path),
				aliases: append(append(g.IDs, g.Aliases...), record.Aliases...), message: firstOf(record.Details, record.Summary).block(),
				rule: redoubt.Rule{
					Name: text(g.IDs.first()).name(), Severity: severityOfNumber(string(g.Severity)), CWE: record.Database.CWE.names(),
				},
				reachability: osvReachability(g.Analysis),
			})
		}
	}
}

// osvCall is what osv-scanner's analysis of calls says of one record.
type osvCall struct {
	Called *boolean `json:"called"`
}

// osvReachability is reachable if any record of a group is called, unreachable
// if none is, and unknown where calls were not looked at.
func osvReachability(analysis map[string]osvCall) redoubt.Reachability {
	out := redoubt.ReachabilityUnknown
	for _, call := range analysis {
		switch {
		case call.Called == nil:
		case bool(*call.Called):
			return redoubt.Reachable
		default:
			out = redoubt.Unreachable
		}
	}
	return out
}
