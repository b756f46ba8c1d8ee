package updater

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// splitPackage splits ECOSYSTEM/NAME, such as npm/lodash.
func splitPackage(s string) (ecosystem, name string, err error) {
	ecosystem, name, ok := strings.Cut(s, "/")
	if !ok || ecosystem == "" || name == "" {
		return "", "", fmt.Errorf("invalid package %q: use ECOSYSTEM/NAME, such as maven/org.slf4j:slf4j-api", s)
	}
	return ecosystem, name, nil
}

type advisoriesShowCmd struct {
	storageOnly
	ID string `arg:"" help:"Id of the vulnerability (CVE, GHSA or other)."`
}

// Run prints all data about a vulnerability.
func (c advisoriesShowCmd) Run(a *command.App) error {
	return c.With(a, func(st *store.Store) error {
		v, err := vulnerability(a.Ctx, st, c.ID)
		if err != nil {
			return err
		}
		printVulnerability(a.Out, v)
		return nil
	})
}

func vulnerability(ctx context.Context, st *store.Store, id string) (*advisory.Vulnerability, error) {
	g, err := st.AdvisoryGroup(ctx, id)
	if errors.Is(err, model.ErrNotFound) {
		return nil, fmt.Errorf("advisory %s not found: run redoubt advisories status for loaded sources", id)
	}
	if err != nil {
		return nil, err
	}
	return advisory.NewVulnerability(g)
}

func printVulnerability(w io.Writer, v *advisory.Vulnerability) {
	fmt.Fprintf(w, "%s: %s\n", v.Shown, v.Summary())
	line := func(what, value string) {
		if value != "" {
			fmt.Fprintf(w, "%-12s %s\n", what, value)
		}
	}
	line("also", strings.Join(v.OtherNames(), " "))
	line("severity", command.SeverityWord(v.Severity("").String(), !v.Rated("")))
	for _, r := range v.Records {
		if r.Vector != "" {
			line("cvss", fmt.Sprintf("%.1f %s", r.Score, r.Vector))
		}
	}
	line("weaknesses", strings.Join(v.CWEs(), "; "))
	if v.Withdrawn() {
		line("withdrawn", "matches no dependencies")
	}
	for _, r := range v.Records {
		for _, affected := range r.Affected {
			line("package", affected.Package+" "+affected.Describe())
		}
	}
	if details := v.Details(); details != "" {
		fmt.Fprintf(w, "\n%s\n", details)
	}
	for i, url := range v.References() {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, url)
	}
}

type advisoriesImpactCmd struct {
	command.Tenant
	What  string `arg:"" name:"id or package" help:"Vulnerability, such as CVE-2021-44228, or package name, such as log4j-core."`
	Range string `arg:"" optional:"" help:"Version range of the package, such as '<2.17' or '>=2.0,<2.17'."`
	All   bool   `help:"Include fixed and removed findings of a vulnerability."`
	Limit int    `help:"Maximum number of lines." default:"1000" placeholder:"N"`
}

// Run lists the projects that have a vulnerability, or use a package.
func (c advisoriesImpactCmd) Run(a *command.App) error {
	return c.View(a, func(ctx context.Context, tx *store.Tx) error {
		if c.Range == "" {
			g, err := tx.AdvisoryGroup(ctx, c.What)
			if err == nil {
				return c.ofVulnerability(ctx, a, tx, g)
			}
			if !errors.Is(err, model.ErrNotFound) {
				return err
			}
		}
		return c.ofPackage(ctx, a, tx)
	})
}

func (c advisoriesImpactCmd) ofVulnerability(
	ctx context.Context, a *command.App, tx *store.Tx, g model.AdvisoryGroup,
) error {
	v, err := advisory.NewVulnerability(g)
	if err != nil {
		return err
	}
	list, more, err := tx.Impact(ctx, store.ImpactQuery{Group: v.Group, Names: v.Names, All: c.All, Limit: c.Limit})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "%s: %s\n\n", v.Shown, v.Summary())
	rows := make([][]string, len(list))
	for i, f := range list {
		fixes := make([]string, len(f.Fixes))
		for j, fix := range f.Fixes {
			fixes[j] = fix.Version
		}
		rows[i] = []string{
			fmt.Sprint(f.FindingID), f.Project, f.Ref, f.Lockfile, f.Package, f.Version,
			command.OrDash(strings.Join(fixes, " ")),
			cmp.Or(model.StatusOf(f.State, f.Triage).String(), "removed"), command.Day(f.Since),
		}
	}
	return errors.Join(command.Table(a.Out, "FINDING PROJECT REF LOCKFILE PACKAGE VERSION FIX STATUS SINCE", rows),
		warnTruncated(a, more))
}

func (c advisoriesImpactCmd) ofPackage(ctx context.Context, a *command.App, tx *store.Tx) error {
	lower, upper, err := bounds(c.Range)
	if err != nil {
		return err
	}
	filter := model.DependencyFilter{Packages: []model.PackageFilter{{Name: c.What, Lower: lower, Upper: upper}}}
	list, more, err := tx.Dependencies(ctx, filter, 0, c.Limit)
	if err != nil {
		return err
	}
	projects := map[int64]string{}
	rows := make([][]string, len(list))
	for i, d := range list {
		if projects[d.ProjectID] == "" {
			p, err := tx.Project(ctx, d.ProjectID)
			if err != nil {
				return err
			}
			projects[d.ProjectID] = p.Name
		}
		rows[i] = []string{projects[d.ProjectID], d.Lockfile, d.Ecosystem, d.Name, d.Version, d.Transitivity.String()}
	}
	return errors.Join(command.Table(a.Out, "PROJECT LOCKFILE ECOSYSTEM PACKAGE VERSION TRANSITIVITY", rows),
		warnTruncated(a, more))
}

// bounds parses a range such as '>=2.0,<2.17': a lower bound, an upper bound, or both.
func bounds(text string) (lower, upper string, err error) {
	for part := range strings.SplitSeq(text, ",") {
		switch part = strings.TrimSpace(part); {
		case part == "":
		case strings.HasPrefix(part, ">") && lower == "":
			lower = part
		case upper == "":
			upper = part
		default:
			return "", "", fmt.Errorf("invalid version range %q: use '<2.17', '>=2.0' or '>=2.0,<2.17'", text)
		}
	}
	if upper != "" && strings.Trim(upper[:1], "0123456789v") == "" {
		return "", "", fmt.Errorf("invalid version range %q: use '<2.17', '=2.17', '>=2.0' or '>=2.0,<2.17'", text)
	}
	return lower, upper, nil
}

func warnTruncated(a *command.App, more bool) error {
	if more {
		_, err := fmt.Fprintln(a.Err, "more results available: raise --limit")
		return err
	}
	return nil
}
