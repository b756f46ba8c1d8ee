package tools

import (
	"cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
)

// pipAuditPackage is an entry of dependencies: a package and its vulnerabilities.
type pipAuditPackage struct {
	Name            read.Text `json:"name"`
	Version         read.Text `json:"version"`
	Skipped         read.Text `json:"skip_reason"`
	Vulnerabilities []struct {
		ID          read.Text  `json:"id"`
		Aliases     read.Texts `json:"aliases"`
		Fixes       read.Texts `json:"fix_versions"`
		Description read.Text  `json:"description"`
	} `json:"vulns"`
}

// ReadPipAudit reads pip-audit's JSON. It contains no file name and is not an inventory, because
// pip-audit may have scanned an environment.
func ReadPipAudit(in *format.Input, o format.Options) ([]*model.Report, error) {
	n := newNative(in, o, "pip-audit")
	err := n.Object("", func(name string) error {
		if name != "dependencies" {
			return n.Skip(name)
		}
		return n.Array(name, items(n, n.pipAudit))
	})
	if err != nil {
		return nil, err
	}
	return n.finish(model.SCA)
}

func (n *native) pipAudit(item string, p *pipAuditPackage) {
	if p.Skipped != "" {
		n.refuse(item, "pip-audit skipped %s: %s", p.Name.Name(), p.Skipped.Name())
		return
	}
	if len(p.Vulnerabilities) == 0 {
		n.rep.Clean++
	}
	for _, v := range p.Vulnerabilities {
		n.vulnerable(affected{
			item: item, kind: "pypi", name: read.Text(purl.PyPIName(p.Name.Name())),
			version: p.Version, aliases: v.Aliases, fixes: v.Fixes,
			message: v.Description.Block(), rule: model.Rule{Name: v.ID.Name()},
		})
	}
}

// osvResult is an entry of osv-scanner's results: a lockfile and its packages.
type osvResult struct {
	Source struct {
		Path read.Text `json:"path"`
	} `json:"source"`
	Packages []struct {
		Package struct {
			Name      read.Text `json:"name"`
			Version   read.Text `json:"version"`
			Ecosystem read.Text `json:"ecosystem"`
		} `json:"package"`
		Vulnerabilities []osvRecord `json:"vulnerabilities"`
		Groups          []osvGroup  `json:"groups"`
	} `json:"packages"`
}

type osvGroup struct {
	IDs      read.Texts         `json:"ids"`
	Aliases  read.Texts         `json:"aliases"`
	Severity read.Text          `json:"max_severity"` // a score
	Analysis map[string]osvCall `json:"experimental_analysis"`
}

type osvRecord struct {
	ID       read.Text  `json:"id"`
	Aliases  read.Texts `json:"aliases"`
	Summary  read.Text  `json:"summary"`
	Details  read.Text  `json:"details"`
	Database struct {
		CWE read.Texts `json:"cwe_ids"`
	} `json:"database_specific"`
}

// ReadOSVScanner reads osv-scanner's JSON. It creates a finding for each group of aliases. The
// report lists only vulnerable packages and is not an inventory.
func ReadOSVScanner(in *format.Input, o format.Options) ([]*model.Report, error) {
	n := newNative(in, o, "osv-scanner")
	err := n.Object("", func(name string) error {
		if name != "results" {
			return n.Skip(name)
		}
		return n.Array(name, items(n, n.osvScanner))
	})
	if err != nil {
		return nil, err
	}
	return n.finish(model.SCA)
}

func (n *native) osvScanner(item string, r *osvResult) {
	for _, p := range r.Packages {
		records := map[string]osvRecord{}
		for _, v := range p.Vulnerabilities {
			records[string(v.ID)] = v
		}
		for _, g := range withUngrouped(p.Groups, p.Vulnerabilities) {
			record := records[g.IDs.First()]
			n.vulnerable(affected{
				item: item, kind: p.Package.Ecosystem, name: p.Package.Name,
				version: p.Package.Version, location: string(r.Source.Path),
				aliases: append(append(g.IDs, g.Aliases...), record.Aliases...),
				message: cmp.Or(record.Details, record.Summary).Block(),
				rule: model.Rule{
					Name:     read.Text(g.IDs.First()).Name(),
					Severity: format.SeverityOfNumber(string(g.Severity)), CWE: record.Database.CWE.Names(),
				},
				reachability: osvReachability(g.Analysis),
			})
		}
	}
}

// withUngrouped adds a group for each record without one.
func withUngrouped(groups []osvGroup, records []osvRecord) []osvGroup {
	grouped := map[string]bool{}
	for _, g := range groups {
		for _, id := range g.IDs {
			grouped[id] = true
		}
	}
	for _, v := range records {
		if id := string(v.ID); !grouped[id] {
			grouped[id] = true
			groups = append(groups, osvGroup{IDs: read.Texts{id}})
		}
	}
	return groups
}

// osvCall is the result of osv-scanner's call analysis for a record.
type osvCall struct {
	Called *read.Boolean `json:"called"`
}

// osvReachability returns reachable if any record of a group is called, and unreachable if none is.
// It returns unknown without a call analysis.
func osvReachability(analysis map[string]osvCall) model.Reachability {
	out := model.ReachabilityUnknown
	for _, call := range analysis {
		switch {
		case call.Called == nil:
		case bool(*call.Called):
			return model.Reachable
		default:
			out = model.Unreachable
		}
	}
	return out
}
